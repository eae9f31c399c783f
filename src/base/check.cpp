#include "base/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace ergometer::base {

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  fmt::print(stderr, "ergometer: internal error at {}:{}: {} ({})\n", file, line, message,
             condition);
  std::fflush(nullptr);
  std::_Exit(70);
}

}  // namespace ergometer::base
