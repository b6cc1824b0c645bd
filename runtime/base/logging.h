// Lines on standard error: "[rank 1] warning: ...". One write per line, so that lines of threads and ranks do
// not mix.
#ifndef PDC_RUNTIME_BASE_LOGGING_H_
#define PDC_RUNTIME_BASE_LOGGING_H_

#include <sstream>
#include <string>

namespace pdc {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Shown with every later line; a negative rank (the default) shows none. Thread-safe.
void SetLogRank(int rank);

// Lines below `level` are dropped. The default is kInfo, or what the environment variable PDC_LOG_LEVEL
// (debug, info, warning, error) says. Thread-safe.
void SetLogLevel(LogLevel level);
bool IsLogged(LogLevel level);

// Writes one line (a newline is added).
void Log(LogLevel level, const std::string& message);

// Collects one line; for PDC_LOG.
class LogLine {
 public:
  explicit LogLine(LogLevel level) : level_(level) {}
  ~LogLine() { Log(level_, stream_.str()); }
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  std::ostream& stream() { return stream_; }

 private:
  LogLevel level_;
  std::ostringstream stream_;
};

// Gives both sides of PDC_LOG's conditional the type void; & binds less tightly than <<.
struct LogVoid {
  void operator&(std::ostream&) {}
};

}  // namespace pdc

// PDC_LOG(Warning) << "...": arguments are not evaluated when the level is not logged.
#define PDC_LOG(level)                        \
  !::pdc::IsLogged(::pdc::LogLevel::k##level) \
      ? (void)0                               \
      : ::pdc::LogVoid() & ::pdc::LogLine(::pdc::LogLevel::k##level).stream()

#endif  // PDC_RUNTIME_BASE_LOGGING_H_
