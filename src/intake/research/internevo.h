#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// InternEvo's configuration in Python, as `train.py --config` takes it.
bool is_internevo_config(const std::string& text);
Result<Reading> parse_internevo(const std::string& text, const std::string& file);

}  // namespace ergometer::intake
