#include "base/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace ergometer::base {

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  const std::string text =
      fmt::format("ergometer: internal error at {}:{}: {} ({})\n", file, line, message, condition);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(nullptr);
  std::_Exit(70);
}

}  // namespace ergometer::base
