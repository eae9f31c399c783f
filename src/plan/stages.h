#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"
#include "workload/workload.h"

namespace ergometer::plan {

/// The blocks that one chunk of one stage runs, in forward order.
struct Chunk {
  std::vector<int> blocks;  ///< indices into Workload::blocks
  std::vector<int64_t>
      layers;  ///< layer number of each block, the vision tower's first; -1 for what is no layer
  int64_t recomputed_blocks = 0;  ///< the first so many layers of the chunk are recomputed in full,
                                  ///< see `is_recomputed`
};

struct Stage {
  std::vector<Chunk> chunks;  ///< vpp of them
};

/// Divides the model, the vision tower's layers first, over stages and chunks by the job's rules:
/// even, uneven first and last stage, embedding and loss counted as layers, explicit lists. The
/// head (and MTP) is on the model's last part, whose stage is the last, or the first where the
/// model turns there.
std::vector<Stage> divide(const spec::Job& job, const workload::Workload& workload);

/// Parameters that one rank of the stage holds.
workload::ParameterShare stage_parameters(const workload::Workload& workload, const Stage& stage);

/// Whether entry `index` of the chunk is recomputed in full before its backward: one of the first
/// so many blocks that have a `recompute` list.
bool is_recomputed(const Chunk& chunk, const workload::Workload& workload, size_t index);

/// What crosses a border between two parts of the model.
struct Border {
  double bytes = 0;    ///< that a rank sends for one micro batch
  bool tiles = false;  ///< of images, before the decoder: more where a micro batch has more of them
  bool operator==(const Border&) const = default;
};
/// Behind every part of the model but the last; of a model in one part, as if there were one.
std::vector<Border> borders(const spec::Job& job, const workload::Workload& workload);

/// Layers of every part of the model (`Parallelism::part_of`), in order, without lowering; the
/// check that they add up is `spec/resolve`'s.
std::vector<int64_t> layers_per_chunk(const spec::Job& job);

}  // namespace ergometer::plan
