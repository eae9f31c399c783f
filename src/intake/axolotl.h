#pragma once

#include <string>

#include "base/result.h"
#include "intake/reading.h"

namespace ergometer::intake {

/// Axolotl's YAML: the Trainer's arguments under names of its own.
base::Result<Reading> parse_axolotl(const std::string& text, const std::string& file);

}  // namespace ergometer::intake
