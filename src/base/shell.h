#pragma once

#include <string>
#include <string_view>

namespace ergometer::base {

/// A word as a POSIX shell takes it: in single quotes where it needs them.
std::string shell_quoted(std::string_view word);
/// In single quotes, plain or not.
std::string in_single_quotes(std::string_view word);

}  // namespace ergometer::base
