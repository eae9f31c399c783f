#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "intake/reading.h"

namespace ergometer::intake {

/// torchtitan's TOML, of releases before and after its sections were renamed. `overrides`: what
/// stands behind the file on torchtitan's command line, "training.seq_len" and "4096".
base::Result<Reading> parse_torchtitan(
    const std::string& text, const std::string& file,
    const std::vector<std::pair<std::string, std::string>>& overrides = {});

}  // namespace ergometer::intake
