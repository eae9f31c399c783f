#include "analysis/work/operator_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

using Inputs = std::vector<OperatorInput>;
using Dims = std::vector<int64_t>;

double input_bytes(const Inputs& inputs) {
  double bytes = 0;
  for (const OperatorInput& input : inputs) bytes += input.element_bytes > 0 ? input.bytes() : 0;
  return bytes;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return base::contains(names, name);
}

/// The name without its library and the underscore of in-place forms: "aten::add_" is "add".
std::string_view plain_operator(std::string_view name) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  while (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

OperatorWork exact(double flops, const Inputs& inputs, Dims output, double element_bytes) {
  OperatorWork work;
  work.flops = {flops, flops};
  work.output = std::move(output);
  work.output_bytes = product(work.output) * element_bytes;
  if (element_bytes > 0) work.bytes = input_bytes(inputs) + work.output_bytes;
  return work;
}

/// (..., M, K) x (..., K, N), or (N, K) for the weight of a linear layer.
std::optional<OperatorWork> multiply(const Inputs& inputs, size_t first, bool transposed) {
  if (inputs.size() < first + 2) return std::nullopt;
  const Dims &a = inputs[first].dims, &b = inputs[first + 1].dims;
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const int64_t k = transposed ? b.back() : b[b.size() - 2];
  const int64_t n = transposed ? b[b.size() - 2] : b.back();
  if (a.back() != k) return std::nullopt;
  Dims output = a;
  output.back() = n;
  const double flops = 2 * product(output) * static_cast<double>(k);
  return exact(flops, inputs, std::move(output), inputs[first].element_bytes);
}

/// Of two matrices in an unknown layout: they share one dimension, K.
std::optional<OperatorWork> multiply_in_any_layout(const Inputs& inputs) {
  std::vector<const OperatorInput*> matrices;
  for (const OperatorInput& input : inputs)
    if (input.dims.size() == 2) matrices.push_back(&input);
  if (matrices.size() < 2) return std::nullopt;
  const Dims &a = matrices[0]->dims, &b = matrices[1]->dims;
  OperatorWork::Flops flops{INFINITY, 0};
  for (const int64_t k : a) {
    if (k <= 0 || !base::contains(b, k)) continue;
    const double work = 2 * product(a) * product(b) / static_cast<double>(k);
    flops = {std::min(flops.low, work), std::max(flops.high, work)};
  }
  if (flops.high == 0) return std::nullopt;
  OperatorWork work;
  work.flops = flops;
  if (input_bytes(inputs) > 0) work.bytes = input_bytes(inputs);
  return work;
}

/// Where a convolution's arguments stand.
struct ConvolutionArguments {
  size_t stride, padding, dilation, transposed;
};
constexpr size_t kNever = SIZE_MAX;

std::optional<ConvolutionArguments> convolution_arguments(std::string_view name) {
  if (is_one_of(name, {"conv1d", "conv2d", "conv3d"})) return ConvolutionArguments{3, 4, 5, kNever};
  if (is_one_of(name, {"convolution", "_convolution", "convolution_overrideable"}))
    return ConvolutionArguments{3, 4, 5, 6};
  if (name == "cudnn_convolution") return ConvolutionArguments{3, 2, 4, kNever};
  if (is_one_of(name, {"miopen_convolution", "miopen_depthwise_convolution"}))
    return ConvolutionArguments{4, 3, 5, kNever};
  if (name == "_conv_depthwise2d") return ConvolutionArguments{4, 5, 6, kNever};
  return std::nullopt;
}

/// An argument of numbers; one number stands for all of them.
Dims numbers(const Inputs& inputs, size_t position, size_t count) {
  if (position >= inputs.size()) return {};
  Dims values = integers_in(inputs[position].value);
  if (values.size() == 1) values.resize(count, values[0]);
  return values.size() == count ? values : Dims{};
}

/// Empty where an argument is not recorded or makes no sense.
Dims convolved(const Inputs& inputs, const ConvolutionArguments& at) {
  const Dims &in = inputs[0].dims, &weight = inputs[1].dims;
  const size_t count = in.size() - 2;
  const Dims stride = numbers(inputs, at.stride, count), pad = numbers(inputs, at.padding, count),
             dilation = numbers(inputs, at.dilation, count);
  if (stride.empty() || pad.empty() || dilation.empty()) return {};
  constexpr int64_t kMost = int64_t{1} << 31;
  Dims output = {in[0], weight[0]};
  for (size_t i = 0; i < count; ++i) {
    if (stride[i] == 0 || std::max({in[i + 2], weight[i + 2], pad[i], dilation[i]}) > kMost)
      return {};
    const int64_t reach = dilation[i] * (weight[i + 2] - 1) + 1;
    const int64_t positions = in[i + 2] - reach + 2 * pad[i];
    if (positions < 0) return {};
    output.push_back(positions / stride[i] + 1);
  }
  return output;
}

bool are_convolved(const Dims& in, const Dims& weight) {
  return in.size() >= 3 && weight.size() == in.size() && weight[0] > 0;
}

std::optional<OperatorWork> convolution(const Inputs& inputs, const ConvolutionArguments& at) {
  if (inputs.size() < 2 || !are_convolved(inputs[0].dims, inputs[1].dims)) return std::nullopt;
  const bool transposed = at.transposed < inputs.size() && inputs[at.transposed].value == "True";
  if (transposed) {
    OperatorWork work;
    const double flops =
        2 * inputs[0].elements() * inputs[1].elements() / static_cast<double>(inputs[1].dims[0]);
    work.flops = {flops, flops};
    return work;
  }
  Dims output = convolved(inputs, at);
  if (output.empty()) return std::nullopt;
  const double each = inputs[1].elements() / static_cast<double>(inputs[1].dims[0]);
  const double flops = 2 * product(output) * each;
  return exact(flops, inputs, std::move(output), inputs[0].element_bytes);
}

/// convolution_backward(grad, input, weight, ..., output_mask): which gradients are wanted stands
/// in the last argument.
std::optional<OperatorWork> convolution_backward(const Inputs& inputs) {
  constexpr size_t kTransposed = 7, kMask = 10;
  if (inputs.size() < 3 || !are_convolved(inputs[1].dims, inputs[2].dims) ||
      inputs[0].dims.size() != inputs[1].dims.size())
    return std::nullopt;
  const bool transposed = inputs.size() > kTransposed && inputs[kTransposed].value == "True";
  const double positions = transposed ? inputs[1].elements() : inputs[0].elements();
  const double once = 2 * positions * inputs[2].elements() / static_cast<double>(inputs[2].dims[0]);
  OperatorWork work;
  work.flops = {once, 2 * once};
  double outputs = 0;
  if (inputs.size() > kMask && inputs[kMask].value.starts_with('[')) {
    const std::string& mask = inputs[kMask].value;
    const bool of_input = mask.starts_with("[True"),
               of_weight = base::contains(mask.substr(5), ", True,");
    const double gradients = (of_input ? 1 : 0) + (of_weight ? 1 : 0);
    work.flops = {gradients * once, gradients * once};
    outputs = (of_input ? inputs[1].bytes() : 0) + (of_weight ? inputs[2].bytes() : 0);
  }
  if (inputs[0].element_bytes > 0) work.bytes = input_bytes(inputs) + outputs;
  return work;
}

/// Where an attention's arguments stand; `heads_first`: (B, H, S, D) instead of (B, S, H, D).
struct AttentionArguments {
  size_t query, causal;
  bool heads_first, backward;
  std::string_view causal_value;  ///< "0" means not causal there
};

std::optional<AttentionArguments> attention_arguments(std::string_view name) {
  if (name == "_flash_attention_forward") return AttentionArguments{0, 8, false, false, "True"};
  if (name == "_flash_attention_backward") return AttentionArguments{1, 11, false, true, "True"};
  if (name == "_efficient_attention_forward") return AttentionArguments{0, 9, false, false, "1"};
  if (name == "_efficient_attention_backward") return AttentionArguments{1, 14, false, true, "1"};
  if (name == "scaled_dot_product_attention") return AttentionArguments{0, 5, true, false, "True"};
  if (name == "_scaled_dot_product_flash_attention")
    return AttentionArguments{0, 4, true, false, "True"};
  if (name == "_scaled_dot_product_flash_attention_backward")
    return AttentionArguments{1, 11, true, true, "True"};
  if (name == "_scaled_dot_product_cudnn_attention")
    return AttentionArguments{0, 6, true, false, "True"};
  if (name == "_scaled_dot_product_cudnn_attention_backward")
    return AttentionArguments{1, 14, true, true, "True"};
  if (name == "flash_attn::_flash_attn_forward")
    return AttentionArguments{0, 5, false, false, "True"};
  if (name == "flash_attn::_flash_attn_backward")
    return AttentionArguments{1, 11, false, true, "True"};
  if (name == "FlashAttnFunc") return AttentionArguments{0, 5, false, false, "True"};
  return std::nullopt;
}

/// What of the full square is computed: half where it is causal, one or the other where the trace
/// does not say.
OperatorWork::Flops masked(double full, const std::string& value, const AttentionArguments& at) {
  if (value == at.causal_value || (at.causal_value == "1" && value == "2"))
    return {full / 2, full / 2};
  const bool says = value == "False" || value == "0";
  return {says ? full : full / 2, full};
}

std::optional<OperatorWork> attention(const Inputs& inputs, const AttentionArguments& at) {
  if (inputs.size() < at.query + 3) return std::nullopt;
  const Dims &q = inputs[at.query].dims, &k = inputs[at.query + 1].dims,
             &v = inputs[at.query + 2].dims;
  // Three dimensions are sequences of different lengths one behind the other: which, is not told.
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) return std::nullopt;
  const size_t heads = at.heads_first ? 1 : 2, length = at.heads_first ? 2 : 1;
  const double pairs = product({q[0], q[heads], q[length], k[length]});
  const double full = 2 * pairs * static_cast<double>(q[3] + v[3]) * (at.backward ? 2.5 : 1.0);
  OperatorWork work;
  work.flops = masked(full, at.causal < inputs.size() ? inputs[at.causal].value : "", at);
  work.output = q;
  work.output.back() = v[3];
  work.output_bytes = product(work.output) * inputs[at.query].element_bytes;
  if (inputs[at.query].element_bytes > 0)
    work.bytes = input_bytes(inputs) +
                 (at.backward ? inputs[1].bytes() + inputs[2].bytes() + inputs[3].bytes()
                              : work.output_bytes);
  return work;
}

