#include "workload/by_operator.h"

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace ergometer::workload {
namespace {

/// Output columns of the products that `name` stands for, relative to each other.
std::vector<double> parts_of(const spec::Model& model, std::string_view name) {
  if (model.gated && name == "qkv") {
    const double kv = static_cast<double>(model.kv_heads);
    return {static_cast<double>(model.heads), kv, kv};
  }
  if (model.gated && name.ends_with("fc1")) return {1, 1};
  return {1};
}

bool is_counted(const Operator& op) {
  return op.kind == OperatorKind::kGemm && !op.name.starts_with("expert_") && op.name != "router";
}

/// Attention's core, and a reduce-scatter, whose output the policy keeps; with the core go the
/// transfers that only it needs.
bool is_kept(const Operator& op) {
  if (op.kind == OperatorKind::kAttention) return true;
  if (op.kind != OperatorKind::kCollective) return false;
  return op.group == GroupKind::kContext || op.collective == CollectiveKind::kReduceScatter;
}

}  // namespace

Repeated repeated(const spec::Model& model, std::string_view name, int before) {
  const std::vector<double> parts = parts_of(model, name);
  double again = 0;
  for (size_t i = 0; i < parts.size(); ++i)
    if ((static_cast<size_t>(before) + i) % 2 == 1) again += parts[i];
  return {again / std::accumulate(parts.begin(), parts.end(), 0.0), static_cast<int>(parts.size())};
}

void drop_kept_operators(const spec::Job& job, Workload& workload, Block& block) {
  std::vector<Item> left;
  int products = 0;
  for (const Item& item : block.recompute) {
    if (item.kind != Item::Kind::kOperator) {
      left.push_back(item);
      continue;
    }
    Operator& op = workload.operators[static_cast<size_t>(item.op)];
    if (is_kept(op)) continue;
    if (is_counted(op)) {
      const Repeated again = repeated(job.model, op.name, products);
      products += again.products;
      if (again.share == 0) continue;
      op.n = std::llround(static_cast<double>(op.n) * again.share);
      op.flops *= again.share;
      op.bytes *= again.share;
    }
    left.push_back(item);
  }
  block.recompute = std::move(left);
}

double kept_by_operator(const spec::Job& job, const Shapes& shapes, const Workload& workload,
                        const Block& block) {
  constexpr std::array<std::string_view, 2> kAttention = {"attention_output", "log_sum_exp"};
  double bytes = 0;
  for (const auto& [name, part] : block.activations.parts)
    for (const std::string_view kept : kAttention) bytes += name == kept ? part : 0;
  int products = 0;
  for (const Item& item : block.forward) {
    if (item.kind != Item::Kind::kOperator) continue;
    const Operator& op = workload.operators[static_cast<size_t>(item.op)];
    if (!is_counted(op)) continue;
    const Repeated again = repeated(job.model, op.name, products);
    products += again.products;
    bytes +=
        (1 - again.share) * shapes.element * static_cast<double>(op.m) * static_cast<double>(op.n);
  }
  return bytes;
}

}  // namespace ergometer::workload
