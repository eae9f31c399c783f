#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "workload/block/block_writer.h"
#include "workload/block/eager.h"
#include "workload/block/fuse.h"
#include "workload/block/layer.h"
#include "workload/block/vision.h"
#include "workload/by_operator.h"
#include "workload/reached_experts.h"
#include "workload/shares.h"
#include "workload/vision.h"
#include "workload/workload.h"

namespace ergometer::workload {
namespace {

/// Writes the lists of one block with the given functions; `again` is what full recomputation
/// repeats, and recomputation by operator a part of.
template <class Forward, class Backward, class Again>
Block make_block(const spec::Job& job, const Shapes& shapes, Workload& workload, BlockKind kind,
                 std::string name, Forward&& forward, Backward&& backward, Again&& again) {
  Block block;
  block.kind = kind;
  block.name = std::move(name);
  BlockWriter forward_writer(job, shapes, workload, block.forward, Pass::kForward);
  forward(forward_writer);
  if (!shapes.training) return block;
  BlockWriter backward_writer(job, shapes, workload, block.backward, Pass::kBackward);
  backward(backward_writer);
  if (repeats_layers(job)) {
    BlockWriter again_writer(job, shapes, workload, block.recompute, Pass::kRecompute);
    again(again_writer);
    const auto first = std::ranges::find(block.recompute, Item::Kind::kOperator, &Item::kind);
    if (first != block.recompute.end())
      workload.operators[static_cast<size_t>(first->op)].reruns = true;
    if (recomputes_by_operator(job)) drop_kept_operators(job, workload, block);
  }
  return block;
}

/// Elements of the matrices that the block multiplies with.
double matrix_elements(const spec::Job& job, const Shapes& shapes, const Workload& workload,
                       const Block& block) {
  double elements = 0;
  for (const Item& item : block.forward) {
    if (item.kind != Item::Kind::kOperator) continue;
    const Operator& op = workload.operators[static_cast<size_t>(item.op)];
    if (op.kind == OperatorKind::kGemm || op.kind == OperatorKind::kGroupedGemm)
      elements += held_matrices(job, shapes, op) * static_cast<double>(op.n * op.k);
  }
  return elements;
}

int add_block(Workload& workload, Block block) {
  workload.blocks.push_back(std::move(block));
  return static_cast<int>(workload.blocks.size()) - 1;
}

int add_embedding(const spec::Job& job, const Shapes& shapes, Workload& workload) {
  Block block = make_block(job, shapes, workload, BlockKind::kEmbedding, "embedding",
                           embedding_forward, embedding_backward, [](BlockWriter&) {});
  set_parameters(job, shapes, workload, {}, block);
  block.activations = embedding_activations(job, shapes);
  return add_block(workload, std::move(block));
}

std::string layer_name(const spec::Layer& layer) {
  const bool mixes = layer.mixer != spec::Mixer::kNone;
  std::string name = layer.moe            ? "moe layer"
                     : layer.feed_forward ? (mixes ? "dense layer" : "mlp layer")
                     : layer.mixer == spec::Mixer::kStateSpace ? "state-space layer"
                                                               : "attention layer";
  if (layer.feed_forward && layer.mixer == spec::Mixer::kStateSpace) name += ", state space";
  if (layer.window > 0) name += ", window " + std::to_string(layer.window);
  if (layer.chunk > 0) name += ", chunk " + std::to_string(layer.chunk);
  if (!layer.adapters) name += ", no adapters";
  if (!layer.backward) name += ", no backward";
  return name;
}

int add_layer(const spec::Job& job, const Shapes& of_job, Workload& workload,
              const spec::Layer& layer) {
  Shapes shapes = of_job;
  shapes.adapters = layer.adapters;
  shapes.training = of_job.training && layer.backward;
  const auto forward = [&](BlockWriter& writer) { layer_forward(writer, layer); };
  const auto backward = [&](BlockWriter& writer) {
    layer_backward(writer, layer);
    eager_backward(writer, layer);
  };
  Block block = make_block(job, shapes, workload, BlockKind::kLayer, layer_name(layer), forward,
                           backward, forward);
  set_parameters(job, shapes, workload, layer, block);
  block.activations = layer_activations(job, shapes, layer);
  if (!of_job.training) block.cache = layer_cache(job.model, shapes, layer);
  keep_cast_weights(shapes, matrix_elements(job, shapes, workload, block), block.activations);
  if (recomputes_by_operator(job))
    block.activations.checkpoint += kept_by_operator(job, shapes, workload, block);
  return add_block(workload, std::move(block));
}

/// Layers that are alike share one block.
void add_layers(const spec::Job& job, const Shapes& shapes, Workload& workload) {
  std::vector<std::pair<spec::Layer, int>> known;
  for (const spec::Layer& layer : job.model.layers) {
    int block = -1;
    for (const auto& [other, index] : known)
      if (other == layer) block = index;
    if (block < 0) {
      block = add_layer(job, shapes, workload, layer);
      known.emplace_back(layer, block);
    }
    workload.layer_blocks.push_back(block);
  }
}

/// Layers of the tower that differ in their windows are alike but for their shapes.
void add_tower_layers(const spec::Job& tower, const Shapes& decoder, Workload& workload) {
  std::vector<std::pair<spec::Layer, int>> known;
  for (const spec::Layer& layer : tower.model.layers) {
    int block = -1;
    for (const auto& [other, index] : known)
      if (other == layer) block = index;
    if (block < 0) {
      block = add_layer(tower, tower_shapes(tower, decoder, layer), workload, {});
      Block& made = workload.blocks[static_cast<size_t>(block)];
      made.cache = {};  // an image is encoded once
      std::string& name = made.name;
      name = "vision layer";
      if (layer.window > 0) name += fmt::format(", window {}", layer.window);
      known.emplace_back(layer, block);
    }
    workload.layer_blocks.push_back(block);
  }
  workload.vision_layers = static_cast<int>(tower.model.layers.size());
}

/// A block beside the tower's layers, of so many parameters outside its matrices.
Block vision_block(const spec::Job& tower, const Shapes& shapes, Workload& workload,
                   const char* name, void (*forward)(BlockWriter&, const spec::Vision&),
                   void (*backward)(BlockWriter&, const spec::Vision&), const spec::Vision& vision,
                   int64_t vectors) {
  const auto ahead = [&](BlockWriter& writer) { forward(writer, vision); };
  const auto back = [&](BlockWriter& writer) { backward(writer, vision); };
  Block block = make_block(tower, shapes, workload, BlockKind::kVision, name, ahead, back,
                           [](BlockWriter&) {});
  set_parameters(tower, shapes, workload, {}, block);
  block.parameters.dense += static_cast<double>(vectors);
  if (shapes.training && !shapes.lora)
    block.parameters.trainable_dense += static_cast<double>(vectors);
  return block;
}

int64_t patch_vectors(const spec::Vision& vision) {
  const spec::Model& tower = vision.tower;
  const int64_t norm = tower.hidden * (tower.norm_bias ? 2 : 1);
  return patch_parameters(vision) - tower.hidden * vision.patch_values +
         tower.position_rows * tower.hidden + (tower.embedding_norm ? norm : 0);
}

/// The tower's last norm among them, which CLIP has of its class token alone.
int64_t projector_vectors(const spec::Vision& vision, int64_t hidden, int64_t tp) {
  const int64_t norm = vision.tower.hidden * (vision.tower.norm_bias ? 2 : 1);
  return vision.norm_width * (vision.norm_bias ? 2 : 1) + vision.projector_inner / tp + hidden +
         (vision.tower.final_norm ? norm : 0);
}

void add_patches(const spec::Job& tower, const Shapes& shapes, const spec::Vision& vision,
                 Workload& workload) {
  Block block = vision_block(tower, shapes, workload, "patch embedding", patches_forward,
                             patches_backward, vision, patch_vectors(vision));
  block.activations = patch_activations(shapes, vision);
  workload.patch_block = add_block(workload, std::move(block));
  workload.tower_bytes = shapes.element * shapes.shard_elements();
}

void add_projector(const spec::Job& tower, const Shapes& shapes, const spec::Vision& vision,
                   Workload& workload) {
  Block block =
      vision_block(tower, shapes, workload, "projector", projector_forward, projector_backward,
                   vision, projector_vectors(vision, shapes.hidden, shapes.tp));
  block.activations = projector_activations(shapes, vision);
  workload.projector_block = add_block(workload, std::move(block));
  workload.image_bytes = shapes.element * shapes.shard_elements();
}

void add_vision(const spec::Job& job, const Shapes& decoder, Workload& workload) {
  if (job.model.vision == nullptr) return;
  const spec::Vision& vision = *job.model.vision;
  const spec::Job tower = tower_job(job);
  add_patches(tower, tower_shapes(tower, decoder, {}), vision, workload);
  add_tower_layers(tower, decoder, workload);
  add_projector(tower, projector_shapes(job, tower, decoder), vision, workload);
  for (Operator& op : workload.operators) op.vision = true;
}

void add_mtp(const spec::Job& job, const Shapes& of_job, Workload& workload) {
  if (job.model.mtp_layers == 0 || job.model.layers.empty() || !of_job.training) return;
  const spec::Layer layer = job.model.mtp_layer();
  Shapes shapes = of_job;
  shapes.adapters = layer.adapters;
  Block block = make_block(job, shapes, workload, BlockKind::kMtp, "mtp", mtp_forward, mtp_backward,
                           mtp_layer_forward);
  set_parameters(job, shapes, workload, layer, block);
  block.activations = mtp_activations(job, shapes, layer);
  if (recomputes_by_operator(job))
    block.activations.checkpoint += kept_by_operator(job, shapes, workload, block);
  const int index = add_block(workload, std::move(block));
  workload.mtp_blocks.assign(static_cast<size_t>(job.model.mtp_layers), index);
}

int add_head(const spec::Job& job, const Shapes& shapes, Workload& workload) {
  Block block = make_block(job, shapes, workload, BlockKind::kHead, "head", head_forward,
                           head_backward, [](BlockWriter&) {});
  set_parameters(job, shapes, workload, {}, block);
  block.activations = head_activations(job, shapes);
  keep_cast_weights(shapes, matrix_elements(job, shapes, workload, block), block.activations);
  return add_block(workload, std::move(block));
}

/// The mean squared error of a stage's outputs and labels made up for them: it reads both, its
/// backward writes their gradient too.
int add_label_loss(const spec::Job& job, const Shapes& shapes, Workload& workload) {
  const auto write = [&](std::vector<Item>& list, Pass pass, const char* name, double tensors) {
    BlockWriter(job, shapes, workload, list, pass)
        .memory({Module::kLoss, name, tensors * workload.boundary_bytes});
  };
  Block block;
  block.kind = BlockKind::kHead;
  block.name = "label loss";
  write(block.forward, Pass::kForward, "label_loss", 2);
  write(block.backward, Pass::kBackward, "label_loss_backward", 3);
  block.activations.parts = {{"labels", workload.boundary_bytes},
                             {"outputs", workload.boundary_bytes}};
  block.activations.kept = block.activations.checkpoint = 2 * workload.boundary_bytes;
  return add_block(workload, std::move(block));
}

void add_stage_loss(const spec::Job& job, const Shapes& shapes, Workload& workload) {
  const spec::StageTraining training = job.parallelism.stage_training;
  if (training == spec::StageTraining::kLocalHeads)
    workload.stage_loss_block = workload.head_block;
  else if (training == spec::StageTraining::kSyntheticLabels)
    workload.stage_loss_block = add_label_loss(job, shapes, workload);
}

/// Its matrices in a block without lists, its passes beside it.
void add_vocabulary(const spec::Job& job, const Shapes& shapes, Workload& workload) {
  if (!job.parallelism.divides_vocabulary()) return;
  const auto write = [&](std::vector<Item>& list, Pass pass, void (*pass_of)(BlockWriter&)) {
    BlockWriter writer(job, shapes, workload, list, pass);
    pass_of(writer);
  };
  Vocabulary passes;
  Block block;
  block.kind = BlockKind::kVocabulary;
  block.name = "vocabulary";
  write(block.forward, Pass::kForward, vocabulary_output);
  set_parameters(job, shapes, workload, {}, block);
  passes.output = std::exchange(block.forward, {});
  write(passes.input, Pass::kForward, vocabulary_input);
  write(passes.output_gradient, Pass::kBackward, vocabulary_output_gradient);
  write(passes.input_gradient, Pass::kBackward, vocabulary_input_gradient);
  constexpr double kStatistics = 3, kFp32 = 4;
  passes.statistics_bytes = kStatistics * kFp32 * static_cast<double>(shapes.tokens);
  passes.activations = vocabulary_activations(job, shapes);
  workload.vocabulary_block = add_block(workload, std::move(block));
  workload.vocabulary = std::move(passes);
}

Workload lower_at(const spec::Job& job, const Shapes& shapes) {
  Workload workload;
  add_vision(job, shapes, workload);
  workload.embedding_block = add_embedding(job, shapes, workload);
  add_layers(job, shapes, workload);
  copy_activations(job, shapes, workload);
  add_mtp(job, shapes, workload);
  workload.head_block = add_head(job, shapes, workload);
  add_vocabulary(job, shapes, workload);
  workload.boundary_bytes = shapes.element * static_cast<double>(shapes.shard_tokens) *
                            static_cast<double>(shapes.hidden);
  add_stage_loss(job, shapes, workload);
  fuse(job, shapes.tp, shapes.ep, workload);
  return workload;
}

Workload lower_at(const spec::Job& job, double expert_load) {
  Shapes shapes = shapes_of(job);
  shapes.expert_load = expert_load;
  return lower_at(job, shapes);
}

/// Adds what the job is at the most that any rank or micro batch has.
void add_most(Workload& workload, Workload most, UnevenWork uneven) {
  ERGOMETER_CHECK(most.operators.size() == workload.operators.size(),
                  "a load changes sizes, not what is done");
  uneven.operators = std::move(most.operators);
  for (const Block& block : most.blocks) uneven.activations.push_back(block.activations);
  workload.uneven = std::make_shared<const UnevenWork>(std::move(uneven));
}

Workload lower_documents(const spec::Job& job, SequenceLoads loads) {
  Workload workload = lower_at(job, shapes_of_batch(job, loads.base));
  Workload most = lower_at(job, shapes_of_batch(job, loads.most));
  add_most(workload, std::move(most), {.sequences = std::move(loads)});
  return workload;
}

}  // namespace

Workload lower(const spec::Job& job) {
  SequenceLoads sequences = sequence_loads(job);
  if (!sequences.even()) return lower_documents(job, std::move(sequences));
  Workload workload = lower_at(job, 1);
  ExpertLoads loads = expert_loads(job);
  if (loads.even()) return workload;
  Workload most = lower_at(job, loads.most);
  add_most(workload, std::move(most), {.loads = std::move(loads)});
  return workload;
}

}  // namespace ergometer::workload
