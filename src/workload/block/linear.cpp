#include "workload/block/linear.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "workload/block/modules.h"
#include "workload/matrices.h"
#include "workload/storage.h"

namespace ergometer::workload {
namespace {

// TE splits a pipelined reduce-scatter in 4; the last piece has no GEMM left to hide behind.
constexpr double kExposedScatterShare = 0.25;

int64_t rows_per_group(const Linear& linear) {
  return std::max<int64_t>(
      1, static_cast<int64_t>(std::ceil(linear.rows / static_cast<double>(linear.groups))));
}

double weights(const Linear& linear, int64_t matrices) {
  return static_cast<double>(matrices) * static_cast<double>(linear.in) *
         static_cast<double>(linear.out);
}
double held_weights(const Linear& linear) { return weights(linear, linear.held); }
double read_weights(const Linear& linear) { return weights(linear, linear.groups); }

/// Transformer Engine's grouped linear layer runs one GEMM and one cast an expert, from a loop in
/// C++ that issues about four in the time of one PyTorch operator and spreads them over four
/// streams. What serves runs all experts in one kernel (vLLM's fused experts, DeepGEMM).
constexpr int64_t kExpertsALaunch = 4;

int launches(const BlockWriter& writer, const Linear& linear) {
  if (!linear.grouped || writer.job().is_inference()) return 1;
  return static_cast<int>((linear.groups + kExpertsALaunch - 1) / kExpertsALaunch);
}

double operand_bytes(const BlockWriter& writer, const Linear& linear) {
  return linear.fp8 ? writer.shapes().quantized_bytes : writer.shapes().element;
}

/// Of the input, as tensor parallelism sends it.
double sent_bytes(const BlockWriter& writer, const Linear& linear) {
  const double element = linear.fp8 ? writer.shapes().handed_bytes : writer.shapes().element;
  return element * linear.rows * static_cast<double>(linear.in);
}

/// A GEMM of the layer with everything but its shape and bytes filled in.
Operator gemm(const BlockWriter& writer, const Linear& linear, Pass pass, GemmLayout layout,
              const char* suffix) {
  Operator op;
  op.kind = linear.grouped ? OperatorKind::kGroupedGemm : OperatorKind::kGemm;
  op.pass = pass;
  op.module = linear.module;
  op.name = linear.name + suffix;
  op.layout = layout;
  op.groups = linear.grouped ? linear.groups : 1;
  op.kernels = launches(writer, linear);
  op.precision = linear.fp8 ? writer.shapes().quantized : writer.shapes().precision;
  op.flops = 2 * linear.rows * static_cast<double>(linear.in) * static_cast<double>(linear.out);
  op.model_flops = 2 * linear.model_rows * static_cast<double>(linear.in) * linear.model_out;
  return op;
}

/// Grouped experts are one operator; separate ones the same GEMM `groups` times.
void add_gemm(BlockWriter& writer, const Linear& linear, Operator op) {
  const int64_t times = linear.grouped ? 1 : linear.groups;
  op.flops /= static_cast<double>(times);
  op.model_flops /= static_cast<double>(times);
  op.bytes /= static_cast<double>(times);
  writer.add(std::move(op), Stream::kCompute, times);
}

/// bitsandbytes unpacks a matrix into a 16-bit one before every product with it: of eight bits by a
/// cast and a product with the rows' scales (autograd/_functions.py, MatMul8bitLt's backward).
/// Forward multiplies in eight bits with outliers apart, which takes about as long as 16 bits
/// (2208.07339, Table 2, for large matrices; assumed).
void unpack_weights(BlockWriter& writer, const Linear& linear, Pass pass) {
  if (!linear.quantized) return;
  const double element = writer.shapes().element;
  if (writer.job().training.quantize == spec::FrozenWeights::kInt8) {
    writer.memory({linear.module, linear.name + "_dequantize",
                   held_weights(linear) * (1 + element + 2 * element), 2, 0, true},
                  pass);
    return;
  }
  const double bytes = frozen_weight_bytes(writer.job().training.quantize) + element;
  writer.memory({linear.module, linear.name + "_unpack", held_weights(linear) * bytes, 1, 0, true},
                pass);
}

bool is_adapter(const Linear& linear) { return linear.name.find("_lora_") != std::string::npos; }

/// Autocast makes 16 bit of what the product reads. Backward has that copy still.
void cast_weights(BlockWriter& writer, const Linear& linear) {
  if (writer.shapes().autocast)
    writer.memory({linear.module, linear.name + "_weight_cast",
                   weight_cast_bytes(held_weights(linear)), launches(writer, linear), 0, true},
                  writer.pass());
}

/// Casts of what stands around the layer, with one product of ours for several of transformers.
void cast_input(BlockWriter& writer, const Linear& linear, bool backward) {
  if (!writer.shapes().modules || is_adapter(linear)) return;
  const double elements = linear.rows * static_cast<double>(linear.in);
  const ModuleWork work = backward ? module_input_casts_backward(writer, linear.name, elements)
                                   : module_input_casts(writer, linear.name, elements);
  if (work.moved.bytes > 0)
    writer.memory({linear.module, linear.name + (backward ? "_grad_cast" : "_input_cast"),
                   work.moved, work.kernels, 0, true},
                  backward ? Pass::kBackward : writer.pass());
}

void add_forward_gemm(BlockWriter& writer, const Linear& linear) {
  unpack_weights(writer, linear, writer.pass());
  cast_input(writer, linear, false);
  cast_weights(writer, linear);
  Operator op = gemm(writer, linear, writer.pass(), GemmLayout::kTn, "");
  op.m = rows_per_group(linear);
  op.n = linear.out;
  op.k = linear.in;
  op.bytes = operand_bytes(writer, linear) *
                 (linear.rows * static_cast<double>(linear.in) + read_weights(linear)) +
             writer.shapes().element * linear.rows * static_cast<double>(linear.out);
  add_gemm(writer, linear, std::move(op));
}

void add_dgrad(BlockWriter& writer, const Linear& linear) {
  unpack_weights(writer, linear, Pass::kBackward);
  Operator op = gemm(writer, linear, Pass::kBackward, GemmLayout::kNn, "_dgrad");
  op.m = rows_per_group(linear);
  op.n = linear.in;
  op.k = linear.out;
  op.bytes = operand_bytes(writer, linear) *
                 (linear.rows * static_cast<double>(linear.out) + read_weights(linear)) +
             writer.shapes().element * linear.rows * static_cast<double>(linear.in);
  add_gemm(writer, linear, std::move(op));
  cast_input(writer, linear, true);
}

/// PyTorch's own gradients: none is added up of a step's first micro batch.
void keep_gradient(BlockWriter& writer, const Linear& linear) {
  const Moved moved = weight_gradient_bytes(writer, held_weights(linear));
  if (moved.bytes > 0 && !scatters_gradients(writer.job()))
    writer.memory({linear.module, linear.name + "_grad_accumulate", moved, 1, 0, true},
                  Pass::kWeight);
}

void add_wgrad(BlockWriter& writer, const Linear& linear) {
  const Shapes& shapes = writer.shapes();
  const bool fused = writer.job().training.grad_accumulation_fusion;
  Operator op = gemm(writer, linear, Pass::kWeight, GemmLayout::kNt, "_wgrad");
  op.m = linear.out;
  op.n = linear.in;
  op.k = rows_per_group(linear);
  op.bytes =
      operand_bytes(writer, linear) * linear.rows * static_cast<double>(linear.in + linear.out) +
      (fused ? read_weights(linear) * 2 * shapes.gradient : held_weights(linear) * shapes.element);
  add_gemm(writer, linear, std::move(op));
  if (shapes.modules || shapes.autocast) return keep_gradient(writer, linear);
  if (!fused && !scatters_gradients(writer.job()))
    writer.memory({linear.module, linear.name + "_grad_accumulate",
                   held_weights(linear) * (shapes.element + 2 * shapes.gradient), 1, 0, true},
                  Pass::kWeight);
}

/// Transformer Engine quantizes the rows of each expert by themselves.
void cast(BlockWriter& writer, const Linear& linear, double rows, int64_t width, Pass pass) {
  const bool each = linear.grouped && writer.job().trains();
  writer.memory({linear.module, linear.name + "_fp8_cast",
                 rows * static_cast<double>(width) * fp8_cast_bytes(writer.job(), writer.shapes()),
                 cast_kernels(writer.job()) * launches(writer, linear),
                 each ? static_cast<int>(linear.groups) : 0, true},
                pass);
}

/// What the gradient of weights multiplies, quantized along its columns.
void cast_columns(BlockWriter& writer, const Linear& linear) {
  const double bytes = fp8_column_cast_bytes(writer.job());
  if (!linear.fp8 || bytes == 0) return;
  writer.memory({linear.module, linear.name + "_fp8_column_cast",
                 linear.rows * static_cast<double>(linear.in + linear.out) * bytes,
                 2 * 2 * launches(writer, linear), 0, true},
                Pass::kWeight);
}

/// The two narrow matrices beside an adapted layer, as layers of their own; never quantized, always
/// trained.
std::pair<Linear, Linear> adapter(const Linear& linear) {
  Linear down = linear, up = linear;
  down.fp8 = up.fp8 = false;
  down.quantized = up.quantized = false;
  down.name += "_lora_a";
  down.out = linear.lora_rank * linear.adapters.count;
  down.model_out = static_cast<double>(down.out);
  down.model_rows = linear.model_rows / linear.lora_in_repeats;
  up.name += "_lora_b";
  up.in = linear.lora_rank;
  up.out = linear.adapters.out;
  up.model_out *= static_cast<double>(up.out) / static_cast<double>(linear.out);
  up.model_rows = linear.model_rows / linear.lora_out_repeats;
  return {down, up};
}

/// The adapter's output added to the layer's, backward its input's gradient to the other's.
ModuleWork add_of_adapter(const BlockWriter& writer, const Linear& linear, bool backward) {
  const double in = linear.rows * static_cast<double>(linear.in),
               out = linear.rows * static_cast<double>(linear.adapters.out);
  if (writer.shapes().modules) return module_adapter(in, out, linear.adapters.count, backward);
  return {3 * writer.shapes().element * (backward ? in : out), 1};
}

void add_adapter_forward(BlockWriter& writer, const Linear& linear) {
  if (linear.lora_rank == 0) return;
  const auto [down, up] = adapter(linear);
  add_forward_gemm(writer, down);
  add_forward_gemm(writer, up);
  const ModuleWork add = add_of_adapter(writer, linear, false);
  writer.memory({linear.module, linear.name + "_lora_add", add.moved, add.kernels});
}

void add_adapter_backward(BlockWriter& writer, const Linear& linear) {
  if (linear.lora_rank == 0) return;
  const auto [down, up] = adapter(linear);
  add_dgrad(writer, up);
  add_wgrad(writer, up);
  add_dgrad(writer, down);
  add_wgrad(writer, down);
  const ModuleWork add = add_of_adapter(writer, linear, true);
  writer.memory({linear.module, linear.name + "_lora_add_dgrad", add.moved, add.kernels},
                Pass::kBackward);
}

bool has_wgrad(const BlockWriter& writer, const Linear& linear) {
  return !writer.shapes().lora || linear.lora_rank > 0;
}

void add_own_wgrad(BlockWriter& writer, const Linear& linear) {
  if (writer.shapes().lora) return;
  cast_columns(writer, linear);
  add_wgrad(writer, linear);
}

void tensor_collective(BlockWriter& writer, Module module, CollectiveKind kind, double bytes,
                       Stream stream, Pass pass) {
  const char* name = kind == CollectiveKind::kAllGather       ? "tp_all_gather"
                     : kind == CollectiveKind::kReduceScatter ? "tp_reduce_scatter"
                                                              : "tp_all_reduce";
  writer.collective({module, name, kind, GroupKind::kTensor, bytes, stream}, pass);
}

/// Runs a GEMM beside the gather of its own input: one rank's chunk must be there before it starts.
template <class Gemm>
void gather_pipelined(BlockWriter& writer, Module module, double bytes, Pass pass, Gemm&& run) {
  const double first = bytes / static_cast<double>(writer.shapes().tp);
  tensor_collective(writer, module, CollectiveKind::kAllGather, first, Stream::kCompute, pass);
  writer.join(Stream::kTensor, Stream::kCompute);
  tensor_collective(writer, module, CollectiveKind::kAllGather, bytes - first, Stream::kTensor,
                    pass);
  run();
  writer.join(Stream::kCompute, Stream::kTensor);
}

CollectiveKind reduction(const Shapes& shapes) {
  return shapes.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
}

}  // namespace

bool scatters_gradients(const spec::Job& job) {
  return job.training.framework == spec::Framework::kTorchFsdp &&
         job.training.reduce_every_micro_batch && job.parallelism.shards_gradients();
}

void adapt(const BlockWriter& writer, Linear& linear, int64_t keys) {
  if (!lora_adapts(writer.job(), writer.shapes().adapters, linear.name)) return;
  linear.lora_rank = writer.job().training.lora_rank;
  linear.adapters = adapters_of(writer.job(), linear.name, linear.out, keys);
}

Linear make_linear(const BlockWriter& writer, std::string name, Module module, int64_t in,
                   int64_t out) {
  Linear linear;
  linear.name = std::move(name);
  linear.module = module;
  linear.in = in;
  linear.out = out;
  linear.rows = linear.model_rows = static_cast<double>(writer.shapes().tokens);
  linear.model_out = static_cast<double>(out);
  linear.fp8 = writer.shapes().fp8;
  linear.quantized = keeps_quantized(writer.job().training, linear.name);
  return linear;
}

void linear_forward(BlockWriter& writer, const Linear& linear) {
  if (linear.fp8 && !linear.fused_cast) cast(writer, linear, linear.rows, linear.in, writer.pass());
  add_forward_gemm(writer, linear);
  add_adapter_forward(writer, linear);
}

void linear_backward(BlockWriter& writer, const Linear& linear) {
  if (linear.fp8 && !linear.fused_gradient_cast)
    cast(writer, linear, linear.rows, linear.out, Pass::kBackward);
  add_dgrad(writer, linear);
  add_own_wgrad(writer, linear);
  add_adapter_backward(writer, linear);
}

void linear_dgrad(BlockWriter& writer, const Linear& linear) { add_dgrad(writer, linear); }
void linear_wgrad(BlockWriter& writer, const Linear& linear) { add_own_wgrad(writer, linear); }

void tensor_gather(BlockWriter& writer, Module module, double bytes, Pass pass) {
  tensor_collective(writer, module, CollectiveKind::kAllGather, bytes, Stream::kCompute, pass);
}

void tensor_reduce(BlockWriter& writer, Module module, double bytes, Pass pass) {
  tensor_collective(writer, module, reduction(writer.shapes()), bytes, Stream::kCompute, pass);
}

void column_forward(BlockWriter& writer, const Linear& linear, bool gather) {
  const Shapes& shapes = writer.shapes();
  const bool gathers = gather && shapes.sequence_parallel;
  if (!gathers) return linear_forward(writer, linear);
  const bool casts = linear.fp8 && !linear.fused_cast;
  // The shard is quantized before it travels, so that FP8 halves the gather, unless what arrives
  // is: torchtitan's tensor parallelism sends 16 bit where scales are a row's
  // (torchtitan/models/llama3/infra/parallelize.py).
  const bool sends_narrow = shapes.handed_bytes < shapes.element;
  const auto cast_rows = [&](double rows) {
    if (casts) cast(writer, linear, rows, linear.in, writer.pass());
  };
  if (sends_narrow) cast_rows(linear.rows / static_cast<double>(shapes.tp));
  const double bytes = sent_bytes(writer, linear);
  const auto multiply = [&] {
    if (!sends_narrow) cast_rows(linear.rows);
    add_forward_gemm(writer, linear);
  };
  if (linear.overlap) {
    gather_pipelined(writer, linear.module, bytes, writer.pass(), multiply);
  } else {
    tensor_gather(writer, linear.module, bytes, writer.pass());
    multiply();
  }
  add_adapter_forward(writer, linear);
}

// The order of Megatron-Core's LinearWithGradAccumulationAndAsyncCommunication: the input is
// gathered again beside dgrad, the input's gradient is reduced beside wgrad. TE's bulk overlap has
// the same shape.
void column_backward(BlockWriter& writer, const Linear& linear, ColumnBackward options) {
  const Shapes& shapes = writer.shapes();
  const bool wgrad = has_wgrad(writer, linear);
  const bool gathers = options.gather && shapes.sequence_parallel && wgrad;
  const bool reduces = options.reduce && shapes.tp > 1;
  const double gather_bytes = sent_bytes(writer, linear);
  const double reduce_bytes = shapes.element * linear.rows * static_cast<double>(linear.in);
  if (linear.fp8) cast(writer, linear, linear.rows, linear.out, Pass::kBackward);
  if (gathers) {
    writer.join(Stream::kTensor, Stream::kCompute);
    tensor_collective(writer, linear.module, CollectiveKind::kAllGather, gather_bytes,
                      Stream::kTensor, Pass::kWeight);
  }
  add_dgrad(writer, linear);
  if (gathers) writer.join(Stream::kCompute, Stream::kTensor);
  add_adapter_backward(writer,
                       linear);  // its share of the input's gradient belongs to the sum below
  if (options.add_to_gradient)
    writer.memory({linear.module, "branch_grad_add", 3 * reduce_bytes}, Pass::kBackward);
  if (reduces) {
    writer.join(Stream::kTensor, Stream::kCompute);
    tensor_collective(writer, linear.module, reduction(shapes), reduce_bytes, Stream::kTensor,
                      Pass::kBackward);
  }
  add_own_wgrad(writer, linear);
  if (reduces) writer.join(Stream::kCompute, Stream::kTensor);
}

void row_forward(BlockWriter& writer, const Linear& linear, bool reduce) {
  const Shapes& shapes = writer.shapes();
  const double bytes = shapes.element * linear.rows * static_cast<double>(linear.out);
  if (!reduce || !linear.overlap || !shapes.sequence_parallel) {
    linear_forward(writer, linear);
    if (reduce) tensor_reduce(writer, linear.module, bytes, writer.pass());
    return;
  }
  if (linear.fp8 && !linear.fused_cast) cast(writer, linear, linear.rows, linear.in, writer.pass());
  const double exposed = bytes * kExposedScatterShare;
  writer.join(Stream::kTensor, Stream::kCompute);
  tensor_collective(writer, linear.module, CollectiveKind::kReduceScatter, bytes - exposed,
                    Stream::kTensor, writer.pass());
  add_forward_gemm(writer, linear);
  writer.join(Stream::kCompute, Stream::kTensor);
  add_adapter_forward(writer, linear);
  tensor_collective(writer, linear.module, CollectiveKind::kReduceScatter, exposed,
                    Stream::kCompute, writer.pass());
}

void row_backward(BlockWriter& writer, const Linear& linear, bool gather) {
  const Shapes& shapes = writer.shapes();
  if (!gather || !shapes.sequence_parallel) return linear_backward(writer, linear);
  const double bytes = shapes.element * linear.rows * static_cast<double>(linear.out);
  if (!linear.overlap) {
    tensor_gather(writer, linear.module, bytes, Pass::kBackward);
    return linear_backward(writer, linear);
  }
  if (linear.fp8) cast(writer, linear, linear.rows, linear.out, Pass::kBackward);
  gather_pipelined(writer, linear.module, bytes, Pass::kBackward,
                   [&] { add_dgrad(writer, linear); });
  add_own_wgrad(writer, linear);
  add_adapter_backward(writer, linear);
}

}  // namespace ergometer::workload
