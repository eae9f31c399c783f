#include "workload/block/mlp.h"

#include <string>

#include "workload/block/linear.h"
#include "workload/matrices.h"

namespace ergometer::workload {
namespace {

/// A dense MLP or a shared expert: the same operators under other names and widths.
struct MlpPart {
  std::string prefix;
  Module module = Module::kMlp;
  int64_t ffn = 0;  ///< one branch, on this rank
  bool overlap = false;
};

MlpPart dense_part(const BlockWriter& writer) {
  const Shapes& shapes = writer.shapes();
  return {"", Module::kMlp, writer.model().ffn / shapes.tp,
          writer.job().training.overlap_tp && shapes.sequence_parallel};
}

MlpPart shared_part(const BlockWriter& writer) {
  return {"shared_", Module::kMoe, writer.model().experts.shared_ffn / writer.shapes().tp, false};
}

Linear fc1(const BlockWriter& writer, const MlpPart& part) {
  Linear linear = make_linear(writer, part.prefix + "fc1", part.module, writer.shapes().hidden,
                              (writer.model().gated ? 2 : 1) * part.ffn);
  linear.fused_cast =
      part.module == Module::kMlp && writer.job().training.fp8_recipe == spec::Fp8Recipe::kDelayed;
  linear.overlap = part.overlap;
  adapt(writer, linear);
  linear.lora_in_repeats = static_cast<double>(writer.shapes().tp);
  return linear;
}

Linear fc2(const BlockWriter& writer, const MlpPart& part) {
  Linear linear =
      make_linear(writer, part.prefix + "fc2", part.module, part.ffn, writer.shapes().hidden);
  linear.overlap = part.overlap;
  adapt(writer, linear);
  linear.lora_out_repeats = static_cast<double>(writer.shapes().tp);
  return linear;
}

double elements(const BlockWriter& writer, const MlpPart& part) {
  return static_cast<double>(writer.shapes().tokens * part.ffn);
}

void first_forward(BlockWriter& writer, const MlpPart& part, MlpEdges edges) {
  column_forward(writer, fc1(writer, part), edges.gather);
  const ModuleWork work = activation_work(writer, elements(writer, part), false);
  writer.memory({part.module, part.prefix + "activation", work.moved, work.kernels});
}

void second_backward(BlockWriter& writer, const MlpPart& part, MlpEdges edges) {
  row_backward(writer, fc2(writer, part), edges.reduce);
  const ModuleWork work = activation_work(writer, elements(writer, part), true);
  writer.memory({part.module, part.prefix + "activation_backward", work.moved, work.kernels},
                Pass::kBackward);
}

/// Qwen2-MoE scales the shared expert by a learned sigmoid of the token: one dot product and one
/// product a token.
void shared_gate(BlockWriter& writer, Pass pass) {
  const Shapes& shapes = writer.shapes();
  if (!writer.model().experts.shared_gate) return;
  const bool backward = pass == Pass::kBackward;
  writer.memory({Module::kMoe, backward ? "shared_gate_backward" : "shared_gate",
                 (backward ? 5 : 3) * shapes.element *
                     static_cast<double>(shapes.shard_tokens * shapes.hidden),
                 3},
                pass);
}

}  // namespace

ModuleWork activation_work(const BlockWriter& writer, double elements, bool backward) {
  if (writer.shapes().modules) return module_activation(writer, elements, backward);
  const bool gated = writer.model().gated;
  const int passes = backward ? (gated ? 5 : 3) : (gated ? 3 : 2);
  return {passes * writer.shapes().element * elements, 1};
}

void mlp_forward(BlockWriter& writer, MlpEdges edges) {
  const MlpPart part = dense_part(writer);
  first_forward(writer, part, edges);
  row_forward(writer, fc2(writer, part), edges.reduce);
}

void mlp_backward(BlockWriter& writer, MlpEdges edges) {
  if (recomputes(writer.job(), "mlp")) {
    BlockWriter again = writer.recomputing();
    mlp_forward(again, edges);
  }
  const MlpPart part = dense_part(writer);
  second_backward(writer, part, edges);
  column_backward(writer, fc1(writer, part), {edges.gather, edges.reduce_gradient, false});
}

void shared_first_forward(BlockWriter& writer) { first_forward(writer, shared_part(writer), {}); }

void shared_second_forward(BlockWriter& writer) {
  row_forward(writer, fc2(writer, shared_part(writer)));
  shared_gate(writer, writer.pass());
}

void shared_second_backward(BlockWriter& writer) {
  if (recomputes(writer.job(), "shared_experts") && !recomputes(writer.job(), "moe")) {
    BlockWriter again = writer.recomputing();
    shared_first_forward(again);
    shared_second_forward(again);
  }
  shared_gate(writer, Pass::kBackward);
  second_backward(writer, shared_part(writer), {});
}

void shared_first_backward(BlockWriter& writer) {
  column_backward(writer, fc1(writer, shared_part(writer)));
}

}  // namespace ergometer::workload
