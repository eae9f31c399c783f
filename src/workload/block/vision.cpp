#include "workload/block/vision.h"

#include "workload/block/layer.h"
#include "workload/block/linear.h"

namespace ergometer::workload {
namespace {

double rows(const Shapes& shapes, int64_t width) {
  return static_cast<double>(shapes.tokens) * static_cast<double>(width);
}

double patches(const Shapes& shapes, const spec::Vision& vision) {
  return static_cast<double>(shapes.tiles * (vision.tile_tokens - (vision.class_token ? 1 : 0)));
}

/// Every rank of a tensor-parallel group multiplies its part of the patches, where it holds a part
/// of the sequence, or all of them.
Linear patch_linear(const BlockWriter& writer, const spec::Vision& vision) {
  const Shapes& shapes = writer.shapes();
  Linear linear = make_linear(writer, "patch_embedding", Module::kEmbedding, vision.patch_values,
                              shapes.hidden);
  const double share = shapes.sequence_parallel ? 1 / static_cast<double>(shapes.tp) : 1;
  linear.rows = patches(shapes, vision) * share;
  linear.model_rows = patches(shapes, vision) / static_cast<double>(shapes.tp);
  linear.fp8 = false;
  return linear;
}

Linear first_linear(const BlockWriter& writer, const spec::Vision& vision) {
  return make_linear(writer, "projector_fc1", Module::kEmbedding, vision.projector_in,
                     vision.projector_inner / writer.shapes().tp);
}

Linear second_linear(const BlockWriter& writer, const spec::Vision& vision) {
  return make_linear(writer, "projector_fc2", Module::kEmbedding,
                     vision.projector_inner / writer.shapes().tp, writer.shapes().hidden);
}

double inner_bytes(const BlockWriter& writer, const spec::Vision& vision) {
  const Shapes& shapes = writer.shapes();
  return shapes.element * rows(shapes, vision.projector_inner / shapes.tp);
}

/// Of the tokens of the decoder, before the projector.
double merged_bytes(const BlockWriter& writer, const spec::Vision& vision) {
  return writer.shapes().element * static_cast<double>(writer.shapes().shard_tokens) *
         static_cast<double>(vision.projector_in);
}

}  // namespace

void patches_forward(BlockWriter& writer, const spec::Vision& vision) {
  const Shapes& shapes = writer.shapes();
  const double stream = shapes.element * shapes.shard_elements();
  linear_forward(writer, patch_linear(writer, vision));
  writer.memory({Module::kEmbedding, "patch_position_add", 3 * stream});
  if (vision.tower.embedding_norm) norm_forward(writer, "patch_norm", false);
}

void patches_backward(BlockWriter& writer, const spec::Vision& vision) {
  if (vision.tower.embedding_norm) norm_backward(writer, "patch_norm_backward", false);
  linear_wgrad(writer, patch_linear(writer, vision));
}

void projector_forward(BlockWriter& writer, const spec::Vision& vision) {
  const double merged = merged_bytes(writer, vision);
  if (vision.merged > 1) writer.memory({Module::kEmbedding, "patch_merge", 2 * merged});
  if (vision.norm_width > 0) writer.memory({Module::kNorm, "projector_norm", 2 * merged});
  column_forward(writer, first_linear(writer, vision));
  writer.memory({Module::kEmbedding, "projector_activation", 2 * inner_bytes(writer, vision)});
  row_forward(writer, second_linear(writer, vision));
}

void projector_backward(BlockWriter& writer, const spec::Vision& vision) {
  const double merged = merged_bytes(writer, vision);
  row_backward(writer, second_linear(writer, vision));
  writer.memory(
      {Module::kEmbedding, "projector_activation_backward", 3 * inner_bytes(writer, vision)},
      Pass::kBackward);
  column_backward(writer, first_linear(writer, vision));
  if (vision.norm_width > 0)
    writer.memory({Module::kNorm, "projector_norm_backward", 3 * merged, 2}, Pass::kBackward);
  if (vision.merged > 1)
    writer.memory({Module::kEmbedding, "patch_merge_backward", 2 * merged}, Pass::kBackward);
}

ActivationShare patch_activations(const Shapes& shapes, const spec::Vision& vision) {
  ActivationShare share;
  if (!shapes.training) return share;
  const double pixels =
      shapes.element * patches(shapes, vision) * static_cast<double>(vision.patch_values);
  share.parts.emplace_back("patches", pixels);
  share.kept = share.checkpoint = pixels;
  return share;
}

ActivationShare projector_activations(const Shapes& shapes, const spec::Vision& vision) {
  ActivationShare share;
  if (!shapes.training) return share;
  const double merged = shapes.element * static_cast<double>(shapes.shard_tokens) *
                        static_cast<double>(vision.projector_in);
  const double inner = shapes.element * rows(shapes, vision.projector_inner / shapes.tp);
  // The norm's input and the first matrix's; the activation's input and the second matrix's.
  share.parts.emplace_back("projector_inputs", (vision.norm_width > 0 ? 2 : 1) * merged);
  share.parts.emplace_back("projector_inner", 2 * inner);
  for (const auto& part : share.parts) share.kept += part.second;
  share.checkpoint = share.kept;
  share.transient = inner;
  return share;
}

}  // namespace ergometer::workload