constexpr std::array kPointwise = std::to_array<std::string_view>({"abs",
                                                                   "add",
                                                                   "addcdiv",
                                                                   "addcmul",
                                                                   "bitwise_and",
                                                                   "bitwise_not",
                                                                   "clamp",
                                                                   "clamp_max",
                                                                   "clamp_min",
                                                                   "cos",
                                                                   "div",
                                                                   "elu",
                                                                   "eq",
                                                                   "erf",
                                                                   "exp",
                                                                   "ge",
                                                                   "gelu",
                                                                   "gelu_backward",
                                                                   "gt",
                                                                   "leaky_relu",
                                                                   "leaky_relu_backward",
                                                                   "le",
                                                                   "lerp",
                                                                   "log",
                                                                   "logical_and",
                                                                   "logical_not",
                                                                   "lt",
                                                                   "masked_fill",
                                                                   "maximum",
                                                                   "minimum",
                                                                   "mul",
                                                                   "native_dropout",
                                                                   "native_dropout_backward",
                                                                   "ne",
                                                                   "neg",
                                                                   "pow",
                                                                   "reciprocal",
                                                                   "relu",
                                                                   "rsqrt",
                                                                   "rsub",
                                                                   "sigmoid",
                                                                   "sigmoid_backward",
                                                                   "sign",
                                                                   "silu",
                                                                   "silu_backward",
                                                                   "sin",
                                                                   "sqrt",
                                                                   "sub",
                                                                   "tanh",
                                                                   "tanh_backward",
                                                                   "threshold",
                                                                   "threshold_backward",
                                                                   "tril",
                                                                   "triu",
                                                                   "where"});

