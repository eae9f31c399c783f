#include "validation/kernels/microbench_row.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace ergometer::validation {
namespace {

using workload::CollectiveKind;
using workload::GemmLayout;
using workload::Operator;
using workload::OperatorKind;

std::optional<int64_t> whole(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

/// Catalog machine of a device: the first row whose words all stand in the device's name.
struct KnownMachine {
  std::array<std::string_view, 2> words;
  std::string_view cluster;
};
constexpr auto kMachines = std::to_array<KnownMachine>({
    {{"gb300", ""}, "gb300-nvl72"},
    {{"gb200", ""}, "gb200-nvl72"},
    {{"gh200", ""}, "gh200"},
    {{"b300", ""}, "hgx-b300"},
    {{"b200", ""}, "hgx-b200"},
    {{"h200", ""}, "hgx-h200"},
    {{"h100", "pcie"}, "h100-pcie"},
    {{"h100", "hf cluster"}, "hf-h100"},
    {{"h100", "p5"}, "aws-p5"},
    {{"h100", ""}, "hgx-h100"},
    {{"a100", "pcie"}, "a100-pcie"},
    {{"a100", "azure"}, "azure-nd-a100-v4"},
    {{"a100", "40gb"}, "dgx-a100-40gb"},
    {{"a100", ""}, "dgx-a100"},
    {{"h800", ""}, "hgx-h800"},
    {{"a800", ""}, "hgx-a800"},
    {{"mi355x", ""}, "mi355x"},
    {{"mi350x", ""}, "mi350x"},
    {{"mi325x", ""}, "mi325x"},
    {{"mi300x", ""}, "mi300x"},
    {{"mi250x", ""}, "mi250x"},
    {{"mi250", ""}, "mi250"},
    {{"v100", ""}, "dgx1-v100"},
});

/// The whole number whose last digit stands before a place of the text.
std::optional<int64_t> whole_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && base::is_digit(text[begin - 1])) --begin;
  return whole(text.substr(begin, end - begin));
}

/// "4 node(s)", "file ...-n4.txt", "file n16_..."; 1 where nothing is said.
int64_t nodes_in(std::string_view config) {
  if (const size_t at = config.find(" node"); at != config.npos)
    if (const auto nodes = whole_before(config, at)) return *nodes;
  for (size_t at = config.find('n'); at != config.npos; at = config.find('n', at + 1)) {
    const bool starts = at == 0 || config[at - 1] == '-' || config[at - 1] == ' ';
    size_t end = at + 1;
    while (end < config.size() && base::is_digit(config[end])) ++end;
    const bool ends = end < config.size() && (config[end] == '_' || config[end] == '.');
    if (starts && ends && end > at + 1) return *whole(config.substr(at + 1, end - at - 1));
  }
  return 1;
}

double elements(const Operator& op) {
  return static_cast<double>(op.groups) * static_cast<double>(op.m) * static_cast<double>(op.n);
}

/// Bytes written for every element of a weight gradient: added to in FP32 or 16 bit, or stored.
double result_bytes(const MicrobenchCells& cells, std::string_view type_key) {
  if (cells.word("accumulate") != "True") return 2;
  return cells.word(type_key) == "fp32" ? 8 : 4;
}

void set_product(Operator& op, int64_t m, int64_t n, int64_t k, double operand, double result) {
  if (op.kind != OperatorKind::kGroupedGemm) op.kind = OperatorKind::kGemm;
  op.m = m;
  op.n = n;
  op.k = k;
  op.flops = 2 * elements(op) * static_cast<double>(k);
  op.bytes = operand * static_cast<double>(op.groups) * static_cast<double>(k) *
                 static_cast<double>(m + n) +
             result * elements(op);
}

GemmLayout layout_of(std::string_view text) {
  return text == "NT" ? GemmLayout::kNt : text == "NN" ? GemmLayout::kNn : GemmLayout::kTn;
}

