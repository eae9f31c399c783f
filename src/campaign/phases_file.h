#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/ask.h"

namespace ergometer::campaign {

/// The phases of a training run, a YAML file: under `run` a list of mappings, each with `tokens`,
/// a `name` if it is to have one, and the settings in which the phase differs, by the names of a
/// job file:
///
///     run:
///       - {tokens: 252M, seq: 4096, gbs: 1024}
///       - {name: long context, tokens: 800G, seq: 131072, cp: 16}
Result<std::vector<Phase>> parse_phases(const std::string& text, const std::string& file);

/// "15T", "15T tokens": what a user may write for a number of tokens. The error has no place.
Result<double> parse_tokens(std::string_view text);

}  // namespace ergometer::campaign
