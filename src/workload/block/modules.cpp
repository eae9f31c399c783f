#include "workload/block/modules.h"

#include "workload/matrices.h"

// The operators are counted from huggingface/transformers 5 (modeling_llama.py, modeling_gpt2.py,
// activations.py, integrations/moe.py), huggingface/peft (tuners/lora/layer.py) and PyTorch's
// autocast, which multiplies in 16 bit and does norms, powers and sums in FP32. Times of each on
// one H100, PyTorch 2.11: tests/data/trainer. With e bytes an element, kernels that stream
// reach 3.0 of its 3.35 TB/s; the others count, for each byte,
//
//   kWiden      1.6   16 bit to FP32 (1.9 TB/s)
//   kSlow       2.4   16 bit, one operand broadcast or transposed (1.2 to 1.45 TB/s)
//   kBroadcast  1.33  FP32, one operand broadcast (2.25 TB/s); kernels that sum rows as well
//   kColumn     2.1   16 bit, a mask or weight of each row (1.37 to 1.55 TB/s); rows put in
//                     another order (1.45 to 1.6)
//   kHalves     1.5   16 bit, one operand half of a wider tensor (1.8 to 2.04 TB/s)
//
// They are bound by what the SMs issue, too few bytes at a time: on an H200, whose memory is 1.43
// times as fast, those that stream take 1.40 to 1.43 times less, these 1.00 to 1.11 (kernels.csv of
// the same jobs on both).
//
// Worked: the norm of Llama in 16 bit, forward, an element: to FP32 6 x 1.6, its square 8, the sum
// 4 x 1.33, times the root 8 x 1.33, to 16 bit 6, times the weight 4 x 2.4: 49 bytes; measured 16
// fs at 3.0 TB/s, 48. A fused kernel takes 4.
namespace ergometer::workload {
namespace {

/// How many times longer than streaming its bytes a kernel takes.
struct Slower {
  double times = 1;
};
constexpr Moved operator*(double bytes, Slower slower) {
  return {bytes * slower.times, bytes * slower.times};
}

constexpr Slower kWiden{1.6}, kSlow{2.4}, kBroadcast{1.33}, kColumn{2.1}, kHalves{1.5};
constexpr Moved kToFp32 = 6 * kWiden;   // read 2 and write 4
constexpr double kToNarrow = 6;         // or the other way
constexpr double kPass = 8, kSum = 12;  // FP32: read and write; of two operands

bool trained(const BlockWriter& writer) { return !writer.shapes().lora; }

double stream(const BlockWriter& writer) { return writer.shapes().stream; }

bool narrow(const BlockWriter& writer) { return stream(writer) < 4; }

/// Training in FP32 casts nothing.
bool casts(const BlockWriter& writer) { return writer.shapes().element < 4; }
Moved widened(const BlockWriter& writer) { return casts(writer) ? kToFp32 : Moved(); }
double narrowed(const BlockWriter& writer) { return casts(writer) ? kToNarrow : 0; }

/// A product with a vector that all rows share.
Moved scaled_bytes(const BlockWriter& writer) {
  return 2 * stream(writer) * (narrow(writer) ? kSlow : kBroadcast);
}

/// GELU's polynomial under its hyperbolic tangent written out ("gelu_new"): a power, which autocast
/// does in FP32, and seven sums and products.
constexpr Moved kWrittenGelu = 4 + kToFp32 + 2 * kPass + 10 + 3 * kPass + 10 + kToNarrow;
constexpr Moved kWrittenGeluBackward =
    kToFp32 + 10 + 12 + 6 + 4 + kSum + kPass + 6 + 3 * kPass + kSum + 6 + 12;

Moved widened_stream(const BlockWriter& writer) { return narrow(writer) ? kToFp32 : Moved(); }

/// A LayerNorm is one kernel, behind a cast where autocast runs it in FP32.
ModuleWork layer_norm(const BlockWriter& writer, double elements) {
  if (!writer.shapes().wide_norms) return {2 * stream(writer) * elements, 1};
  return {elements * (widened_stream(writer) + kPass), narrow(writer) ? 2 : 1};
}

ModuleWork layer_norm_backward(const BlockWriter& writer, double elements) {
  const double weights = trained(writer) ? 2 : 0;
  if (!writer.shapes().wide_norms)
    return {(3 + weights) * stream(writer) * elements, trained(writer) ? 2 : 1};
  return {elements * ((narrow(writer) ? kToNarrow : 0) + (3 + weights) * 4),
          trained(writer) ? 3 : 2};
}

/// Of the residual stream, for what is done in FP32.
Moved cast_both_ways(const BlockWriter& writer) {
  return widened_stream(writer) + (narrow(writer) ? kToNarrow : 0);
}

}  // namespace

bool norms_in_fp32(const Shapes& shapes, const spec::Model& model) {
  if (shapes.element >= 4) return false;
  return shapes.stream >= 4 || (shapes.wide_norms && model.norm == spec::NormKind::kLayerNorm);
}

ModuleWork module_norm(const BlockWriter& writer, double elements) {
  if (writer.model().norm == spec::NormKind::kLayerNorm) return layer_norm(writer, elements);
  const Moved each =
      cast_both_ways(writer) + kPass + 4 * kBroadcast + kPass * kBroadcast + scaled_bytes(writer);
  return {elements * each, narrow(writer) ? 8 : 6};
}

ModuleWork module_norm_backward(const BlockWriter& writer, double elements) {
  if (writer.model().norm == spec::NormKind::kLayerNorm)
    return layer_norm_backward(writer, elements);
  // Gradients of the weights, of the product with the root, of the root, of the square.
  const Slower row_sums = narrow(writer) ? kSlow : Slower{1.7};
  const Moved weights = trained(writer) ? 3 * stream(writer) + stream(writer) * row_sums : Moved();
  const Moved each = cast_both_ways(writer) + scaled_bytes(writer) + weights + 2 * kSum +
                     kPass * kBroadcast + 4 * kBroadcast + 3 * kPass + kSum;
  return {elements * each, trained(writer) ? 14 : 12};
}

// x cos + rotate(x) sin: two products, a negation of half of it, halves joined, a sum. Where
// weights are in FP32 so are cosines, and all behind the products.
ModuleWork module_rope(const BlockWriter& writer, double all, bool backward) {
  const bool wide = !narrow(writer);
  const double element = writer.shapes().element, elements = all * writer.model().rotary_share;
  // What is not turned is joined to what is.
  const Moved joined = elements < all ? 2 * element * all * kSlow : Moved();
  const Moved rotate = 3 * element * kSlow;
  if (!backward) {
    const Moved products = 2 * (element + stream(writer)) * kSlow;
    const Moved sum = wide ? kSum * kBroadcast + narrowed(writer) : 6 * kBroadcast;
    return {joined + elements * (rotate + products + sum), 2 * (wide ? 6 : 5)};
  }
  const Moved products =
      wide ? widened(writer) + 2 * (kPass * kBroadcast + narrowed(writer)) : 2 * 4 * kSlow;
  // Gradients of halves are added to zeros, twice; that of the whole is made contiguous.
  const Moved halves = rotate + 6 * element * kBroadcast + 2 * element + 2 * element * kSlow;
  return {joined + elements * (products + halves), wide ? 24 : 18};
}

// Split, the gradients of all parts are joined in one copy. Sliced, each is put into zeros as wide
// as the whole, and those are added up.
ModuleWork module_parts_backward(const BlockWriter& writer, double elements, bool gate) {
  const spec::Model& model = writer.model();
  const double element = writer.shapes().element;
  if (gate ? !model.joined_gate : model.qkv_matrix == spec::QkvMatrix::kApart) return {0, 0};
  if (gate || model.qkv_matrix == spec::QkvMatrix::kSplit) return {2 * element * elements, 1};
  return {(3 + 2 + 2 * 3) * element * elements, 8};
}

ModuleWork module_softmax(const BlockWriter& writer, double scores, bool backward) {
  const Moved both = widened(writer) + narrowed(writer);
  const double pass = 2 * writer.shapes().element;
  if (backward) return {scores * (both + kSum + pass), 4};
  return {scores * (pass + pass * kBroadcast + both + kPass), 5};
}

// Divided by c, the tangent, times c; backward both products again, the gradient of the tangent
// reading its output beside what comes in. Worked, of 134 million scores in 16 bit (Gemma 2 9B, two
// sequences of 2,048): 537 MB in each of 178 us, 3.0 TB/s; back 805 MB in 264 us.
ModuleWork module_cap(const BlockWriter& writer, double values, bool backward) {
  const int passes = 3 * 2 + (backward ? 1 : 0);
  return {passes * writer.shapes().element * values, 3};
}

ModuleWork module_activation(const BlockWriter& writer, double elements, bool backward) {
  const spec::Model& model = writer.model();
  if (model.written_gelu)  // a power is in FP32 whatever the rest is in
    return {elements * (backward ? kWrittenGeluBackward : kWrittenGelu), backward ? 16 : 10};
  // The function of one branch, its product with the other; backward two products for it.
  const int function = backward ? 3 : 2, products = !model.gated ? 0 : backward ? 2 : 1;
  const ModuleWork joined = backward && model.gated
                                ? module_parts_backward(writer, 2 * elements, true)
                                : ModuleWork{0, 0};
  return {elements * writer.shapes().element * (function + 3 * products) + joined.moved,
          1 + products + joined.kernels};
}

namespace {

/// Filled under a mask, in place; or a copy of it, which is what autograd needs.
Moved masked(double element) { return 2 * element * kColumn; }
Moved masked_copy(double element) { return 2 * element + masked(element); }

}  // namespace

// Worked, of 65,536 rows of 2,048 (OLMoE): gathered 0.16 ms and masked 0.39, 12.4 bytes an element;
// back, gradients are copied, masked and summed: 0.17, 0.39 and 0.33.
ModuleWork module_permute(const BlockWriter& writer, double elements, bool backward) {
  const double element = writer.shapes().element, pass = 2 * element;
  if (backward) return {elements * (masked_copy(element) + pass * kColumn), 12};
  return {elements * (pass + masked(element)), 14};
}

// Masked, times each row's weight, gathered, eight summed to one: 0.57, 0.35, 0.19 and 0.13 ms;
// back, spread 0.32, into zeros 0.08 + 0.37, two products and a sum 0.26 + 0.35 + 0.10, masked
// 0.57.
ModuleWork module_unpermute(const BlockWriter& writer, double elements, bool backward) {
  const double element = writer.shapes().element, pass = 2 * element;
  if (backward) return {elements * (3 * pass * kColumn + 5 * element + masked_copy(element)), 16};
  return {elements * (masked_copy(element) + pass * kColumn + pass + element * kBroadcast), 9};
}

// What the first matrix wrote, masked; its halves through function and product. 0.57, 0.19 and 0.20
// ms; back 0.13, 0.20, 0.22, joined 0.18, masked 0.57.
ModuleWork module_expert_activation(const BlockWriter& writer, double elements, bool backward) {
  const double element = writer.shapes().element, pass = 2 * element;
  if (!writer.model().gated)
    return {elements * (masked_copy(element) + pass + (backward ? element : 0)), 3};
  const double product = 3 * element;
  const Moved mask = 2 * masked_copy(element);
  if (backward) return {elements * (mask + product + 2 * product * kHalves + 2 * pass), 6};
  return {elements * (mask + pass * kColumn + product * kHalves), 4};
}

ModuleWork module_residual(const BlockWriter& writer, double elements, bool backward) {
  const bool drops = writer.model().dropout > 0;
  const double mask = drops ? 5 : 0;  // read, write and one byte of mask
  if (backward)
    return {elements * ((narrow(writer) ? 0 : narrowed(writer)) + mask), 1 + (drops ? 1 : 0)};
  const Moved sum = casts(writer) ? (narrow(writer) ? 6 : 10 * kBroadcast) : kSum;
  return {elements * (sum + mask), 1 + (drops ? 1 : 0)};
}

ModuleWork module_input_casts(const BlockWriter& writer, std::string_view linear, double elements) {
  const bool behind_norm = linear == "qkv" || linear.ends_with("fc1") || linear == "head";
  if (!behind_norm || !norms_in_fp32(writer.shapes(), writer.model())) return {};
  const int parts = module_parts(writer.model(), linear);
  return {elements * kToNarrow * parts, parts};
}

ModuleWork module_input_casts_backward(const BlockWriter& writer, std::string_view linear,
                                       double elements) {
  const ModuleWork forward = module_input_casts(writer, linear, elements);
  return {forward.moved.bytes / kToNarrow * kToFp32, forward.kernels};
}

Moved weight_cast_bytes(double weights) { return weights * kToNarrow; }

Moved weight_gradient_bytes(const BlockWriter& writer, double weights) {
  const bool wide = writer.shapes().autocast;
  const double batches = static_cast<double>(writer.job().micro_batches());
  const double added = (wide ? kSum : 6) * (1 - 1 / batches);  // the first is kept as it is
  return weights * ((wide ? kToFp32 : Moved()) + added);
}

ModuleWork module_adapter(double in, double out, int parts, bool backward) {
  const Moved casts = (kToFp32 + kToNarrow) * (in * parts);
  // Casts of both its matrices and back of their gradients are launches more.
  if (!backward) return {casts + (4 + 6) * out, 6 * parts};
  return {casts + 6 * in * parts + 4 * out, 7 * parts};
}

double module_norm_keeps(const Shapes& shapes, const spec::Model& model) {
  // As it is cast for a kernel in FP32.
  if (model.norm == spec::NormKind::kLayerNorm) return shapes.wide_norms ? 4 : shapes.stream;
  // Its input in FP32, and what the weight multiplied.
  return 4 + (shapes.lora ? 0 : shapes.stream);
}

double written_gelu_keeps() {
  // The base of the power, the tangent, both factors of the last product.
  return 4 + 4 + 2 + 4;
}

}  // namespace ergometer::workload
