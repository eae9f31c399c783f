#include "base/check.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace ergometer::base {
namespace {

std::atomic<int> g_throwing = 0;

}  // namespace

ThrowFailedChecks::ThrowFailedChecks() { ++g_throwing; }
ThrowFailedChecks::~ThrowFailedChecks() { --g_throwing; }

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  const std::string what = fmt::format("at {}:{}: {} ({})", file, line, message, condition);
  if (g_throwing > 0) throw std::logic_error(what);
  const std::string text = fmt::format("ergometer: internal error {}\n", what);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(nullptr);
  std::_Exit(70);
}

}  // namespace ergometer::base
