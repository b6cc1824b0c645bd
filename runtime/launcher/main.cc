// The program of every executable that pdc writes: finds the payload in its own file and runs a command on
// it. Without a payload it can only measure the machine, for `pdc profile`.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/comm/job.h"
#include "runtime/device/cpu/cpu_device.h"
#include "runtime/exec/session.h"
#include "runtime/launcher/image.h"
#include "runtime/profile/profile.h"
#include "runtime/train/command_line.h"
#include "runtime/train/data/mapped_file.h"

namespace {

// As mpiexec says; empty without it.
std::string Rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const char* rank = std::getenv(variable)) return rank;
  }
  return "";
}

std::chrono::nanoseconds ToNanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

// Before ranks have met, rank 0 alone speaks: all see the same command line and the same file.
bool IsFirstRank() { return Rank().empty() || Rank() == "0"; }

// mpiexec gives each rank a terminal of its own and copies what comes out of it, so ask where mpiexec itself
// writes: the first rank, which shows progress, is its child.
bool OutIsTerminal() {
  if (isatty(STDOUT_FILENO) == 0) return false;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) return true;
  const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/1";
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) return false;
  const int fd = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_terminal = isatty(fd) != 0;
  close(fd);
  return is_terminal;
}

// A standard file that is closed leaves its number to the next file that opens, a log or a checkpoint, and
// what is printed would go there.
void OpenClosedStandardFiles() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is this one.
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) < 0) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace pdc;
  OpenClosedStandardFiles();
  // A file beyond the limit of its size is an error of write(), which names it, and not the end of the
  // process.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "launcher";
  train::ReportLostFiles(Rank().empty() ? name : name + ": rank " + Rank());
  const absl::StatusOr<std::unique_ptr<launcher::Image>> image = launcher::Image::Open("/proc/self/exe");
  if (absl::IsNotFound(image.status()) && argc > 1 && std::string(argv[1]) == "profile") {
    return profile::Main(argc, argv);
  }
  if (!image.ok()) {
    const std::string message(image.status().message());
    if (IsFirstRank()) std::fprintf(stderr, "%s: %s\n", argc > 0 ? argv[0] : "launcher", message.c_str());
    return 1;
  }
  const program::Executable& executable = (*image)->executable();
  std::unique_ptr<device::Device> device;  // outlives the session
  train::Environment environment;
  environment.executable = &executable;
  environment.report = std::string((*image)->report());
  environment.out_is_terminal = OutIsTerminal();
  environment.speaks = IsFirstRank();
  environment.connect = [](const train::RuntimeOptions& options) {
    return comm::CreateForJob(
        {.communicator = options.communicator, .setup_timeout = ToNanoseconds(options.timeout_seconds)});
  };
  environment.open = [&](comm::Communicator& communicator, const train::RuntimeOptions& options) {
    const int threads = options.threads > 0 ? options.threads : std::max(executable.threads(), 1);
    device = device::CreateCpuDevice(threads);
    exec::SessionOptions session;
    session.timeout = ToNanoseconds(options.timeout_seconds);
    session.modes = options.modes;
    return exec::Session::Create((*image)->payload(), *device, communicator, session);
  };
  return train::RunCommandLine(argc, argv, environment);
}
