#include "engine/views/kernel_list.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/csv.h"
#include "engine/time/rank_loads.h"
#include "spec/catalog/read.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

using workload::CollectiveKind;
using workload::GemmLayout;
using workload::Module;
using workload::Operator;
using workload::OperatorKind;

std::string_view layout_word(GemmLayout layout) {
  switch (layout) {
    case GemmLayout::kTn: return "tn";
    case GemmLayout::kNn: return "nn";
    case GemmLayout::kNt: return "nt";
  }
  return "tn";
}

std::string_view type_word(spec::Precision precision) {
  switch (precision) {
    case spec::Precision::kFp32: return "tf32";
    case spec::Precision::kFp16: return "f16";
    case spec::Precision::kBf16: return "bf16";
    case spec::Precision::kFp8: return "e4m3";
    case spec::Precision::kNvfp4: return "e2m1";
  }
  return "bf16";
}

using NamesByKernel = std::map<std::pair<std::string, std::string>, std::string, std::less<>>;

/// By architecture and kernel, the catalog's table.
NamesByKernel read_names() {
  const base::CsvTable table = spec::catalog_table("kernel_names", base::parse_csv);
  NamesByKernel names;
  for (size_t row = 0; row < table.rows.size(); ++row)
    names[{std::string(table.cell(row, "architecture")), std::string(table.cell(row, "kernel"))}] =
        table.cell(row, "name");
  return names;
}

/// What libraries call a kernel on an architecture, or else on those that the table does not list;
/// empty: it says neither.
std::string known_name(const spec::Gpu& gpu, const char* kernel, const Operator& op) {
  static const NamesByKernel names = read_names();
  auto name = names.find({gpu.architecture, kernel});
  if (name == names.end()) name = names.find({"", kernel});
  if (name == names.end()) return "";
  const bool backward = op.attention.backward, nt = op.layout == GemmLayout::kNt;
  return fmt::format(fmt::runtime(name->second), fmt::arg("type", type_word(op.precision)),
                     fmt::arg("layout", layout_word(op.layout)),
                     fmt::arg("operands", nt ? "Ailk_Bjlk" : "Alik_Bljk"),
                     fmt::arg("fwd", backward ? "bwd" : "fwd"),
                     fmt::arg("fprop", backward ? "bprop" : "fprop"));
}

std::string memory_name(const Operator& op) {
  if (op.name == workload::kActivationsOut) return "Memcpy DtoH (Device -> Pinned)";
  if (op.name == workload::kActivationsIn) return "Memcpy HtoD (Pinned -> Device)";
  if (op.pass == workload::Pass::kOptimizer) return "multi_tensor_apply_kernel";
  switch (op.module) {
    case Module::kNorm:
      return op.pass == workload::Pass::kBackward ? "norm_bwd_tuned_kernel"
                                                  : "norm_fwd_tuned_kernel";
    case Module::kEmbedding:
      return op.pass == workload::Pass::kBackward ? "embedding_backward_kernel"
                                                  : "indexSelectLargeIndex";
    case Module::kMoe:
      return op.name.find("permute") != op.name.npos ? "moe_permute_kernel"
                                                     : "vectorized_elementwise_kernel";
    case Module::kLoss: return "cross_entropy_kernel";
    default: return "vectorized_elementwise_kernel";
  }
}

/// NCCL's word for the type a reduction sums in.
std::string_view sum_word(spec::Precision precision) {
  if (precision == spec::Precision::kFp32) return "f32";
  return precision == spec::Precision::kFp16 ? "f16" : "bf16";
}

/// NCCL names its kernels by function, and by ring and LL whatever the protocol.
std::string collective_name(const spec::Gpu& gpu, const Operator& op) {
  if (std::string name = known_name(gpu, "collective", op); !name.empty()) return name;
  switch (op.collective) {
    case CollectiveKind::kAllReduce:
      return fmt::format("ncclDevKernel_AllReduce_Sum_{}_RING_LL", sum_word(op.precision));
    case CollectiveKind::kAllGather: return "ncclDevKernel_AllGather_RING_LL";
    case CollectiveKind::kReduceScatter:
      return fmt::format("ncclDevKernel_ReduceScatter_Sum_{}_RING_LL", sum_word(op.precision));
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kSendRecv: return "ncclDevKernel_SendRecv";
  }
  return "ncclDevKernel_SendRecv";
}

