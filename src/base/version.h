#pragma once

#include <string>
#include <string_view>

namespace ergometer::base {

/// The project's version, "0.1.0". Part of every document, so it holds nothing about the build.
std::string_view version();

/// How this program was built, for `--version` and `doctor` only: "g++ 12.2.0, Release". Must not
/// reach a result: the same job gives the same bytes from every build.
std::string build_description();

}  // namespace ergometer::base
