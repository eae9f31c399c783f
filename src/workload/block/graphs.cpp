#include "workload/block/graphs.h"

#include <string_view>

#include "base/collection.h"

namespace ergometer::workload {
namespace {

bool has(const spec::Training& training, std::string_view scope) {
  const auto& scopes = training.cuda_graph_scope;
  return base::contains(scopes, scope);
}

/// Router, its scores and the shared expert in front of the dispatch.
bool of_router(std::string_view name) {
  return name.starts_with("router") || name.starts_with("shared_");
}

bool of_preprocess(std::string_view name) {
  return name.find("_counts") != name.npos || name.find("_routing_map") != name.npos;
}

}  // namespace

bool captures_everything(const spec::Training& training) {
  return training.cuda_graphs &&
         (training.cuda_graph_scope.empty() || has(training, "full_iteration"));
}

bool captured(const spec::Training& training, const Operator& op) {
  if (!training.cuda_graphs || captures_everything(training)) return false;
  const std::string_view name = op.name;
  if (name.starts_with("mamba")) return has(training, "mamba");
  switch (op.module) {
    case Module::kAttention: return has(training, "attn");
    case Module::kMlp: return has(training, "mlp");
    case Module::kMoe:
      return has(training, "moe") || (of_router(name) && has(training, "moe_router")) ||
             (of_preprocess(name) && has(training, "moe_preprocess"));
    case Module::kNorm:
      // The norm in front of the experts belongs to the router's graph.
      return name.starts_with("mlp_")
                 ? has(training, "mlp") || has(training, "moe") || has(training, "moe_router")
                 : has(training, "attn");
    default: return false;
  }
}

}  // namespace ergometer::workload