bool is_fp8(const MicrobenchCells& cells) {
  return cells.mentions("fp8") || cells.mentions("e4m3");
}

/// "matmul b=1, m=4096, k=5120, n=1536, layout=TN, ...".
std::optional<MicrobenchWork> shaped_gemm(const MicrobenchCells& cells) {
  const auto m = cells.number("m"), n = cells.number("n"), k = cells.number("k");
  if (!m || !n || !k) return std::nullopt;
  MicrobenchWork work;
  work.op.layout = layout_of(cells.word("layout"));
  work.op.groups = cells.number("b").value_or(1);
  if (is_fp8(cells)) work.op.precision = spec::Precision::kFp8;
  work.kind = "gemm";
  set_product(work.op, *m, *n, *k, is_fp8(cells) ? 1 : 2, result_bytes(cells, "out_dtype"));
  return work;
}

/// "BF16 best shape MxNxK 2048x2048x13312; ...".
std::optional<MicrobenchWork> best_gemm(const MicrobenchCells& cells) {
  constexpr std::string_view kKey = "MxNxK ";
  const size_t at = cells.config.find(kKey);
  if (at == cells.config.npos) return std::nullopt;
  std::string_view text = cells.config.substr(at + kKey.size());
  text = text.substr(0, text.find_first_of("; ,"));
  const size_t first = text.find('x'), second = text.rfind('x');
  if (first == text.npos || second == first) return std::nullopt;
  const auto m = whole(text.substr(0, first)),
             n = whole(text.substr(first + 1, second - first - 1)),
             k = whole(text.substr(second + 1));
  if (!m || !n || !k) return std::nullopt;
  MicrobenchWork work;
  if (is_fp8(cells)) work.op.precision = spec::Precision::kFp8;
  work.kind = "gemm";
  set_product(work.op, *m, *n, *k, is_fp8(cells) ? 1 : 2, 2);
  return work;
}

/// "group_matmul ng=40, M=616, N=5120, K=1536, stage=fwd, ...": a weight gradient's tokens stand as
/// M, like the forward pass of the same layer.
std::optional<MicrobenchWork> grouped_gemm(const MicrobenchCells& cells) {
  const auto rows = cells.number("M"), n = cells.number("N"), k = cells.number("K"),
             groups = cells.number("ng");
  if (!rows || !n || !k || !groups) return std::nullopt;
  MicrobenchWork work;
  work.kind = "grouped gemm";
  work.op.kind = OperatorKind::kGroupedGemm;
  work.op.groups = *groups;
  const std::string_view stage = cells.word("stage");
  if (stage == "bwd_grad_w") {
    work.op.layout = GemmLayout::kNt;
    set_product(work.op, *n, *k, *rows, 2, result_bytes(cells, "main_grad_dtype"));
  } else {
    work.op.layout = stage == "bwd_grad_act" ? GemmLayout::kNn : GemmLayout::kTn;
    set_product(work.op, *rows, *n, *k, 2, 2);
  }
  return work;
}

