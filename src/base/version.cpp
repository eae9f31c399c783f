#include "base/version.h"

namespace ergometer::base {

std::string_view version() { return ERGOMETER_VERSION; }

std::string build_description() {
#if defined(__clang__)
  const std::string compiler = "clang++ " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  const std::string_view sanitizers = ERGOMETER_SANITIZERS;
  return compiler + ", " ERGOMETER_BUILD_TYPE +
         (sanitizers.empty() ? "" : ", sanitizers: " ERGOMETER_SANITIZERS);
}

}  // namespace ergometer::base
