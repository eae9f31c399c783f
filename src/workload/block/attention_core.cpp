#include <algorithm>
#include <cmath>
#include <utility>

#include "workload/block/attention.h"
#include "workload/block/modules.h"

// FLOPs: scores and values are two products forward; backward is five (the scores once more, and
// two gradients of each product), so 2.5 times forward executed, 2 times by the convention.
//
// HBM bytes of the fused kernels: forward reads q, k, v and writes o and the log-sum-exp (LSE,
// FP32, one a row). Backward reads q, k, v, o, do, LSE and writes dq, dk, dv; before it, a kernel
// reads o and do for their row sums; FlashAttention keeps dq in FP32 (written) and converts it
// after (read). References: FlashAttention-2 (2307.08691).
namespace ergometer::workload {
namespace {

/// One kernel call's part of the core.
struct Part {
  int64_t queries = 0, keys = 0, heads = 0, kv_heads = 0;
  bool causal = true;
  double share = 1;           ///< of the rank's FLOPs
  bool value_in_key = false;  ///< the value is the key's first part: one is read for both
};

struct CoreBytes {
  double q = 0, k = 0, v = 0, o = 0, lse = 0, scores = 0;
};

CoreBytes core_bytes(const Shapes& shapes, const Part& part, int64_t window) {
  const double batch = static_cast<double>(shapes.batch);
  const double rows = batch * static_cast<double>(part.queries * part.heads);
  double keys = static_cast<double>(part.keys);
  if (!shapes.causal && window > 0) keys = std::fmin(keys, static_cast<double>(window));
  const double columns = batch * keys * static_cast<double>(part.kv_heads);
  CoreBytes bytes;
  bytes.q = shapes.element * rows * static_cast<double>(shapes.qk_dim);
  bytes.o = shapes.element * rows * static_cast<double>(shapes.v_dim);
  bytes.k = shapes.element * columns * static_cast<double>(shapes.qk_dim);
  bytes.v = part.value_in_key ? 0 : shapes.element * columns * static_cast<double>(shapes.v_dim);
  bytes.lse = 4 * rows;
  bytes.scores = shapes.element * rows * keys;
  return bytes;
}

double convention_pairs(const BlockWriter& writer, int64_t window) {
  const Shapes& shapes = writer.shapes();
  const bool both_sides = shapes.causal && writer.job().training.attention_flops_full;
  return (both_sides ? 2 : 1) * attention_pairs(shapes, window);
}

/// 2 * batch * heads of the rank, the factor of every product's FLOPs.
double product_factor(const Shapes& shapes) {
  return 2 * static_cast<double>(shapes.batch) * static_cast<double>(shapes.heads);
}

Operator core_operator(const BlockWriter& writer, const Part& part, Pass pass, std::string name) {
  const Shapes& shapes = writer.shapes();
  Operator op;
  op.kind = OperatorKind::kAttention;
  op.pass = pass;
  op.module = Module::kAttention;
  op.name = std::move(name);
  op.precision = writer.job().training.fp8_attention ? spec::Precision::kFp8 : shapes.precision;
  op.attention = {
      shapes.batch, part.heads,  part.kv_heads,           part.queries, part.keys, shapes.qk_dim,
      shapes.v_dim, part.causal, pass == Pass::kBackward, true};
  op.attention.sinks = writer.model().attention_sinks;
  return op;
}

void fused_forward(BlockWriter& writer, const Part& part, int64_t window) {
  const Shapes& shapes = writer.shapes();
  const CoreBytes bytes = core_bytes(shapes, part, window);
  const double dims = static_cast<double>(shapes.qk_dim + shapes.v_dim);
  Operator op = core_operator(writer, part, writer.pass(), "core_attention");
  op.attention.window = window;
  op.attention.masked = masked_window(shapes, window);
  op.flops = product_factor(shapes) * dims * executed_pairs(shapes, window) * part.share;
  op.model_flops = product_factor(shapes) * dims * convention_pairs(writer, window) * part.share;
  op.bytes = bytes.q + bytes.k + bytes.v + bytes.o + bytes.lse;
  writer.add(std::move(op));
}

void fused_backward(BlockWriter& writer, const Part& part, int64_t window) {
  const Shapes& shapes = writer.shapes();
  const CoreBytes bytes = core_bytes(shapes, part, window);
  const double dims = static_cast<double>(shapes.qk_dim + shapes.v_dim);
  Operator op = core_operator(writer, part, Pass::kBackward, "core_attention_backward");
  op.attention.window = window;
  op.attention.masked = masked_window(shapes, window);
  op.flops = 2.5 * product_factor(shapes) * dims * executed_pairs(shapes, window) * part.share;
  op.model_flops =
      2 * product_factor(shapes) * dims * convention_pairs(writer, window) * part.share;
  const double dq_fp32 = 4 * bytes.q / shapes.element;
  op.bytes = 2 * (bytes.q + bytes.k + bytes.v) + 2 * bytes.o + bytes.lse /* main kernel */ +
             2 * bytes.o /* row sums */ + 2 * dq_fp32;
  op.kernels = part.kv_heads < part.heads
                   ? 4
                   : 3;  // row sums, main, conversion; dk and dv summed over a group
  writer.add(std::move(op));
}

/// Score or value product of unfused attention: one batched GEMM, no causal skipping.
void unfused_product(BlockWriter& writer, const Part& part, int64_t window, Pass pass,
                     const char* name, int64_t dim, double bytes, double products) {
  const Shapes& shapes = writer.shapes();
  const double square =
      static_cast<double>(shapes.query_length) * static_cast<double>(shapes.key_length);
  Operator op = core_operator(writer, part, pass, name);
  op.attention.fused = false;
  op.flops = products * product_factor(shapes) * static_cast<double>(dim) * square * part.share;
  op.model_flops = products * product_factor(shapes) * static_cast<double>(dim) *
                   convention_pairs(writer, window) * part.share;
  op.bytes = bytes;
  op.kernels = static_cast<int>(products);
  writer.add(std::move(op));
}

/// `scores`: bytes of the square, once.
ModuleWork softmax_work(const BlockWriter& writer, double scores, bool backward) {
  if (writer.shapes().modules)
    return module_softmax(writer, scores / writer.shapes().element, backward);
  return {(backward ? 3 : 2) * scores, 1};
}

void cap_scores(BlockWriter& writer, double scores, bool backward) {
  if (!writer.model().capped_scores || !writer.shapes().modules) return;
  const ModuleWork cap = module_cap(writer, scores / writer.shapes().element, backward);
  writer.memory({Module::kAttention, backward ? "score_cap_backward" : "score_cap", cap.moved,
                 cap.kernels, 0, true},
                backward ? Pass::kBackward : writer.pass());
}

void unfused_forward(BlockWriter& writer, const Part& part, int64_t window) {
  const Shapes& shapes = writer.shapes();
  const CoreBytes bytes = core_bytes(shapes, part, window);
  const Pass pass = writer.pass();
  unfused_product(writer, part, window, pass, "attention_scores", shapes.qk_dim,
                  bytes.q + bytes.k + bytes.scores, 1);
  cap_scores(writer, bytes.scores, false);
  const ModuleWork softmax = softmax_work(writer, bytes.scores, false);
  writer.memory({Module::kAttention, "softmax", softmax.moved, softmax.kernels, 0, true});
  if (writer.model().dropout > 0)
    writer.memory(
        {Module::kAttention, "attention_dropout", bytes.scores * (2 + 1 / shapes.element)});
  unfused_product(writer, part, window, pass, "attention_values", shapes.v_dim,
                  bytes.scores + bytes.v + bytes.o, 1);
}

void unfused_backward(BlockWriter& writer, const Part& part, int64_t window) {
  const Shapes& shapes = writer.shapes();
  const CoreBytes bytes = core_bytes(shapes, part, window);
  const Pass pass = Pass::kBackward;
  unfused_product(writer, part, window, pass, "attention_values_backward", shapes.v_dim,
                  2 * (bytes.scores + bytes.v + bytes.o), 2);
  if (writer.model().dropout > 0)
    writer.memory(
        {Module::kAttention, "attention_dropout_backward", bytes.scores * (2 + 1 / shapes.element)},
        pass);
  const ModuleWork softmax = softmax_work(writer, bytes.scores, true);
  writer.memory({Module::kAttention, "softmax_backward", softmax.moved, softmax.kernels, 0, true},
                pass);
  cap_scores(writer, bytes.scores, true);
  unfused_product(writer, part, window, pass, "attention_scores_backward", shapes.qk_dim,
                  2 * (bytes.scores + bytes.q + bytes.k), 2);
}

void run_forward(BlockWriter& writer, const Part& part, int64_t window) {
  if (spec::is_fused(writer.job().training.attention)) return fused_forward(writer, part, window);
  unfused_forward(writer, part, window);
}

void run_backward(BlockWriter& writer, const Part& part, int64_t window) {
  if (spec::is_fused(writer.job().training.attention)) return fused_backward(writer, part, window);
  unfused_backward(writer, part, window);
}

Part whole(const Shapes& shapes) {
  return {shapes.query_length, shapes.key_length, shapes.heads, shapes.kv_heads, shapes.causal, 1};
}

/// Bytes of this rank's own keys and values.
double key_value_bytes(const Shapes& shapes) {
  return shapes.element * static_cast<double>(shapes.tokens) *
         static_cast<double>(shapes.kv_heads) * static_cast<double>(shapes.qk_dim + shapes.v_dim);
}
double query_bytes(const Shapes& shapes) {
  return shapes.element * static_cast<double>(shapes.tokens * shapes.heads * shapes.qk_dim);
}
double output_bytes(const Shapes& shapes) {
  return shapes.element * static_cast<double>(shapes.tokens * shapes.heads * shapes.v_dim);
}

/// Step `i` of the ring. Ranks hold chunks i and 2c-1-i of the sequence, so every step is half a
/// square: the rank's own block under the causal mask, all others without.
Part ring_part(const Shapes& shapes, int64_t i) {
  const int64_t own = shapes.query_length;
  const double share = 1.0 / static_cast<double>(shapes.cp);
  if (i == 0) return {own, own, shapes.heads, shapes.kv_heads, true, share};
  return {own, own / 2, shapes.heads, shapes.kv_heads, false, share};
}

void exchange(BlockWriter& writer, double bytes, Pass pass) {
  writer.collective({Module::kAttention, "cp_send_recv", CollectiveKind::kSendRecv,
                     GroupKind::kContext, bytes, Stream::kContext},
                    pass);
}

/// Each step attends to the block that the exchange of the step before has brought; the next
/// travels meanwhile.
void ring_forward(BlockWriter& writer, int64_t window) {
  const Shapes& shapes = writer.shapes();
  writer.join(Stream::kContext, Stream::kCompute);
  for (int64_t i = 0; i < shapes.cp; ++i) {
    if (i + 1 < shapes.cp) exchange(writer, key_value_bytes(shapes), writer.pass());
    run_forward(writer, ring_part(shapes, i), window);
    writer.join(Stream::kCompute, Stream::kContext);
  }
}

/// Keys and values go round once more, the gradients of the step before follow them one step later.
void ring_backward(BlockWriter& writer, int64_t window) {
  const Shapes& shapes = writer.shapes();
  for (int64_t i = 0; i < shapes.cp; ++i) {
    const double sends = (i + 1 < shapes.cp ? 1 : 0) + (i > 0 ? 1 : 0);
    writer.join(Stream::kContext, Stream::kCompute);
    exchange(writer, sends * key_value_bytes(shapes), Pass::kBackward);
    run_backward(writer, ring_part(shapes, shapes.cp - 1 - i), window);
    writer.join(Stream::kCompute, Stream::kContext);
  }
}

void all_to_all(BlockWriter& writer, double bytes, Pass pass) {
  writer.collective({Module::kAttention, "cp_all_to_all", CollectiveKind::kAllToAll,
                     GroupKind::kContext, bytes, Stream::kCompute},
                    pass);
}

/// Ulysses: heads instead of tokens are divided inside the core.
Part head_part(const Shapes& shapes) {
  return {shapes.key_length,
          shapes.key_length,
          shapes.heads / shapes.cp,
          std::max<int64_t>(1, shapes.kv_heads / shapes.cp),
          shapes.causal,
          1};
}

void gather_keys(BlockWriter& writer, Pass pass) {
  const Shapes& shapes = writer.shapes();
  writer.collective({Module::kAttention, "cp_all_gather", CollectiveKind::kAllGather,
                     GroupKind::kContext, key_value_bytes(shapes) * static_cast<double>(shapes.cp)},
                    pass);
}

}  // namespace

void absorbed_core(BlockWriter& writer, int64_t window) {
  const spec::LatentAttention& mla = writer.model().latent;
  Shapes shapes = writer.shapes();
  shapes.kv_heads = 1;
  shapes.qk_dim = mla.kv_rank + mla.qk_rope_dim;
  shapes.v_dim = mla.kv_rank;
  Part part = whole(shapes);
  part.value_in_key = true;
  BlockWriter core = writer.shaped(shapes);
  run_forward(core, part, window);
}

void attention_core_forward(BlockWriter& writer, int64_t window) {
  const Shapes& shapes = writer.shapes();
  if (shapes.cp == 1 || !shapes.causal) return run_forward(writer, whole(shapes), window);
  switch (writer.job().parallelism.cp_comm) {
    case spec::CpComm::kP2p: return ring_forward(writer, window);
    case spec::CpComm::kAllGather:
      gather_keys(writer, writer.pass());
      return run_forward(writer, whole(shapes), window);
    case spec::CpComm::kAllToAll:
      all_to_all(writer, query_bytes(shapes) + key_value_bytes(shapes), writer.pass());
      run_forward(writer, head_part(shapes), window);
      return all_to_all(writer, output_bytes(shapes), writer.pass());
  }
}

void attention_core_backward(BlockWriter& writer, int64_t window) {
  const Shapes& shapes = writer.shapes();
  if (shapes.cp == 1) return run_backward(writer, whole(shapes), window);
  switch (writer.job().parallelism.cp_comm) {
    case spec::CpComm::kP2p: return ring_backward(writer, window);
    case spec::CpComm::kAllGather:
      gather_keys(writer, Pass::kBackward);
      run_backward(writer, whole(shapes), window);
      return writer.collective(
          {Module::kAttention, "cp_reduce_scatter", CollectiveKind::kReduceScatter,
           GroupKind::kContext, key_value_bytes(shapes) * static_cast<double>(shapes.cp)},
          Pass::kBackward);
    case spec::CpComm::kAllToAll:
      all_to_all(writer, output_bytes(shapes), Pass::kBackward);
      run_backward(writer, head_part(shapes), window);
      return all_to_all(writer, query_bytes(shapes) + key_value_bytes(shapes), Pass::kBackward);
  }
}

}  // namespace ergometer::workload
