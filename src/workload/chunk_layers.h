#pragma once

#include <cstdint>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::workload {

/// Layers of every whole stage under Megatron-Core's rules (get_num_layers_to_build): the first and
/// last as asked, the rest shared evenly; or embedding and loss counted as a layer each before an
/// even split.
inline std::vector<int64_t> stage_layers(const spec::Job& job) {
  const spec::Parallelism& parallel = job.parallelism;
  int64_t to_share = job.model.pipeline_layers(), sharing = parallel.pp;
  const bool first_set = parallel.first_stage_layers > 0, last_set = parallel.last_stage_layers > 0;
  if (first_set || last_set) {
    to_share -= parallel.first_stage_layers + parallel.last_stage_layers;
    sharing -= (first_set ? 1 : 0) + (last_set ? 1 : 0);
  } else {
    to_share +=
        (parallel.embedding_counts_as_layer ? 1 : 0) + (parallel.loss_counts_as_layer ? 1 : 0);
  }
  std::vector<int64_t> layers(static_cast<size_t>(parallel.pp),
                              sharing > 0 ? to_share / sharing : 0);
  if (first_set) layers.front() = parallel.first_stage_layers;
  if (last_set) layers.back() = parallel.last_stage_layers;
  return layers;
}

/// Layers of every part of the model (`Parallelism::part_of`), in order.
inline std::vector<int64_t> chunk_layers(const spec::Job& job) {
  const spec::Parallelism& parallel = job.parallelism;
  if (!parallel.stage_layers.empty()) return parallel.stage_layers;
  std::vector<int64_t> layers;
  for (int64_t chunk = 0; chunk < parallel.vpp; ++chunk) {
    for (const int64_t of_stage : stage_layers(job)) layers.push_back(of_stage / parallel.vpp);
  }
  // An embedding or loss that counts as a layer takes the place of one where it sits.
  const bool uneven = parallel.first_stage_layers > 0 || parallel.last_stage_layers > 0;
  if (!uneven && parallel.embedding_counts_as_layer) --layers.front();
  if (!uneven && parallel.loss_counts_as_layer) --layers.back();
  return layers;
}

}  // namespace ergometer::workload