/// "sdp_fwd batch=1, seq_len=4096, ...": causal, perhaps with "window=128"; the TFLOP/s count the
/// whole square.
std::optional<MicrobenchWork> attention(const MicrobenchCells& cells) {
  const auto batch = cells.number("batch"), tokens = cells.number("seq_len"),
             heads = cells.number("head_num"), kv_heads = cells.number("kv_head_num"),
             qk = cells.number("qk_head_dim"), v = cells.number("v_head_dim");
  const bool backward = cells.config.starts_with("sdp_bwd");
  if (!batch || !tokens || !heads || !kv_heads || !qk || !v) return std::nullopt;
  if (!backward && !cells.config.starts_with("sdp_fwd")) return std::nullopt;
  MicrobenchWork work;
  Operator& op = work.op;
  work.kind = backward ? "attention backward" : "attention forward";
  op.kind = OperatorKind::kAttention;
  op.name = "core_attention";
  op.attention.batch = *batch;
  op.attention.heads = *heads;
  op.attention.kv_heads = *kv_heads;
  op.attention.q_length = op.attention.kv_length = *tokens;
  op.attention.qk_dim = *qk;
  op.attention.v_dim = *v;
  op.attention.backward = backward;
  const double square = (backward ? 5.0 : 2.0) * static_cast<double>(*batch * *heads * *tokens) *
                        static_cast<double>(*tokens * (*qk + *v));
  // Of the square a causal query meets half; of its last `window` keys all but its first queries.
  const auto window = std::min(cells.number("window").value_or(*tokens), *tokens);
  const double share = static_cast<double>(window) / static_cast<double>(*tokens);
  op.flops = square * share * (1 - share / 2);
  op.bytes = 2.0 * static_cast<double>(*batch * *tokens * (*heads + *kv_heads) * (*qk + *v)) *
             (backward ? 2 : 1);
  work.counted_flops = square;
  return work;
}

/// "size=1048576 B", "8 GiB", "4 GB payload"; a large-message benchmark without a size: taken
/// as 512 MiB.
std::optional<double> message_bytes(const MicrobenchCells& cells) {
  if (const auto size = cells.number("size")) return static_cast<double>(*size);
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{" GiB", 1073741824.0}, {" MiB", 1048576.0}, {" GB", 1e9}, {" MB", 1e6}}};
  for (const auto& [unit, scale] : kUnits) {
    const size_t at = cells.config.find(unit);
    if (at == cells.config.npos) continue;
    if (const auto number = whole_before(cells.config, at))
      return static_cast<double>(*number) * scale;
  }
  if (cells.mentions("large-message")) return 536870912.0;
  return std::nullopt;
}

struct CollectiveName {
  std::string_view text;
  CollectiveKind kind;
  std::string_view name;
};
constexpr auto kCollectives = std::to_array<CollectiveName>({
    {"all_reduce", CollectiveKind::kAllReduce, "all-reduce"},
    {"all-reduce", CollectiveKind::kAllReduce, "all-reduce"},
    {"allreduce", CollectiveKind::kAllReduce, "all-reduce"},
    {"ar intra", CollectiveKind::kAllReduce, "all-reduce"},
    {"all_gather", CollectiveKind::kAllGather, "all-gather"},
    {"all-gather", CollectiveKind::kAllGather, "all-gather"},
    {"allgather", CollectiveKind::kAllGather, "all-gather"},
    {"ag intra", CollectiveKind::kAllGather, "all-gather"},
    {"reduce_scatter", CollectiveKind::kReduceScatter, "reduce-scatter"},
    {"reduce-scatter", CollectiveKind::kReduceScatter, "reduce-scatter"},
    {"reducescatter", CollectiveKind::kReduceScatter, "reduce-scatter"},
    {"rs intra", CollectiveKind::kReduceScatter, "reduce-scatter"},
    {"all_to_all", CollectiveKind::kAllToAll, "all-to-all"},
    {"alltoall", CollectiveKind::kAllToAll, "all-to-all"},
    {"all-to-all", CollectiveKind::kAllToAll, "all-to-all"},
});

std::optional<MicrobenchWork> collective(const MicrobenchCells& cells) {
  const auto bytes = message_bytes(cells);
  for (const CollectiveName& entry : kCollectives) {
    if (!cells.mentions(entry.text) || !bytes) continue;
    MicrobenchWork work;
    work.kind = entry.name;
    work.op.kind = OperatorKind::kCollective;
    work.op.collective = entry.kind;
    work.op.comm_bytes = *bytes;
    return work;
  }
  return std::nullopt;
}

