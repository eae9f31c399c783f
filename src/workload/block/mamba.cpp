#include "workload/block/mamba.h"

#include <algorithm>

#include "workload/block/linear.h"

// A Mamba-2 mixer (2405.21060) as the Triton kernels of state-spaces/mamba run it, and gated
// DeltaNet (2412.06464), whose operators have the same shapes.
//
// The scan works on chunks of Q tokens. Per token, with H heads of P channels, G groups and states
// of N, all on this rank, it multiplies
//
//   C B' inside the chunk              2 Q N G
//   that by the values                 2 Q P H   (half of it masked, computed all the same)
//   the chunk's state, and its output  4 N P H
//
// DeltaNet solves a triangular system of Q keys for every head besides and updates the state with
// the corrected values: 2 Q N H (keys with keys), 2 Q (N + P) H (inverse times keys and values) and
// 2 N P H.
//
// HBM sees the inputs x, B, C, dt and the gate, the output, and the chunks' states, H P N numbers a
// chunk: written in FP32 after the first kernel, read and rewritten in 16 bit by the pass that
// carries them from chunk to chunk, read by the last: 2.5 FP32 passes forward. Backward computes
// convolution and states once more, reads inputs, output and gradient, and carries the states'
// gradients back: thrice the FLOPs, inputs and outputs thrice, 6 passes over states.
//
// Decoding takes one step of the recurrence instead: every sequence's state and the last inputs of
// its convolution are read and written (selective_state_update, causal_conv1d_update), in 16 bit.
//
// Worked: Nemotron 3 Nano, H 64, P 64, G 8, N 128, Q 128: 2*128*128*8 + 2*128*64*64 + 4*128*64*64 =
// 3,407,872 FLOPs a token; states 64*64*128*4/128 = 16,384 bytes a token and pass.
namespace ergometer::workload {
namespace {

constexpr double kForwardStatePasses = 2.5, kBackwardStatePasses = 6;
constexpr double kBackwardWork = 3;    ///< FLOPs against forward, the recomputed scan included
constexpr double kBackwardTokens = 3;  ///< passes over inputs and outputs against forward
constexpr int kScanKernels = 5;        ///< cumulative sum, states, carry, C B', output

bool decodes(const BlockWriter& writer) {
  return writer.job().training.mode == spec::Mode::kDecode;
}

Linear in_projection(const BlockWriter& writer) {
  const Shapes& shapes = writer.shapes();
  const StateSpaceShapes rank = state_space_shapes(writer.model(), shapes);
  Linear linear = make_linear(writer, "in_proj", Module::kMamba, shapes.hidden, rank.in_width);
  linear.model_out =
      static_cast<double>(writer.model().state_space.in_width()) / static_cast<double>(shapes.tp);
  linear.fused_cast = writer.job().training.fp8_recipe == spec::Fp8Recipe::kDelayed;
  linear.overlap = writer.job().training.overlap_tp && shapes.sequence_parallel;
  return linear;
}

Linear out_projection(const BlockWriter& writer) {
  const Shapes& shapes = writer.shapes();
  Linear linear = make_linear(writer, "out_proj", Module::kMamba,
                              state_space_shapes(writer.model(), shapes).inner, shapes.hidden);
  linear.overlap = writer.job().training.overlap_tp && shapes.sequence_parallel;
  return linear;
}

double rank_bytes(const BlockWriter& writer, int64_t width) {
  return writer.shapes().element * static_cast<double>(writer.shapes().tokens * width);
}

/// Context parallelism divides heads instead of tokens between the projections.
void swap_heads_and_tokens(BlockWriter& writer, int64_t width, Pass pass) {
  writer.collective({Module::kMamba, "cp_all_to_all", CollectiveKind::kAllToAll,
                     GroupKind::kContext, rank_bytes(writer, width)},
                    pass);
}

void scan(BlockWriter& writer, const char* name, Pass pass, double work, double model_work,
          double tokens, double states) {
  const ScanWork scan = scan_work(writer.model(), writer.shapes());
  Operator op;
  op.kind = OperatorKind::kMemory;
  op.pass = pass;
  op.module = Module::kMamba;
  op.name = name;
  op.precision = writer.shapes().precision;
  op.flops = work * scan.flops;
  op.model_flops = model_work * scan.model_flops;
  op.bytes = tokens * scan.token_bytes + states * scan.state_bytes;
  op.kernels = static_cast<int>(work * kScanKernels);
  writer.add(std::move(op));
}

void state_update(BlockWriter& writer) {
  const ScanWork scan = scan_work(writer.model(), writer.shapes());
  const StateSpaceShapes rank = state_space_shapes(writer.model(), writer.shapes());
  const spec::StateSpace& ssm = writer.model().state_space;
  const double share = 1 / static_cast<double>(writer.shapes().cp);
  constexpr double kReadAndWritten = 2;
  writer.memory({Module::kMamba, "causal_conv1d_update",
                 share * kReadAndWritten * static_cast<double>(1 + ssm.conv_width) *
                     rank_bytes(writer, rank.channels)});
  Operator op;
  op.kind = OperatorKind::kMemory;
  op.pass = writer.pass();
  op.module = Module::kMamba;
  op.name = "state_update";
  op.precision = writer.shapes().precision;
  op.flops = op.model_flops = share * scan.model_flops;
  op.bytes =
      share * (scan.token_bytes + kReadAndWritten * rank_bytes(writer, rank.inner * ssm.state));
  writer.add(std::move(op));
}

/// The norm reads the scan's output and the gate and writes the product.
void gated_norm(BlockWriter& writer, const char* name, double passes, Pass pass) {
  const StateSpaceShapes rank = state_space_shapes(writer.model(), writer.shapes());
  writer.memory({Module::kMamba, name, passes * rank_bytes(writer, rank.inner)}, pass);
}

}  // namespace

StateSpaceShapes state_space_shapes(const spec::Model& model, const Shapes& shapes) {
  const spec::StateSpace& ssm = model.state_space;
  StateSpaceShapes rank;
  rank.heads = ssm.heads / shapes.tp;
  rank.groups = std::max<int64_t>(1, ssm.groups / shapes.tp);
  rank.inner = rank.heads * ssm.head_dim;
  rank.channels = rank.inner + 2 * rank.groups * ssm.state;
  rank.in_width = rank.inner + rank.channels + (ssm.delta_rule ? 2 : 1) * rank.heads;
  return rank;
}

ScanWork scan_work(const spec::Model& model, const Shapes& shapes) {
  const spec::StateSpace& ssm = model.state_space;
  const StateSpaceShapes rank = state_space_shapes(model, shapes);
  const double n = static_cast<double>(shapes.tokens), chunk = static_cast<double>(ssm.chunk);
  const double inner = static_cast<double>(rank.inner), state = static_cast<double>(ssm.state);
  const double heads = static_cast<double>(rank.heads);
  const double shared = static_cast<double>(rank.groups) * state;
  ScanWork work;
  work.flops = n * (2 * chunk * shared + 2 * chunk * inner + 4 * state * inner);
  if (ssm.delta_rule)
    work.flops +=
        n * (2 * chunk * heads * state + 2 * chunk * (heads * state + inner) + 2 * state * inner);
  work.model_flops =
      7 * n * static_cast<double>(ssm.inner()) * state / static_cast<double>(shapes.tp);
  // x, B, C, dt (FP32) and gate in, y out.
  work.token_bytes = n * (shapes.element * (3 * inner + 2 * shared) + 4 * heads);
  work.state_bytes = 4 * n / chunk * inner * state;
  return work;
}

void state_space_forward(BlockWriter& writer) {
  const StateSpaceShapes rank = state_space_shapes(writer.model(), writer.shapes());
  column_forward(writer, in_projection(writer));
  swap_heads_and_tokens(writer, rank.in_width, writer.pass());
  if (decodes(writer)) {
    state_update(writer);
  } else {
    writer.memory({Module::kMamba, "causal_conv1d", 2 * rank_bytes(writer, rank.channels)});
    scan(writer, "chunk_scan", writer.pass(), 1, 1, 1, kForwardStatePasses);
  }
  swap_heads_and_tokens(writer, rank.inner, writer.pass());
  gated_norm(writer, "gated_norm", 3, writer.pass());
  row_forward(writer, out_projection(writer));
}

void state_space_backward(BlockWriter& writer) {
  const StateSpaceShapes rank = state_space_shapes(writer.model(), writer.shapes());
  row_backward(writer, out_projection(writer));
  gated_norm(writer, "gated_norm_backward", 5, Pass::kBackward);
  swap_heads_and_tokens(writer, rank.inner, Pass::kBackward);
  writer.memory({Module::kMamba, "causal_conv1d", 2 * rank_bytes(writer, rank.channels)},
                Pass::kBackward);
  scan(writer, "chunk_scan_backward", Pass::kBackward, kBackwardWork, 2, kBackwardTokens,
       kBackwardStatePasses);
  writer.memory({Module::kMamba, "causal_conv1d_backward", 3 * rank_bytes(writer, rank.channels)},
                Pass::kBackward);
  swap_heads_and_tokens(writer, rank.in_width, Pass::kBackward);
  column_backward(writer, in_projection(writer));
}

}  // namespace ergometer::workload