std::string library_name(const spec::Gpu& gpu, const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kGemm: return known_name(gpu, "gemm", op);
    case OperatorKind::kGroupedGemm: return known_name(gpu, "grouped_gemm", op);
    case OperatorKind::kAttention: return known_name(gpu, "attention", op);
    case OperatorKind::kMemory: return memory_name(op);
    case OperatorKind::kCollective: return collective_name(gpu, op);
  }
  return memory_name(op);
}

/// `names`: by operator, made once.
run::Kernel kernel(const EngineInput& input, const Span& span, const plan::Instruction& it,
                   const std::vector<std::string>& names) {
  constexpr double kNanosecondsPerSecond = 1e9;
  run::Kernel row;
  row.rank = span.rank;
  row.stream = static_cast<int32_t>(it.stream);
  row.start_ns = std::llround(span.start_s * kNanosecondsPerSecond);
  row.duration_ns = std::llround(span.end_s * kNanosecondsPerSecond) - row.start_ns;
  row.micro_batch = it.micro_batch;
  row.chunk = it.chunk;
  row.layer = it.layer;
  const Operator* op = it.op < 0 ? nullptr : &input.plan.operators[static_cast<size_t>(it.op)];
  if (is_wait(it) || op == nullptr) {
    row.category = "wait";
    row.name = op == nullptr ? "wait" : fmt::format("wait [{}]", op->name);
    return row;
  }
  row.name = names[static_cast<size_t>(it.op)];
  row.category = kernel_category(*op);
  row.pass = pass_word(op->pass);
  row.flops = op->flops;
  row.bytes = op->bytes;
  row.comm_bytes = op->comm_bytes;
  return row;
}

}  // namespace

std::string_view pass_word(workload::Pass pass) {
  switch (pass) {
    case workload::Pass::kForward: return "forward";
    case workload::Pass::kRecompute: return "recompute";
    case workload::Pass::kBackward: return "backward";
    case workload::Pass::kWeight: return "weight";
    case workload::Pass::kOptimizer: return "optimizer";
  }
  return "";
}

std::string kernel_name(const spec::Gpu& gpu, const Operator& op) {
  return fmt::format("{} [{}]", library_name(gpu, op), op.name);
}

std::string kernel_category(const Operator& op) {
  if (op.kind == OperatorKind::kCollective)
    return op.collective == CollectiveKind::kSendRecv ? "send_recv" : "collective";
  if (op.pass == workload::Pass::kOptimizer) return "optimizer";
  if (op.kind == OperatorKind::kAttention) return "attention";
  return op.kind == OperatorKind::kMemory ? "memory" : "gemm";
}

std::vector<run::Kernel> kernel_list(const EngineInput& input, const std::vector<Span>& spans) {
  std::vector<run::Kernel> kernels;
  if (spans.empty()) return kernels;
  std::vector<std::vector<std::string>> names(spec::group_count(input.job.cluster));
  for (size_t group = 0; group < names.size(); ++group)
    for (const Operator& op : input.plan.operators)
      names[group].push_back(kernel_name(spec::node_of_group(input.job.cluster, group).gpu, op));
  for (const Span& span : spans) {
    const auto& role = input.plan.roles[static_cast<size_t>(span.rank / input.plan.ranks_per_role)];
    const plan::Instruction& it = role.program[static_cast<size_t>(span.instruction)];
    const bool idle_wait =
        is_wait(it) && (span.end_s <= span.start_s || it.stream != workload::Stream::kCompute);
    const size_t group =
        spec::is_mixed(input.job.cluster) ? spec::group_of_rank(input.job, span.rank) : 0;
    const bool left_out =
        it.op >= 0 &&
        is_left_out(input.job, group, it, input.plan.operators[static_cast<size_t>(it.op)]);
    if (!idle_wait && !left_out) kernels.push_back(kernel(input, span, it, names[group]));
  }
  return kernels;
}

}  // namespace ergometer::engine
