#pragma once

#include <string_view>

namespace ergometer::base {

/// Prints the failed check and ends the process with status 70 (our bug).
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view message);

/// While one lives, a failed check is a std::logic_error: the process is another program's, and
/// goes on.
class ThrowFailedChecks {
 public:
  ThrowFailedChecks();
  ~ThrowFailedChecks();
  ThrowFailedChecks(const ThrowFailedChecks&) = delete;
  ThrowFailedChecks& operator=(const ThrowFailedChecks&) = delete;
};

}  // namespace ergometer::base

/// For our own mistakes, never for the user's; on in every build.
#define ERGOMETER_CHECK(condition, message) \
  ((condition) ? void() : ::ergometer::base::check_failed(__FILE__, __LINE__, #condition, message))
