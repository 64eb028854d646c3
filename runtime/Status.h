// How the runtime reports: a code that maps to an exit code, and a sentence. Nothing is printed, nothing exits.
#ifndef WEFT_RUNTIME_STATUS_H
#define WEFT_RUNTIME_STATUS_H

#include <string>
#include <utility>

namespace weft {

enum class Code { ok = 0, invalid = 1 /* the model or the input is wrong */, machine = 3 /* the machine cannot */ };

struct [[nodiscard]] Status {
  Code code = Code::ok;
  std::string message;

  bool ok() const { return code == Code::ok; }
  static Status success() { return {}; }
  static Status invalid(std::string message) { return {Code::invalid, std::move(message)}; }
  static Status machine(std::string message) { return {Code::machine, std::move(message)}; }
};

/// Returns from the enclosing function where `expression` is a failed Status.
#define WEFT_TRY(expression)                                                                                           \
  if (::weft::Status weftStatus = (expression); !weftStatus.ok())                                                      \
  return weftStatus

} // namespace weft
#endif
