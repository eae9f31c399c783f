#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/nearest.h"
#include "base/text.h"
#include "cost/cost.h"
#include "plan/plan.h"
#include "report/explain.h"
#include "report/format.h"
#include "report/job_json.h"
#include "spec/parameter_table.h"

// The price of one operator: its shape, the formula of the cost room's file of that name, and every
// catalog parameter of that family with its source and grade.

namespace ergometer::report {
namespace {

using workload::Operator;
using workload::OperatorKind;

/// The formula's short form, in the words of the parameters; the whole of it opens the cost room's
/// files.
struct Family {
  OperatorKind kind;
  std::string_view formula;
  std::string_view parameters;  ///< prefix of the names that enter
};
constexpr std::array kFamilies = std::to_array<Family>({
    {OperatorKind::kGemm,
     "gemm.fixed + kernel.latency + max(2 m n k / rate, bytes / (gemm.memory_efficiency x HBM)); "
     "rate = peak x "
     "gemm.efficiency x (useful share of the tiles)^gemm.quantization x k / (k + gemm.k_ramp)",
     "gemm."},
    {OperatorKind::kGroupedGemm,
     "as a GEMM of all groups; rate = peak x grouped.efficiency x m / (m + grouped.m_ramp) x k / "
     "(k + "
     "grouped.k_ramp)",
     "grouped."},
    {OperatorKind::kAttention,
     "attention.fixed + kernel.latency + FLOP / (peak x attention.forward or .backward x t / (t + "
     "attention.tile_ramp)), t: work tiles an SM",
     "attention."},
    {OperatorKind::kMemory,
     "kernels x (kernel.latency + memory.ramp) + bytes / (memory.efficiency x HBM)", "memory."},
    {OperatorKind::kCollective,
     "the quicker of two protocols: latency + ramp + wire bytes / bandwidth, or the low-latency "
     "one's; wire bytes of "
     "a ring of n: (n - 1) / n of the buffer, twice that for an all-reduce; between nodes the "
     "slower of the two levels",
     ""},
});

const Family& family_of(const Operator& op) {
  return *std::find_if(kFamilies.begin(), kFamilies.end(),
                       [&](const Family& f) { return f.kind == op.kind; });
}

Explanation number(std::string name, double value, std::string_view unit, std::string source = {}) {
  return {std::move(name), format_quantity(value, unit), value, {}, std::move(source), {}};
}

std::string pass_word(workload::Pass pass) {
  switch (pass) {
    case workload::Pass::kForward: return "forward";
    case workload::Pass::kRecompute: return "recomputation";
    case workload::Pass::kBackward: return "backward, input gradient";
    case workload::Pass::kWeight: return "backward, weight gradient";
    case workload::Pass::kOptimizer: return "optimizer";
  }
  return {};
}

std::string limit_word(cost::Limit limit) {
  switch (limit) {
    case cost::Limit::kCompute: return "compute bound";
    case cost::Limit::kMemory: return "memory bound";
    case cost::Limit::kLatency: return "latency bound";
    case cost::Limit::kLink: return "link bound";
  }
  return {};
}

void add_parameters(Explanation& to, const base::ParameterSet& set, std::string_view prefix,
                    std::string_view where) {
  for (const auto& [name, parameter] : set.all()) {
    if (!name.starts_with(prefix)) continue;
    to.inputs.push_back(
        number(name, parameter.value, parameter.unit,
               fmt::format("{}{}; {}", where, to_string(parameter.grade), parameter.source)));
  }
}

void add_shape(Explanation& to, const Operator& op) {
  const auto add = [&](const char* name, int64_t value) {
    to.inputs.push_back({name,
                         std::to_string(value),
                         static_cast<double>(value),
                         {},
                         "this rank's share of the shape",
                         {}});
  };
  if (op.kind == OperatorKind::kGemm || op.kind == OperatorKind::kGroupedGemm) {
    add("m", op.m);
    add("n", op.n);
    add("k", op.k);
    if (op.groups > 1) add("groups", op.groups);
  }
  if (op.kind == OperatorKind::kAttention) {
    add("heads", op.attention.heads);
    add("kv_heads", op.attention.kv_heads);
    add("q_length", op.attention.q_length);
    add("kv_length", op.attention.kv_length);
    add("qk_dim", op.attention.qk_dim);
  }
  if (op.flops > 0) to.inputs.push_back(number("FLOP", op.flops, "FLOP"));
  if (op.bytes > 0)
    to.inputs.push_back(number("bytes", op.bytes, "B", "HBM traffic, read and written"));
  if (op.comm_bytes > 0) to.inputs.push_back(number("buffer", op.comm_bytes, "B"));
}

void add_collective_parameters(Explanation& to, const spec::Job& job, bool leaves_node) {
  const spec::Cluster& cluster = job.cluster;
  add_parameters(to, cluster.node.parameters, "collective.", "in the node: ");
  add_parameters(to, cluster.node.parameters, "intra.", "in the node: ");
  if (!leaves_node) return;
  add_parameters(to, cluster.node.parameters, "nic0.", "in the node: ");
  add_parameters(to, cluster.fabric.parameters, "collective.", "between nodes: ");
}

/// A memory-bound kernel runs at the efficiency of its own kind.
void add_memory_parameters(Explanation& to, const spec::Gpu& gpu, const Operator& op) {
  const char* share = op.module == workload::Module::kLoss  ? "memory.cross_entropy"
                      : op.module == workload::Module::kMoe ? "memory.permute"
                                                            : "memory.efficiency";
  add_parameters(to, gpu.parameters, "kernel.", "");
  add_parameters(to, gpu.parameters, share, "");
  add_parameters(to, gpu.parameters, "memory.ramp", "");
  add_parameters(to, gpu.parameters, "memory_bandwidth", gpu.name + ": ");
}

/// A matrix operator runs against the data sheet's peak, scaled to the sustained clock.
void add_matrix_parameters(Explanation& to, const spec::Gpu& gpu, const Operator& op) {
  for (const std::string& name :
       {fmt::format("peak_{}", to_word(op.precision)), std::string("sustained_clock"),
        std::string("boost_clock"), std::string("memory_bandwidth")})
    add_parameters(to, gpu.parameters, name, gpu.name + ": ");
  add_parameters(to, gpu.parameters, "kernel.", "");
  add_parameters(to, gpu.parameters, family_of(op).parameters, "");
}

Explanation explain_one(const spec::Job& job, const Operator& op, const plan::GroupPlacement& where,
                        const cost::CostModel& model, bool with_parameters) {
  const cost::Price price = model.price(op, where);
  Explanation node = number(fmt::format("{}, {}", op.name, pass_word(op.pass)), price.seconds(),
                            "s", limit_word(price.limit));
  node.formula = family_of(op).formula;
  add_shape(node, op);
  if (op.kind == OperatorKind::kCollective) {
    node.inputs.push_back(
        number("ranks", static_cast<double>(where.size), "",
               fmt::format("on {} {}", where.nodes, where.nodes == 1 ? "node" : "nodes")));
    if (where.nic_bytes_per_s > 0)
      node.inputs.push_back(number("NIC line rate of one group", where.nic_bytes_per_s, "B/s"));
  }
  if (!with_parameters) return node;
  const spec::Gpu& gpu = job.cluster.node.gpu;
  switch (op.kind) {
    case OperatorKind::kCollective: add_collective_parameters(node, job, where.nodes > 1); break;
    case OperatorKind::kMemory: add_memory_parameters(node, gpu, op); break;
    default: add_matrix_parameters(node, gpu, op); break;
  }
  return node;
}

/// Two operators alike in everything that is shown are told once.
std::string signature(const Operator& op) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", op.name, static_cast<int>(op.pass), op.m, op.n,
                     op.k, op.groups, op.flops, op.bytes, op.comm_bytes);
}

