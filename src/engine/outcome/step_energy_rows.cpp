#include "engine/outcome/step_energy_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "engine/views/kernel_list.h"
#include "engine/views/step_tasks.h"

namespace ergometer::engine {
namespace {

using workload::Module;
using workload::Operator;
using workload::Pass;

constexpr std::string_view kIdle = "idle";
constexpr std::string_view kGradients = "gradient_reduction", kNorm = "gradient_norm",
                           kParameters = "parameter_gather", kTransfer = "pipeline_transfer";
/// In the order of a step.
constexpr std::array<std::string_view, 9> kPhases = {"forward",   "recompute", "backward",
                                                     "weight",    kGradients,  kNorm,
                                                     "optimizer", kParameters, kTransfer};

std::string phase_of(const Operator& op) {
  if (op.module == Module::kPipeline) return std::string(kTransfer);
  if (op.group == workload::GroupKind::kWorld) return std::string(kNorm);
  if (op.module != Module::kData) return std::string(pass_word(op.pass));
  return std::string(op.pass == Pass::kForward ? kParameters : kGradients);
}

std::string collective_of(const Operator& op) {
  if (op.kind == workload::OperatorKind::kCollective)
    return fmt::format("{} {}", group_word(op.group), collective_word(op.collective));
  return op.pass == Pass::kOptimizer ? "optimizer" : "compute";
}

/// By operator; empty of those that the plan adds.
std::vector<std::string> blocks_of(const plan::Plan& plan, const workload::Workload& workload) {
  std::vector<std::string> blocks(plan.operators.size());
  for (const workload::Block& block : workload.blocks)
    for (const auto* items : {&block.forward, &block.backward, &block.recompute})
      for (const workload::Item& item : *items)
        if (item.kind == workload::Item::Kind::kOperator)
          blocks[static_cast<size_t>(item.op)] = block.name;
  return blocks;
}

class Table {
 public:
  Table(double ranks, std::vector<run::EnergyRow>& rows) : ranks_(ranks), rows_(rows) {}

  void row(std::string_view dimension, const std::string& name, const EnergyUse& use) {
    rows_.push_back({.dimension = std::string(dimension),
                     .name = name,
                     .joules = use.joules(),
                     .work_joules = use.work_j,
                     .seconds = use.seconds / ranks_});
  }
  void idle(std::string_view dimension, const EnergyUse& use) {
    if (use.joules() > 0) row(dimension, std::string(kIdle), use);
  }
  /// One row for each name, the dearest first.
  void by_name(std::string_view dimension, const std::vector<std::string>& names,
               const EnergyTotals& totals) {
    std::vector<std::pair<std::string, EnergyUse>> sums = sums_of(names, totals.operators);
    std::ranges::stable_sort(
        sums, [](const auto& a, const auto& b) { return a.second.joules() > b.second.joules(); });
    for (const auto& [name, use] : sums)
      if (use.joules() > 0) row(dimension, name, use);
    idle(dimension, totals.idle);
  }
  void by_phase(const std::vector<std::string>& names, const EnergyTotals& totals) {
    const auto sums = sums_of(names, totals.operators);
    for (const std::string_view phase : kPhases)
      for (const auto& [name, use] : sums)
        if (name == phase && use.joules() > 0) row("phase", name, use);
    idle("phase", totals.idle);
  }

 private:
  static std::vector<std::pair<std::string, EnergyUse>> sums_of(
      const std::vector<std::string>& names, const std::vector<EnergyUse>& uses) {
    std::map<std::string, EnergyUse> sums;
    for (size_t i = 0; i < uses.size(); ++i) sums[names[i]] += uses[i];
    return {sums.begin(), sums.end()};
  }

  double ranks_;
  std::vector<run::EnergyRow>& rows_;
};

}  // namespace

std::string EnergyNames::stack(size_t stage, size_t op) const {
  std::string frames = fmt::format("stage {};{}", stage, phase[op]);
  if (in_block[op]) frames += ';' + block[op];
  return frames + ';' + name[op];
}

EnergyNames energy_names(const plan::Plan& plan, const workload::Workload& workload) {
  EnergyNames names;
  names.block = blocks_of(plan, workload);
  for (size_t layer = 0; layer < workload.layer_blocks.size(); ++layer)
    names.places.push_back(fmt::format("layer {}", layer));
  std::map<std::string, size_t> others;
  for (size_t i = 0; i < plan.operators.size(); ++i) {
    const Operator& op = plan.operators[i];
    names.phase.push_back(phase_of(op));
    names.kind.push_back(kernel_category(op));
    names.name.push_back(op.name);
    names.collective.push_back(collective_of(op));
    names.in_block.push_back(!names.block[i].empty());
    if (!names.in_block[i]) names.block[i] = names.phase[i];
    const auto [found, is_new] = others.try_emplace(names.block[i], names.places.size());
    if (is_new) names.places.push_back(names.block[i]);
    names.place.push_back(found->second);
  }
  return names;
}

std::vector<run::EnergyRow> energy_rows(const EnergyTotals& totals, const EnergyNames& names,
                                        const run::Power& power, double ranks) {
  std::vector<run::EnergyRow> rows;
  Table table(ranks, rows);
  table.by_phase(names.phase, totals);
  for (size_t role = 0; role < totals.roles.size(); ++role)
    table.row("stage", fmt::format("stage {}", role), totals.roles[role]);
  table.by_name("block", names.block, totals);
  for (const auto& [stack, use] : totals.stacks)
    if (use.joules() > 0) table.row(run::kStackDimension, stack, use);
  for (size_t place = 0; place < totals.places.size(); ++place)
    if (totals.places[place].joules() > 0)
      table.row("layer", names.places[place], totals.places[place]);
  table.idle("layer", totals.idle);
  table.by_name("kind", names.kind, totals);
  table.by_name("operator", names.name, totals);
  table.by_name("collective", names.collective, totals);
  const double step_s = power.duration_s / power.steps;
  for (const run::PowerPart& part : power.gpu_parts)
    rows.push_back({.dimension = "part",
                    .name = part.name,
                    .joules = part.watts * ranks * step_s,
                    .work_joules = 0,
                    .seconds = 0});
  return rows;
}

}  // namespace ergometer::engine
