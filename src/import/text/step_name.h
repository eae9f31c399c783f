#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::importer {

/// The training step that a range's name states: a word (ProfilerStep, iteration, iter, step,
/// global step, train step, training step, in any case), at most two of " #_:=-" and a number, and
/// nothing else. "iteration 12", "Step_3" and "ProfilerStep#7" are steps.
std::optional<int64_t> step_in_name(std::string_view name);

/// The steps that a trace's ranges state, in order of time. Of two that overlap (a range within the
/// other, another thread's) the first stays, of two that begin together the longer.
std::vector<run::StepMark> steps_of_ranges(const run::RankTrace& trace);

}  // namespace ergometer::importer
