#pragma once

#include <string>
#include <vector>

#include "spec/settings.h"

namespace ergometer::study::proxy {

/// A small job that may stand for a large one.
struct Candidate {
  spec::Settings settings;
  spec::Job job;
};

/// Part of the large model's width that candidates have, in eighths: the whole one first, for width
/// decides what kernels are like.
inline constexpr int kWholeWidth = 8;

/// The legal small jobs on `gpus` GPUs at a width. tp, cp, the micro batch, the sequence and every
/// setting that is no size are the large job's. Sizes:
///
///   pp, ep    what the GPUs have room for, at most the large job's; dp is the rest
///   layers    of a chunk as many as in the large job, half and twice as many
///   experts   as many on a GPU
///   micro batches m of a step, seven numbers: from the one that keeps the bubble, (pp - 1) / m, to
///             the one that keeps the bytes that data parallel ranks exchange for each byte of
///             work, (dp - 1) / dp / m, in equal ratios, and the large job's own
std::vector<Candidate> candidates(const spec::Settings& large, const spec::Job& job, int64_t gpus,
                                  int eighths);

/// What `candidates` changes besides the sizes, a sentence each.
std::vector<std::string> left_out(const spec::Settings& large, const spec::Job& job);

}  // namespace ergometer::study::proxy
