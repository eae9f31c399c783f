#pragma once

#include <string>

#include "base/result.h"

namespace ergometer::record {

/// The first line of a file that its owner alone may read: what a recorder says and a server asks
/// for. Input errors: others may read it; it is not 8 to 256 printable characters without spaces.
Result<std::string> read_token(const std::string& path);

}  // namespace ergometer::record
