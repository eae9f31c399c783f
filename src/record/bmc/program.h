#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ergometer::record {

/// What a program writes to its standard output. An error of kind kMissing when it is not there,
/// ends with a status other than 0 (the first line of its standard error is told), or takes longer
/// than `limit_s`: it is then ended.
Result<std::string> run_program(const std::vector<std::string>& arguments, double limit_s);

}  // namespace ergometer::record
