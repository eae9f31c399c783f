#include "plan/stages.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "workload/chunk_layers.h"
#include "workload/shapes.h"

namespace ergometer::plan {
namespace {

/// Layers of the chunk whose forward recomputation the backward repeats. The block method stops at
/// decoder layers; the uniform method covers MTP modules too (Megatron-Core,
/// multi_token_prediction.py).
int64_t recomputed_layers(const spec::Job& job, size_t chunk, int64_t layers, int64_t mtp) {
  const spec::Training& training = job.training;
  if (!workload::repeats_layers(job)) return 0;
  if (!training.recompute_stage_layers.empty())
    return std::min(training.recompute_stage_layers[chunk], layers);
  if (training.recompute_method == spec::RecomputeMethod::kUniform ||
      training.recompute_layers == 0) {
    return layers + mtp;
  }
  return std::min(training.recompute_layers, layers);
}

/// Part `number` of the model: `count` layers from `first` on.
Chunk make_chunk(const spec::Job& job, const workload::Workload& workload, size_t number,
                 size_t numbers, int64_t first, int64_t count) {
  const bool is_first = number == 0, is_last = number + 1 == numbers;
  Chunk chunk;
  const auto add = [&chunk](int block, int64_t layer) {
    chunk.blocks.push_back(block);
    chunk.layers.push_back(layer);
  };
  if (workload.vocabulary_block >= 0) add(workload.vocabulary_block, -1);
  const auto add_if = [&](bool here, int block) {
    if (here && block >= 0) add(block, -1);
  };
  const bool no_tower = workload.vision_layers == 0;
  add_if(is_first && no_tower, workload.embedding_block);
  add_if(is_first, workload.patch_block);
  for (int64_t layer = first; layer < first + count; ++layer) {
    add_if(!no_tower && layer == workload.vision_layers, workload.embedding_block);
    add(workload.layer_blocks[static_cast<size_t>(layer)], layer);
    add_if(layer + 1 == workload.vision_layers, workload.projector_block);
  }
  if (is_last) {
    for (const int block : workload.mtp_blocks) add(block, -1);
    if (workload.head_block >= 0) add(workload.head_block, -1);
  }
  add_if(!is_last, workload.stage_loss_block);
  const auto mtp = is_last ? static_cast<int64_t>(workload.mtp_blocks.size()) : 0;
  chunk.recomputed_blocks = recomputed_layers(job, number, count, mtp);
  return chunk;
}

}  // namespace

std::vector<int64_t> layers_per_chunk(const spec::Job& job) { return workload::chunk_layers(job); }

std::vector<Stage> divide(const spec::Job& job, const workload::Workload& workload) {
  const int64_t stages = job.parallelism.pp;
  const std::vector<int64_t> layers = layers_per_chunk(job);
  ERGOMETER_CHECK(static_cast<int64_t>(layers.size()) == job.parallelism.parts(),
                  "one layer count a chunk and stage");
  ERGOMETER_CHECK(std::accumulate(layers.begin(), layers.end(), int64_t{0}) ==
                      static_cast<int64_t>(workload.layer_blocks.size()),
                  "the chunks' layers add up to the model's");
  std::vector<Stage> divided(static_cast<size_t>(stages));
  int64_t first = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    Stage& stage = divided[static_cast<size_t>(job.parallelism.stage_of(static_cast<int64_t>(i)))];
    stage.chunks.push_back(make_chunk(job, workload, i, layers.size(), first, layers[i]));
    first += layers[i];
  }
  return divided;
}

workload::ParameterShare stage_parameters(const workload::Workload& workload, const Stage& stage) {
  workload::ParameterShare sum;
  for (const Chunk& chunk : stage.chunks)
    for (const int index : chunk.blocks)
      sum += workload.blocks[static_cast<size_t>(index)].parameters;
  return sum;
}

std::vector<Border> borders(const spec::Job& job, const workload::Workload& workload) {
  std::vector<Border> result;
  const int64_t towers = workload.vision_layers;
  int64_t behind = 0;
  for (const int64_t layers : layers_per_chunk(job)) {
    behind += layers;
    if (behind >= towers && (behind > towers || towers == 0))
      result.push_back({workload.boundary_bytes, false});
    else
      result.push_back({behind == towers ? workload.image_bytes : workload.tower_bytes, true});
  }
  if (result.size() > 1) result.pop_back();
  return result;
}

bool is_recomputed(const Chunk& chunk, const workload::Workload& workload, size_t index) {
  const auto is_layer = [&](size_t i) {
    return !workload.blocks[static_cast<size_t>(chunk.blocks[i])].recompute.empty();
  };
  if (!is_layer(index)) return false;
  int64_t before = 0;
  for (size_t i = 0; i < index; ++i) before += is_layer(i) ? 1 : 0;
  return before < chunk.recomputed_blocks;
}

}  // namespace ergometer::plan
