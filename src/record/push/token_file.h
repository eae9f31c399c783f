#pragma once

#include <string>

#include "base/result.h"

namespace ergometer::record {

/// The first line of a file that its owner alone may read: what a recorder says and a server asks
/// for. Input errors: others may read it; it is not 8 to 256 printable characters without spaces.
Result<std::string> read_token(const std::string& path);

/// Input error: others than their owner may read a file of secrets, which are called `what`.
Result<void> check_private(const std::string& path, const char* what);

}  // namespace ergometer::record
