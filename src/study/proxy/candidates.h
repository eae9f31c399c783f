#pragma once

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "spec/settings/settings.h"

namespace ergometer::study::proxy {

inline constexpr int kWholeWidth = 8;

/// The sizes of a small job.
struct Shape {
  int64_t pp = 1, vpp = 1, dp = 1, ep = 1, layers = 1, micro_batches = 1;
  /// Of the large model's width: the whole one where that fits in memory, for width decides what
  /// kernels are like.
  int eighths = kWholeWidth;

  auto as_tuple() const { return std::tie(pp, vpp, dp, ep, layers, micro_batches, eighths); }
  bool operator<(const Shape& other) const { return as_tuple() < other.as_tuple(); }
};

/// A small job that may stand for a large one.
struct Candidate {
  Shape shape;
  spec::Settings settings;
  spec::Job job;
};

/// Sizes on `gpus` GPUs, legal or not. tp, cp and the micro batch are the large job's;
///
///   pp, ep    what the GPUs have room for, at most the large job's; dp is the rest
///   layers    of a chunk as many as in the large job, a quarter, half and twice as many
///   experts   as many on a GPU
///   micro batches m of a step, seven numbers: from the one that keeps the bubble, (pp - 1) / m, to
///             the one that keeps the bytes that data parallel ranks exchange for each byte of
///             work, (dp - 1) / dp / m, in equal ratios, and the large job's own
/// `shallow`: with an eighth and less of the layers instead, where those fit no memory.
std::set<Shape> shapes(const spec::Job& large, int64_t gpus, int eighths, bool shallow);

/// Sizes near one of them: layers and micro batches in finer steps.
std::set<Shape> shapes_around(const spec::Job& large, const Shape& shape);

/// The job of these sizes, with every setting that is no size as in the large job, also where a
/// recipe would set another one for a small job. Nothing where there is no such job.
std::optional<Candidate> candidate(const spec::Settings& settings, const spec::Job& large,
                                   int64_t gpus, const Shape& shape);

/// What candidates do not carry over besides the sizes, a sentence each.
std::vector<std::string> left_out(const spec::Settings& settings, const spec::Job& large);

}  // namespace ergometer::study::proxy