/// The broadcast of all inputs; of tensors of unlike shapes the larger dimension counts.
Dims broadcast(const Inputs& inputs) {
  Dims output;
  for (const OperatorInput& input : inputs) {
    const Dims& dims = input.dims;
    if (dims.size() > output.size()) output.insert(output.begin(), dims.size() - output.size(), 1);
    for (size_t i = 0; i < dims.size(); ++i) {
      int64_t& out = output[output.size() - dims.size() + i];
      out = std::max(out, dims[i]);
    }
  }
  return output;
}

/// Reads all inputs, writes `output` in the type of the first tensor.
std::optional<OperatorWork> stream(const Inputs& inputs, Dims output) {
  const auto tensor = std::ranges::find_if(inputs, [](const OperatorInput& input) {
    return input.element_bytes > 0 && !input.dims.empty();
  });
  if (tensor == inputs.end()) return std::nullopt;
  OperatorWork work;
  work.memory_bound = true;
  work.output = std::move(output);
  work.output_bytes = product(work.output) * tensor->element_bytes;
  work.bytes = input_bytes(inputs) + work.output_bytes;
  return work;
}

/// Work that is nothing but bytes.
std::optional<OperatorWork> bytes_only(std::string_view name, const Inputs& inputs) {
  if (inputs.empty()) return std::nullopt;
  const OperatorInput& first = inputs[0];
  if (std::ranges::binary_search(kPointwise, name)) return stream(inputs, broadcast(inputs));
  const bool of_first = is_one_of(
      name, {"native_layer_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm",
             "native_group_norm", "_fused_rms_norm", "_softmax", "_log_softmax"});
  const bool gradient = is_one_of(name, {"native_layer_norm_backward", "native_batch_norm_backward",
                                         "cudnn_batch_norm_backward", "miopen_batch_norm_backward",
                                         "native_group_norm_backward", "_fused_rms_norm_backward",
                                         "_softmax_backward_data", "_log_softmax_backward_data"});
  if (of_first || gradient) return stream(inputs, first.dims);
  if (is_one_of(name, {"sum", "mean", "amax", "amin"})) {
    auto work = stream(inputs, {});
    if (work) work->output_bytes = 0;
    return work;
  }
  if (name == "copy" && inputs.size() >= 2 && first.element_bytes > 0) {
    OperatorWork work;
    work.memory_bound = true;
    work.output = first.dims;
    work.output_bytes = first.bytes();
    work.bytes = first.bytes() + inputs[1].bytes();
    return work;
  }
  if (is_one_of(name, {"fill", "zero", "uniform", "normal", "bernoulli"}) &&
      first.element_bytes > 0) {
    OperatorWork work;
    work.memory_bound = true;
    work.output = first.dims;
    work.output_bytes = first.bytes();
    work.bytes = first.bytes();
    return work;
  }
  // Inductor passes the outputs too.
  const bool triton = name.starts_with("triton_poi") || name.starts_with("triton_red") ||
                      name.starts_with("triton_per");
  if (triton && input_bytes(inputs) > 0) {
    OperatorWork work;
    work.memory_bound = true;
    work.bytes = input_bytes(inputs);
    return work;
  }
  return std::nullopt;
}

std::optional<OperatorWork> matrix_work(std::string_view name, const Inputs& inputs) {
  if (is_one_of(name, {"mm", "bmm", "matmul", "_scaled_mm"})) return multiply(inputs, 0, false);
  if (is_one_of(name, {"addmm", "baddbmm", "_addmm_activation"})) return multiply(inputs, 1, false);
  if (name == "linear") return multiply(inputs, 0, true);
  if (const auto at = convolution_arguments(name)) return convolution(inputs, *at);
  if (name == "convolution_backward") return convolution_backward(inputs);
  if (const auto at = attention_arguments(name)) return attention(inputs, *at);
  if (base::contains(name, "gemm") || name.starts_with("triton_mm") ||
      name.starts_with("triton_tem"))
    return multiply_in_any_layout(inputs);
  return std::nullopt;
}

}  // namespace

OperatorWork work_of(std::string_view operator_name, const std::vector<OperatorInput>& inputs) {
  const std::string_view name = plain_operator(operator_name);
  if (auto work = matrix_work(name, inputs)) return *std::move(work);
  return bytes_only(name, inputs).value_or(OperatorWork{});
}

}  // namespace ergometer::analysis
