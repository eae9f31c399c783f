#pragma once

#include "spec/job/job.h"
#include "workload/parameters.h"
#include "workload/shapes.h"

namespace ergometer::workload {

/// Which parts of a model with a vision tower have gradients of their own (`--freeze`; LoRA's
/// decoder, which has adapters, counts).
struct TrainedParts {
  bool tower = true, projector = true, decoder = true;
  /// Whether gradients reach the projector's output, its input.
  bool through_projector() const { return tower || projector; }
};
TrainedParts trained_parts(const spec::Training& training);

/// The vision tower as a job of its own: every tile of an image is a sequence. Not in FP8, which
/// frameworks leave to the decoder.
spec::Job tower_job(const spec::Job& job);
/// Of a tower's layer, for as many tiles as `decoder` has: each window is a sequence of its own.
Shapes tower_shapes(const spec::Job& tower, const Shapes& decoder, const spec::Layer& layer);
/// Of the projector: a row for every token that the decoder gets. `hidden`: the decoder's.
Shapes projector_shapes(const spec::Job& job, const spec::Job& tower, const Shapes& decoder);

/// Parameters before the tower's first layer and behind its last one.
int64_t patch_parameters(const spec::Vision& vision);
int64_t projector_parameters(const spec::Vision& vision, int64_t hidden);

}  // namespace ergometer::workload
