//===- ExecutableWriter.cpp - launcher + payload = executable -------------===//

#include "compiler/codegen/executable/ExecutableWriter.h"
#include "runtime/program/container.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

static Error inFile(StringRef path, Error error) {
  return createStringError(inconvertibleErrorCode(), "%s: %s", path.str().c_str(),
                           toString(std::move(error)).c_str());
}

/// What a stream and objcopy say of the writing of `path`.
static Error written(StringRef path, raw_fd_ostream &stream, Error error) {
  if (error) {
    stream.clear_error();
    return inFile(path, std::move(error));
  }
  stream.flush();
  // A file system that fills up shows here.
  std::error_code code = stream.error();
  stream.clear_error();
  return code ? createStringError(code, "%s: %s", path.str().c_str(), code.message().c_str())
              : Error::success();
}

/// Writes /dev/null and its like, in whose place a rename would put a file.
static Error writeDevice(const objcopy::ConfigManager &config, object::ObjectFile &elf, StringRef path) {
  std::error_code code;
  raw_fd_ostream stream(path, code);
  if (code)
    return createStringError(code, "%s: %s", path.str().c_str(), code.message().c_str());
  Error error = objcopy::executeObjcopyOnBinary(config, elf, stream);
  return written(path, stream, std::move(error));
}

Error pdc::codegen::writeExecutable(StringRef launcher, StringRef payload, StringRef path) {
  Expected<std::unique_ptr<object::ObjectFile>> elf =
      object::ObjectFile::createELFObjectFile(MemoryBufferRef(launcher, "launcher"));
  if (!elf)
    return elf.takeError();

  // Alignment of what lies in the section is relative to its start; objcopy keeps sections that are not
  // loaded at their own alignment, which is enough because the launcher copies nothing: it maps and reads.
  objcopy::ConfigManager config;
  config.Common.AddSection.push_back(
      objcopy::NewSectionInfo(program::kElfSection, MemoryBuffer::getMemBuffer(payload, "", false)));

  sys::fs::file_status status;
  bool exists = !sys::fs::status(path, status) && sys::fs::exists(status);
  if (exists && !sys::fs::is_regular_file(status) && !sys::fs::is_directory(status))
    return writeDevice(config, **elf, path);
  // A link stays one, and what it leads to is replaced.
  SmallString<256> target(path);
  if (exists)
    sys::fs::real_path(path, target);

  // Written beside it, and renamed when it is whole.
  std::string temporary = (target + ".tmp-%%%%%%").str();
  Expected<sys::fs::TempFile> file = sys::fs::TempFile::create(temporary, 0777 & ~sys::fs::getUmask());
  if (!file)
    return inFile(path, file.takeError());
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  if (Error error = written(path, stream, objcopy::executeObjcopyOnBinary(config, **elf, stream))) {
    consumeError(file->discard());
    return error;
  }
  if (Error error = file->keep(target))
    return inFile(path, std::move(error));
  return Error::success();
}

Expected<std::string> pdc::codegen::readPayloadOfExecutable(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(buffer.getError(), "%s: %s", path.str().c_str(),
                             buffer.getError().message().c_str());
  Expected<std::unique_ptr<object::ObjectFile>> elf = object::ObjectFile::createELFObjectFile(**buffer);
  if (!elf) {
    consumeError(elf.takeError());
    return createStringError(inconvertibleErrorCode(),
                             "%s: not an executable made by pdc: it is no 64-bit ELF file",
                             path.str().c_str());
  }
  for (const object::SectionRef &section : (*elf)->sections()) {
    Expected<StringRef> name = section.getName();
    if (!name)
      return inFile(path, name.takeError());
    if (*name != program::kElfSection)
      continue;
    Expected<StringRef> contents = section.getContents();
    if (!contents)
      return inFile(path, contents.takeError());
    return contents->str();
  }
  return createStringError(inconvertibleErrorCode(),
                           "%s: not an executable made by pdc: it has no section '%s'", path.str().c_str(),
                           program::kElfSection);
}
