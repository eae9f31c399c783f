#include "analysis/work/kernel_class.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace ergometer::analysis {
namespace {

struct Rule {
  std::string_view word, kernel_class;
};

// The first word that the name holds wins, so what is said of a whole kernel stands before what may
// be said of a part of it: a fused attention kernel has "gemm" in its template arguments, an
// elementwise kernel "reduce" in the name of its functor.
constexpr std::array kRules = std::to_array<Rule>({
    {"deep_ep::", "device_communication"},
    {"dpsk::ep::", "device_communication"},
    {"nvshmem", "device_communication"},
    {"userbuffers", "device_communication"},
    {"multimem_all_", "device_communication"},
    {"one_shot_all_reduce", "device_communication"},
    {"two_shot_all_reduce", "device_communication"},
    {"cross_device_reduce", "device_communication"},
    {"mscclpp", "device_communication"},
    {"msccl", "device_communication"},
    {"oneccl", "device_communication"},
    {"hccl", "device_communication"},
    {"flash", "attention"},
    {"fmha", "attention"},
    {"_sdpa_", "attention"},
    {"sdpa_", "attention"},
    {"attention", "attention"},
    {"mha_fwd", "attention"},
    {"mha_bwd", "attention"},
    {"attn_fwd", "attention"},
    {"attn_bwd", "attention"},
    {"paged_attn", "attention"},
    {"multi_tensor_apply", "optimizer"},
    {"adam", "optimizer"},
    {"fusedsgd", "optimizer"},
    {"lamb_", "optimizer"},  // not "lambda", which any kernel may have in its name
    {"lambstage", "optimizer"},
    {"fusedlamb", "optimizer"},
    {"amp_unscale", "optimizer"},
    {"addcdiv", "optimizer"},
    {"addcmul", "optimizer"},
    {"layernorm", "norm"},
    {"layer_norm", "norm"},
    {"rmsnorm", "norm"},
    {"rms_norm", "norm"},
    {"batch_norm", "norm"},
    {"batchnorm", "norm"},
    {"bn_fw", "norm"},
    {"bn_bw", "norm"},
    {"group_norm", "norm"},
    {"groupnorm", "norm"},
    {"ln_fwd", "norm"},
    {"ln_bwd", "norm"},
    {"norm_fwd", "norm"},
    {"norm_bwd", "norm"},
    {"softmax", "softmax"},
    {"cross_entropy", "softmax"},
    {"nll_loss", "softmax"},
    {"nllcriterion", "softmax"},
    {"topk_gating", "moe"},
    {"moe_", "moe"},
    {"permute_kernel", "moe"},
    {"router", "moe"},
    {"gathertopk", "moe"},
    {"rocclr_fillbuffer", "set"},
    {"elementwise", "elementwise"},
    {"fill_reverse_indices", "elementwise"},
    {"dropout", "elementwise"},
    {"silu", "elementwise"},
    {"gelu", "elementwise"},
    {"swiglu", "elementwise"},
    {"triton_poi", "elementwise"},
    {"rotary", "elementwise"},
    {"rope_", "elementwise"},
    {"tensoropwith", "elementwise"},
    {"scalepackedtensor", "elementwise"},
    {"pool", "pooling"},
    {"embedding", "embedding"},
    {"indexselect", "embedding"},
    {"index_select", "embedding"},
    {"indexing_backward", "embedding"},
    {"convolve", "convolution"},
    {"conv2d", "convolution"},
    {"conv_", "convolution"},
    {"_conv", "convolution"},
    {"dgrad", "convolution"},
    {"wgrad", "convolution"},
    {"fprop", "convolution"},
    {"winograd", "convolution"},
    {"im2col", "convolution"},
    {"implicit_gemm", "convolution"},
    {"igemm_", "convolution"},
    {"scudnn", "convolution"},
    {"hcudnn", "convolution"},
    {"offsetskernel", "convolution"},
    {"gemm", "gemm"},
    {"nvjet", "gemm"},
    {"cutlass", "gemm"},
    {"cublas", "gemm"},
    {"cijk_", "gemm"},
    {"matmul", "gemm"},
    {"splitkreduce", "gemm"},
    {"_gemv", "gemm"},
    {"gemv", "gemm"},
    {"triton_mm", "gemm"},
    {"triton_tem", "gemm"},
    {"reduce_kernel", "reduction"},
    {"triton_red", "reduction"},
    {"triton_per", "reduction"},
    {"cub::", "reduction"},
    {"reduction", "reduction"},
    {"argmax", "reduction"},
    {"cumsum", "reduction"},
    {"reduce", "reduction"},
    {"cat", "copy"},
    {"copy", "copy"},
    {"transpose", "copy"},
    {"nchwtonhwc", "copy"},
    {"nhwctonchw", "copy"},
    {"index", "copy"},
    {"gather", "copy"},
    {"scatter", "copy"},
});

/// The part that names the kernel: template arguments name other things, and so does the operator
/// that a simulated Run puts behind it, " [fc1_dgrad]".
std::string_view head(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  const size_t end = std::min(name.find_first_of("<("), name.find(" ["));
  return end == std::string_view::npos || end == 0 ? name : name.substr(0, end);
}

std::string_view first_match(const std::string& text) {
  for (const Rule& rule : kRules)
    if (text.find(rule.word) != std::string::npos) return rule.kernel_class;
  return {};
}

}  // namespace

std::string_view kernel_class(std::string_view name, run::GpuClass kind) {
  const std::string text = base::lower(name);
  if (kind == run::GpuClass::kCommunication) return "collective";
  if (kind == run::GpuClass::kMemory)
    return text.find("memset") != std::string::npos ? "set" : "copy";
  if (const std::string_view found = first_match(base::lower(head(name))); !found.empty())
    return found;
  const std::string_view found = first_match(text);
  return found.empty() ? "other" : found;
}

KernelClasses::KernelClasses(const run::RankTrace& trace)
    : trace_(trace), known_(trace.names.size()) {}

std::string_view KernelClasses::of(const run::GpuEvent& event) {
  std::string_view& known = known_[event.name][static_cast<size_t>(event.kind)];
  if (known.empty()) known = kernel_class(trace_.names[event.name], event.kind);
  return known;
}

std::string_view study_class(std::string_view name, run::GpuClass kind) {
  if (kind == run::GpuClass::kMemory) return {};
  const std::string text = base::lower(name);
  const auto has = [&](auto... words) { return ((text.find(words) != std::string::npos) || ...); };
  constexpr std::string_view kMemory = "Memory/Elementwise", kMatMul = "Compute (MatMul)";
  if (has("nccl", "communication")) {
    if (has("allreduce")) return "AllReduce";
    if (has("reducescatter")) return "ReduceScatter";
    if (has("allgather")) return "AllGather";
    if (has("sendrecv", "broadcast")) return "SendRecv";
  }
  if (has("pushsend", "pushrecv", "buffer")) return kMemory;
  if (has("triton_") && has("sum", "add", "mul", "div")) return kMemory;
  if (has("gemm", "sdpa", "matmul")) return kMatMul;
  if (has("elementwise", "kernel")) return kMemory;
  return has("norm") ? "Layer Norm" : "Other";
}

}  // namespace ergometer::analysis