struct Total {
  std::string name;
  double seconds = 0;
  int64_t count = 0;
};

/// By operator name and pass, in the order of the program.
std::vector<Total> compute_totals(const plan::Plan& plan, const cost::CostTable& costs) {
  std::vector<Total> totals;
  std::map<std::string, size_t> index;
  for (const plan::Instruction& it : plan.roles.front().program) {
    if (it.kind != plan::InstructionKind::kCompute) continue;
    const Operator& op = plan.operators[static_cast<size_t>(it.op)];
    if (op.pass == workload::Pass::kOptimizer) continue;
    const std::string name = fmt::format("op:{}, {}", op.name, pass_word(op.pass));
    const auto [found, is_new] = index.try_emplace(name, totals.size());
    if (is_new) totals.push_back({name, 0, 0});
    totals[found->second].seconds += costs.prices.front()[static_cast<size_t>(it.op)].seconds();
    totals[found->second].count += 1;
  }
  return totals;
}

}  // namespace

base::Result<std::vector<Explanation>> heaviest_operators(const spec::Job& job) {
  constexpr size_t kShown = 12;
  const plan::Plan plan = plan::make_plan(job, workload::lower(job));
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  std::vector<Total> totals = compute_totals(plan, cost::price_plan(model, plan, job));
  std::stable_sort(totals.begin(), totals.end(),
                   [](const Total& a, const Total& b) { return a.seconds > b.seconds; });
  if (totals.size() > kShown) totals.resize(kShown);
  std::vector<Explanation> nodes;
  for (const Total& total : totals) {
    nodes.push_back(number(total.name, total.seconds, "s"));
    nodes.back().formula =
        fmt::format("{} x {} each", total.count,
                    base::format_seconds(total.seconds / static_cast<double>(total.count)));
  }
  return nodes;
}

base::Result<Explanation> explain_operator(const spec::Job& job, const std::string& name) {
  const plan::Plan plan = plan::make_plan(job, workload::lower(job));
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  Explanation root{
      "op:" + name, "seconds on one rank at the GPU's sustained clock", {}, {}, {}, {}};
  std::set<std::string> told, names;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < plan.operators.size(); ++i) {
    const Operator& op = plan.operators[i];
    names.insert(op.name);
    if (op.name == name && told.insert(signature(op)).second) chosen.push_back(i);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) {
    return plan.operators[a].pass < plan.operators[b].pass;
  });
  for (const size_t i : chosen)
    root.inputs.push_back(explain_one(job, plan.operators[i], plan.placements.front()[i], model,
                                      root.inputs.empty()));
  if (!root.inputs.empty()) return root;
  std::string message = fmt::format("--explain op:{}: this job has no such operator; it has {}",
                                    name, fmt::join(names, ", "));
  if (const auto guess = base::nearest(name, names))
    message += fmt::format("; did you mean {}?", *guess);
  return base::input_error(message);
}

}  // namespace ergometer::report
