// What the sanitizers are told in every binary of `--config=asan` and `--config=tsan` (.bazelrc links this file into all of
// them, so that it also holds in the executables that pdc writes). The libraries of the system are not instrumented;
// only what is theirs is suppressed.
#include <cstdlib>

extern "C" {

// Under mpiexec, Open MPI unloads its components before the end, so that what they leaked has no name any more.
int __lsan_is_turned_off() { return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr; }

// Open MPI, and what it loads, keep memory until the process ends; oneDNN keeps its caches.
const char* __lsan_default_suppressions() {
  return "leak:libmpi.so\n"
         "leak:libopen-rte.so\n"
         "leak:libopen-pal.so\n"
         "leak:libpmix.so\n"
         "leak:libhwloc.so\n"
         "leak:libevent\n"
         "leak:mca_\n"
         "leak:libdnnl.so\n";
}

// Containers and LLVM's arenas go between code that marks their unused part and libraries that do not (LLVM, oneDNN,
// Abseil's archives).
const char* __asan_default_options() { return "detect_container_overflow=0:allow_user_poisoning=0"; }

// Their locks and atomic operations are not seen. Open MPI's modules take their own locks in two orders while they start, unlock
// some that the sanitizer has not seen locked while they end, and make those of requests anew on the stack.
const char* __tsan_default_suppressions() {
  return "deadlock:mca_\n"
         "mutex:mca_\n"
         "race:mca_\n"
         "called_from_lib:libmpi.so\n"
         "called_from_lib:libopen-pal.so\n"
         "called_from_lib:libgomp.so\n"
         "called_from_lib:libdnnl.so\n";
}

}  // extern "C"
