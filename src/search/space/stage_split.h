#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "search/space/candidate.h"
#include "spec/job/job.h"

namespace ergometer::search {

/// The ways to divide the layers of `job`'s model over `pp` stages of `vpp` chunks that its
/// framework runs and that differ from each other, the plainest first.
///
/// Megatron-LM divides evenly, counts the embedding and the loss, or the loss, as layers, or takes
/// the numbers of the first and the last stage: so many layers as leave the others whole numbers,
/// the nearest to even ones. Where layers divide, these are tried as far as the fullest stage is
/// not longer than an even last one with the head (in layers, by the weights that a token meets).
/// Where nothing else divides, and no other number of chunks would, a list of every chunk's layers.
/// Other frameworks: evenly, else as they do by themselves; nanotron always so.
std::vector<Split> splits_of(const spec::Job& job, int64_t pp, int64_t vpp);

/// "even", "embedding and loss as layers", ...
std::string_view to_word(Split split);

/// Says a split in a job that has its pp and vpp; `given`: what the settings say of stages.
void apply_split(Split split, const spec::Parallelism& given, spec::Job& job);

}  // namespace ergometer::search