/// Whether NCCL reduces in the switch when a row leaves it the choice: as the rows say, or, where
/// they do not, wherever the machine can (NCCL's default from 5 GPUs on).
bool uses_switch(const MicrobenchCells& cells) {
  if (cells.mentions("nvls off") || cells.mentions("(ring)") || cells.mentions("enable=0"))
    return false;
  return true;
}

}  // namespace

std::string_view MicrobenchCells::word(std::string_view key) const {
  for (size_t at = config.find(key); at != config.npos; at = config.find(key, at + 1)) {
    const size_t value = at + key.size();
    const bool starts = at == 0 || config[at - 1] == ' ' || config[at - 1] == ',';
    if (!starts || value >= config.size() || config[value] != '=') continue;
    const std::string_view rest = config.substr(value + 1);
    return rest.substr(0, rest.find_first_of(", ;"));
  }
  return {};
}

std::optional<int64_t> MicrobenchCells::number(std::string_view key) const {
  return whole(word(key));
}

bool MicrobenchCells::mentions(std::string_view text) const {
  return base::lower(config).find(base::lower(text)) != std::string::npos;
}

Result<MicrobenchSubject> subject_of(const MicrobenchCells& cells) {
  const std::string device = base::lower(cells.device);
  MicrobenchSubject subject;
  for (const KnownMachine& machine : kMachines) {
    const bool fits = std::ranges::all_of(
        machine.words, [&](auto word) { return device.find(word) != std::string::npos; });
    if (!fits) continue;
    subject.cluster = machine.cluster;
    break;
  }
  if (subject.cluster.empty())
    return input_error("device \"{}\" is not in the catalog", cells.device);
  subject.nodes = cells.mentions("intra-node") ? 1 : nodes_in(cells.config);
  const bool jean_zay = base::lower(cells.source).find("jean zay") != std::string::npos;
  if (jean_zay && device.find("a100") != std::string::npos) subject.cluster = "jean-zay-a100";
  if (jean_zay && device.find("v100") != std::string::npos && subject.nodes > 1)
    return input_error(
        "Jean Zay's V100 nodes (4 GPUs, 4 x 100 Gb/s Omni-Path) are not in the catalog");
  const int64_t a_node = jean_zay && device.find("v100") != std::string::npos ? 4 : 8;
  subject.ranks = cells.devices.value_or(a_node * subject.nodes);
  if (cells.mentions("intra-node")) subject.ranks = std::min<int64_t>(subject.ranks, a_node);
  subject.short_run = cells.metric.find("max achievable") != cells.metric.npos;
  subject.in_switch = uses_switch(cells);
  const std::string source = base::lower(cells.source);
  const bool native = source.find("nvidia") != std::string::npos ||
                      source.find("aiconfigurator") != std::string::npos;
  subject.copies = source.find("nanotron") != std::string::npos;
  subject.harness_s = cells.kind != "collective" ? 0 : native ? 1.5e-6 : 25e-6;
  return subject;
}

Result<MicrobenchWork> work_of(const MicrobenchCells& cells) {
  std::optional<MicrobenchWork> work;
  if (cells.kind == "gemm") {
    work = grouped_gemm(cells);
    if (!work) work = shaped_gemm(cells);
    if (!work) work = best_gemm(cells);
  } else if (cells.kind == "attention") {
    work = attention(cells);
  } else if (cells.kind == "collective") {
    work = collective(cells);
  } else if (cells.kind == "p2p copy") {
    work.emplace();
    work->kind = "copy";
    work->op.kind = OperatorKind::kCollective;
    work->op.collective = CollectiveKind::kSendRecv;
    work->op.comm_bytes = message_bytes(cells).value_or(1e9);
  } else {
    return input_error("kind \"{}\" is unknown; allowed: gemm, attention, collective, p2p copy",
                       cells.kind);
  }
  if (!work) return input_error("no shape or size to be read from \"{}\"", cells.config);
  if (work->counted_flops <= 0) work->counted_flops = work->op.flops;
  return *std::move(work);
}

}  // namespace ergometer::validation
