#pragma once

#include <string_view>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::spec {

/// Reads one override, `[nodeN.][gpuM.]WHAT=VALUE`: "node3.gpu5.power_cap=400W",
/// "node2.inlet=35C", "gpu1.lock_clock=1200MHz". A plain number is in the unit of the word's row in
/// overrides.cpp. Whether the job has that node and GPU, and its GPU that cap, is `resolve`'s to
/// say. The error has no place: `"node0.fam=50%": fam is not known; did you mean fan?; ...`.
Result<Override> parse_override(std::string_view text);
/// Whether it is said of the GPU that the job's rank runs on.
bool is_of_rank(const Override& one, const Job& job, int64_t rank);
/// "power_cap".
std::string_view to_word(OverrideKind kind);

/// Reads "floor=0.8,up=50kW/s,down=50W/s,hysteresis=2s": a floor, and what holds it or ramps.
Result<void> parse_power_smoothing(std::string_view text, Conditions& conditions);

}  // namespace ergometer::spec
