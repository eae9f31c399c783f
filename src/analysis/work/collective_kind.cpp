#include "analysis/work/collective_kind.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/text.h"

namespace ergometer::analysis {
namespace {

/// Lower case without underscores, so that all spellings are one.
std::string plain_collective(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '_') out += base::lower(c);
  return out;
}

// Longer words before the words they hold.
constexpr std::array kWords = std::to_array<std::pair<std::string_view, CollectiveKind>>({
    {"allreduce", CollectiveKind::kAllReduce},
    {"allgather", CollectiveKind::kAllGather},
    {"reducescatter", CollectiveKind::kReduceScatter},
    {"alltoall", CollectiveKind::kAllToAll},
    {"send", CollectiveKind::kSendRecv},
    {"recv", CollectiveKind::kSendRecv},
    {"broadcast", CollectiveKind::kBroadcast},
    {"barrier", CollectiveKind::kBarrier},
    {"reduce", CollectiveKind::kReduce},
});

constexpr std::array kBytesOf = std::to_array<std::pair<std::string_view, int>>({
    {"float", 4},
    {"half", 2},
    {"bfloat16", 2},
    {"double", 8},
    {"long", 8},
    {"int", 4},
    {"short", 2},
    {"byte", 1},
    {"char", 1},
    {"bool", 1},
    {"complexfloat", 8},
    {"complexdouble", 16},
});

std::optional<int> bytes_of(std::string_view dtype) {
  const std::string name = plain_collective(dtype);
  if (name.starts_with("float8")) return 1;
  for (const auto& [known, bytes] : kBytesOf)
    if (name == known) return bytes;
  return std::nullopt;
}

}  // namespace

std::string_view to_word(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kAllToAll: return "all_to_all";
    case CollectiveKind::kSendRecv: return "send_recv";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kReduce: return "reduce";
    case CollectiveKind::kBarrier: return "barrier";
    case CollectiveKind::kUnknown: break;
  }
  return "unknown";
}

CollectiveKind collective_kind(std::string_view name) {
  // What stands in parentheses are a kernel's argument types.
  const std::string text = plain_collective(name.substr(0, name.find('(')));
  for (const auto& [word, kind] : kWords)
    if (text.find(word) != std::string::npos) return kind;
  return CollectiveKind::kUnknown;
}

namespace {

/// Names that stand for a dimension by themselves: of DeviceMesh as torchtitan and FSDP name them,
/// of DeepSpeed and of torch.distributed.pipelining.
constexpr std::array kDimensions = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"tp", "tp"},
    {"cp", "cp"},
    {"pp", "pp"},
    {"ep", "ep"},
    {"etp", "etp"},
    {"sp", "sp"},
    {"fsdp", "dp"},
    {"hsdp", "dp"},
    {"replicate", "dp"},
    {"shard", "dp"},
    {"data_parallel", "dp"},
    {"model_parallel", "tp"},
    {"expert_parallel", "ep"},
    {"sequence_parallel", "sp"},
});

/// Of one dimension of a mesh: "tp", "dp_shard", "dp_shard_cp", "dp_shard_mod_ep".
std::string mesh_dimension(std::string_view name) {
  if (name.starts_with("default") || name.empty()) return "";
  // What is sharded over experts' ranks as well is data parallelism of the experts.
  if (name.starts_with("dp_shard_mod_ep") || name == "edp" || name == "efsdp") return "edp";
  if (name.starts_with("dp")) return "dp";
  for (const auto& [known, parallelism] : kDimensions)
    if (name == known) return std::string(parallelism);
  return std::string(name);
}

}  // namespace

std::string parallelism_of(std::string_view group_description) {
  std::string text;
  for (const char c : group_description) text += base::lower(c);
  if (text == "default_pg" || text == "world") return "world";
  if (text.starts_with("mesh_")) return mesh_dimension(std::string_view(text).substr(5));
  if (text.starts_with("dp_")) return mesh_dimension(text);
  for (const auto& [known, parallelism] : kDimensions)
    if (text == known || text == std::string(known) + "_group") return std::string(parallelism);
  // What is shared "with" another dimension is still the first one's.
  text = text.substr(0, text.find("_with_"));
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  const bool experts = has("expert");
  std::string found;
  const auto add = [&](bool is, std::string_view name) {
    if (is) found += (found.empty() ? "" : "-") + std::string(name);
  };
  add(has("tensor"), experts && !has("tensor_and_expert") ? "etp" : "tp");
  add(has("context"), "cp");
  add(experts && !has("tensor") && !has("data"), "ep");
  add(has("tensor_and_expert"), "ep");
  add(has("data") || has("fsdp"), experts ? "edp" : "dp");
  add(has("pipeline") || text == "embedding_group" || text == "position_embedding_group", "pp");
  return found;
}

std::optional<double> collective_bytes(const run::Collective& collective, CollectiveKind kind) {
  const auto size = bytes_of(collective.dtype);
  const int64_t in = collective.in_elements, out = collective.out_elements;
  int64_t elements = std::max(in, out);
  if (kind == CollectiveKind::kAllGather) elements = out;
  if (kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll) elements = in;
  if (!size || elements < 0) return std::nullopt;
  return static_cast<double>(elements) * *size;
}

double bus_factor(CollectiveKind kind, int64_t group_size) {
  const auto n = static_cast<double>(std::max<int64_t>(group_size, 1));
  switch (kind) {
    case CollectiveKind::kAllReduce: return 2 * (n - 1) / n;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return (n - 1) / n;
    default: return 1;
  }
}

}  // namespace ergometer::analysis
