#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/collection.h"
#include "base/nearest.h"
#include "base/text.h"
#include "report/explain/explain.h"
#include "report/format.h"

// What a step's energy is spent on, as `run::Power::step_energy` has it: nothing is computed here
// but shares.

namespace ergometer::report {
namespace {

struct Dimension {
  std::string_view name, text;
};
constexpr std::array kDimensions = std::to_array<Dimension>({
    {"phase",
     "what the step does; backward: gradients of inputs, weight: of weights, idle: waiting for a "
     "pipeline neighbour, the host or the end of the step"},
    {"stage", "GPUs of a pipeline stage"},
    {"block", "parts of the model, and what belongs to none"},
    {"layer", "the model's layers one by one"},
    {"kind", "kinds of kernels"},
    {"operator", "operators, all passes of them; op:NAME explains the price of one"},
    {"collective", "collectives by group and kind, and the rest"},
    {"part", "what draws it in a GPU: the mean parts of its power times the step"},
});
constexpr size_t kMostRows = 8;  ///< of a dimension among all of them

std::vector<run::EnergyRow> rows_of(const run::Run& run, std::string_view dimension) {
  std::vector<run::EnergyRow> rows;
  for (const run::EnergyRow& row : run.power.step_energy)
    if (row.dimension == dimension) rows.push_back(row);
  return rows;
}

std::vector<double> joules_of(const std::vector<run::EnergyRow>& rows) {
  return base::mapped(rows, &run::EnergyRow::joules);
}

/// Positions, the largest value first.
std::vector<size_t> dearest_first(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return values[a] > values[b]; });
  return order;
}

void add(const run::EnergyRow& row, run::EnergyRow& sum) {
  sum.joules += row.joules;
  sum.work_joules += row.work_joules;
  sum.seconds += row.seconds;
}

/// Neighbouring layers that take the same, as those of a stage do, become one row: "layers 2-9".
std::vector<run::EnergyRow> merged(const std::vector<run::EnergyRow>& rows) {
  constexpr double kSame = 1e-3;
  constexpr std::string_view kLayer = "layer ";
  std::vector<run::EnergyRow> result;
  double first_j = 0;
  std::string first;  // number of the first layer of a run; empty: no run
  for (const run::EnergyRow& row : rows) {
    const bool layer = row.name.starts_with(kLayer);
    if (layer && !first.empty() && std::abs(row.joules - first_j) <= kSame * first_j) {
      add(row, result.back());
      result.back().name = fmt::format("layers {}-{}", first, row.name.substr(kLayer.size()));
      continue;
    }
    first = layer ? row.name.substr(kLayer.size()) : "";
    first_j = row.joules;
    result.push_back(row);
  }
  return result;
}

/// The dearest rows in their order, and the others together.
std::vector<run::EnergyRow> dearest_rows(const std::vector<run::EnergyRow>& rows) {
  if (rows.size() <= kMostRows) return rows;
  std::vector<size_t> order = dearest_first(joules_of(rows));
  order.resize(kMostRows - 1);
  std::vector<run::EnergyRow> kept;
  run::EnergyRow others;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (base::contains(order, i))
      kept.push_back(rows[i]);
    else
      add(rows[i], others);
  }
  others.name = fmt::format("{} others", rows.size() - kept.size());
  kept.push_back(others);
  return kept;
}

enum class Detail : uint8_t { kShares, kEverything };

Explanation dimension_node(const run::Run& run, const Dimension& dimension, Detail detail) {
  const bool whole = detail == Detail::kEverything;
  std::vector<run::EnergyRow> rows = rows_of(run, dimension.name);
  if (!whole) rows = dearest_rows(merged(rows));
  Explanation node{
      fmt::format("energy.{}", dimension.name), {}, {}, std::string(dimension.text), {}, {}};
  const std::vector<int> tenths = shares_in_tenths(joules_of(rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    const run::EnergyRow& row = rows[i];
    Explanation child = number_node(row.name, row.joules, "J");
    child.text += fmt::format(", {}.{} %", tenths[i] / 10, tenths[i] % 10);
    if (whole && row.is_divided())
      child.formula = fmt::format(
          "work {} + standing {} in {}", format_quantity(row.work_joules, "J"),
          format_quantity(row.joules - row.work_joules, "J"), base::format_seconds(row.seconds));
    node.inputs.push_back(std::move(child));
  }
  return node;
}

}  // namespace

std::vector<int> shares_in_tenths(const std::vector<double>& values) {
  constexpr int kWhole = 1000;
  const double sum = base::sum(values);
  std::vector<int> shares(values.size());
  if (!(sum > 0)) return shares;
  int missing = kWhole;
  for (size_t i = 0; i < values.size(); ++i) {
    shares[i] = static_cast<int>(std::lround(kWhole * values[i] / sum));
    missing -= shares[i];
  }
  const std::vector<size_t> order = dearest_first(values);
  for (size_t i = 0; missing != 0; ++i) {
    const int step = missing > 0 ? 1 : -1;
    shares[order[i]] += step;
    missing -= step;
  }
  return shares;
}

Result<Explanation> explain_energy(const run::Run& run, const spec::Job& job,
                                   const std::string& name) {
  ERGOMETER_ASSIGN(Explanation root, explain_power(run, job, "power.gpu_energy_j_per_step"));
  root.name = "energy";
  root.formula += fmt::format(
      "; what GPUs draw of the {} at the plugs (power.energy_j_per_step); the parts of it:",
      format_quantity(run.power.energy_j_per_step, "J"));
  root.inputs.clear();
  if (name == "energy") {
    for (const Dimension& dimension : kDimensions)
      root.inputs.push_back(dimension_node(run, dimension, Detail::kShares));
    return root;
  }
  std::vector<std::string> known;
  for (const Dimension& dimension : kDimensions) {
    known.push_back(fmt::format("energy.{}", dimension.name));
    if (known.back() != name) continue;
    root.formula +=
        " work is what operators take; standing is constant power, leakage, clock tree and "
        "smoothing, by the time that the compute stream runs or waits for them, mean over GPUs";
    root.inputs.push_back(dimension_node(run, dimension, Detail::kEverything));
    return root;
  }
  return input_error("--explain: there is no {}; there are {}{}", name, fmt::join(known, ", "),
                     base::did_you_mean(name, known));
}

}  // namespace ergometer::report
