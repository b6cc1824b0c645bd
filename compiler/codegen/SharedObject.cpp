//===- SharedObject.cpp - an object file to a shared object ---------------===//
//
// lld runs in this process, as a library: pdc needs no linker on the user's PATH. Its inputs and outputs are
// files.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/ObjectCode.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;

FailureOr<std::string> pdc::codegen::linkSharedObject(StringRef object, std::string &error) {
  // A folder of our own, so that the names of the files, which the linker may write into its output, are
  // always the same.
  SmallString<128> folder;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory("pdc-kernels", folder)) {
    error = "cannot create a temporary folder: " + code.message();
    return failure();
  }
  std::string input = (folder + "/kernels.o").str(), output = (folder + "/kernels.so").str();
  llvm::scope_exit removeFolder([&] { (void)llvm::sys::fs::remove_directories(folder); });
  {
    std::error_code code;
    llvm::raw_fd_ostream file(input, code);
    if (!code) {
      file << object;
      file.close();
      code = file.error();
      file.clear_error();
    }
    if (code) {
      error = "cannot write " + input + ": " + code.message();
      return failure();
    }
  }
  // The linker keeps state in globals: one link at a time.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  const char *arguments[] = {"ld.lld",
                             "-shared",
                             "--hash-style=gnu",
                             "-soname=kernels.so",
                             "--build-id=none",
                             "--threads=1",
                             "-z",
                             "noexecstack",
                             "-z",
                             "relro",
                             "--gc-sections",
                             "-o",
                             output.c_str(),
                             input.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  lld::Result result = lld::lldMain(arguments, stream, stream, drivers);
  if (result.retCode != 0) {
    error = "the linker failed: " + messages;
    return failure();
  }
  auto linked = llvm::MemoryBuffer::getFile(output);
  if (!linked) {
    error = "cannot read " + output + ": " + linked.getError().message();
    return failure();
  }
  return (*linked)->getBuffer().str();
}
