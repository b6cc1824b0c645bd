//===- ProfileCommand.cpp - pdc profile -----------------------------------===//
//
// pdc has no MPI of its own. Under mpiexec every rank of pdc becomes the launcher that pdc embeds, whose
// `profile` command is a job of its own (runtime/profile); rank 0 starts it as a child and makes a cluster
// file of what it prints.
//
//===----------------------------------------------------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/machine/ClusterFile.h"
#include "tools/pdc/Commands.h"
#include "tools/pdc/OutputFile.h"
#include "tools/pdc/ProfileResult.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace pdc;
using namespace pdc::tool;

namespace {

struct Arguments {
  std::string output = "-", communicator = "auto";
  bool quick = false;
  std::vector<std::string> executables;
};

/// Process managers tell their children who they are in one of these.
bool isFirstRank() {
  for (const char *variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char *rank = std::getenv(variable))
      return std::string(rank) == "0";
  return true;
}

std::string reason() { return std::strerror(errno); }

/// The embedded launcher as a file of memory, that goes with the processes that have it open; -1 and errno if the
/// system has none.
int openLauncher() {
  llvm::StringRef launcher = embeddedLauncher();
  int fd = memfd_create("pdc-profile", MFD_CLOEXEC);
  if (fd < 0)
    return -1;
  for (size_t written = 0; written < launcher.size();) {
    ssize_t bytes = write(fd, launcher.data() + written, launcher.size() - written);
    if (bytes < 0)
      return -1;
    written += static_cast<size_t>(bytes);
  }
  return fd;
}

/// Does not return unless it fails.
void becomeLauncher(int fd, const Arguments &arguments) {
  std::string communicator = "--communicator=" + arguments.communicator;
  std::vector<std::string> words = {"pdc", "profile", communicator};
  if (arguments.quick)
    words.push_back("--quick");
  for (const std::string &executable : arguments.executables)
    words.push_back("--executable=" + executable);
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  fexecve(fd, argv.data(), environ);
}

/// Runs the launcher and takes what it prints; an exit status, 0 for success. Errors have been told.
int runLauncher(int fd, const Arguments &arguments, std::string &printed) {
  int ends[2];
  if (pipe(ends) != 0)
    return fail("profile: cannot make a pipe: " + reason());
  pid_t parent = getpid(), child = fork();
  if (child < 0)
    return fail("profile: cannot start a process: " + reason());
  if (child == 0) {
    // It must not outlive pdc, which mpiexec may end.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    becomeLauncher(fd, arguments);
    fail("profile: cannot run the launcher: " + reason());
    _exit(1);
  }
  close(ends[1]);
  char buffer[4096];
  for (ssize_t bytes; (bytes = read(ends[0], buffer, sizeof(buffer))) != 0;) {
    if (bytes < 0 && errno != EINTR)
      break;
    if (bytes > 0)
      printed.append(buffer, static_cast<size_t>(bytes));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFSIGNALED(status))
    return fail("profile: the measurement was ended by signal " + std::to_string(WTERMSIG(status)));
  return WEXITSTATUS(status); // it said why
}

/// Before the measurement, which takes a minute.
int checkWritable(const std::string &path) {
  if (path == "-")
    return 0;
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  std::string parent = folder.empty() ? "." : folder.str();
  if (llvm::sys::fs::is_directory(path))
    return fail(path + ": it is a folder");
  bool exists = llvm::sys::fs::exists(path);
  if (access(exists ? path.c_str() : parent.c_str(), W_OK) != 0)
    return fail(path + ": cannot be written: " + reason());
  return 0;
}

int checkExecutables(const std::vector<std::string> &paths) {
  for (const std::string &path : paths)
    if (!llvm::sys::fs::is_regular_file(path))
      return fail(path + ": " + (llvm::sys::fs::exists(path) ? "it is no file of a compiled model" : "there is no such file"));
  return 0;
}

int profile(const Arguments &arguments) {
  bool isFirst = isFirstRank();
  if (isFirst && (checkWritable(arguments.output) != 0 || checkExecutables(arguments.executables) != 0))
    return 1;
  int fd = openLauncher();
  if (fd < 0)
    return fail("profile: no memory for the launcher: " + reason());
  if (!isFirst) {
    becomeLauncher(fd, arguments);
    return fail("profile: cannot run the launcher: " + reason());
  }
  std::string json;
  if (int status = runLauncher(fd, arguments, json))
    return status;
  std::string name = arguments.output == "-" ? "measured" : llvm::sys::path::stem(arguments.output).str();
  llvm::Expected<machine::Cluster> cluster = clusterOfProfile(json, name);
  if (!cluster)
    return fail("profile: " + llvm::toString(cluster.takeError()));
  std::string text = machine::writeCluster(*cluster);
  // What is written must be what other commands read.
  if (auto read = machine::parseCluster(text, arguments.output); !read)
    return fail("profile: the measurements make no cluster: " + llvm::toString(read.takeError()));
  return writeOutput(arguments.output, text);
}

} // namespace

void pdc::tool::addProfileCommand(CLI::App &app, Action &action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command =
      app.add_subcommand("profile", "Measures devices and links, under mpiexec, and writes a cluster file");
  command->add_option("EXE", arguments->executables,
                      "Executables whose library calls and kernels are measured too, for plans that make the same ones");
  command->add_option("-o,--output", arguments->output,
                      "The cluster file to write; standard output if not given");
  command->add_flag("--quick", arguments->quick,
                    "Fewer sizes and repetitions: seconds instead of up to a minute");
  command->add_option("--communicator", arguments->communicator, "How the ranks meet, as in executables")
      ->check(CLI::IsMember({"auto", "mpi", "shared_memory", "hierarchical"}))
      ->capture_default_str();
  command->footer("Measured are, on every rank at once: matrix products, convolutions, elementwise work, "
                  "reductions, gathers and\n"
                  "copies by size, memory bandwidth, and the fixed cost of an instruction; what memory limits also on "
                  "one rank of\n"
                  "each node alone; then messages inside a node and between nodes, and every collective over all "
                  "ranks, over the\n"
                  "ranks of a node and over one rank of "
                  "each node. Without\n"
                  "mpiexec there is one rank, and no links. Let nothing else run meanwhile; the file says "
                  "how much repetitions\n"
                  "differed.\n\n"
                  "Of executables the instructions that compute are run in their order on all ranks at once; a plan that "
                  "makes the same\n"
                  "calls takes their measured times before any rate.\n\n"
                  "Examples:\n"
                  "  mpiexec -n 4 -H a:2,b:2 pdc profile -o cluster.yaml\n"
                  "  mpiexec -n 2 pdc profile gpt_data gpt_tensor -o cluster.yaml\n");
  command->callback([arguments, &action] { action = [arguments] { return profile(*arguments); }; });
}
