#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "base/collection.h"
#include "report/explain/explain.h"
#include "run/summary_fields.h"

// Power and heat come out of a loop between clocks, power and temperature; a number of it has a
// sentence, and where it is a sum its parts.

namespace ergometer::report {
namespace {

struct Meaning {
  std::string_view field, unit, text;
  std::string_view interval = {};  ///< of the fields beside it that are its ends: "of the ..."
};
constexpr std::array kPowerMeanings = std::to_array<Meaning>({
    {"power.mean_w_per_gpu", "W", "mean over GPUs and time; the sum of its parts:",
     "of the 90 % interval, from the grades of the power parameters"},
    {"power.p95_w_per_gpu", "W", "what 95 % of all means over 25 ms of all GPUs stay below"},
    {"power.peak_w_per_gpu", "W", "the highest mean over 25 ms of any GPU",
     "of the 90 % interval of the peak"},
    {"power.cluster_mean_w", "W",
     "all nodes at their plugs: nodes x the sum of a node's parts, supplies' losses included:",
     "of its 90 % interval: GPUs', and what nodes draw beside them"},
    {"power.cluster_peak_w", "W", "the highest mean over 25 ms of all nodes at their plugs",
     "of its 90 % interval"},
    {"power.facility_mean_w", "W", "cluster_mean_w x pue"},
    {"power.duration_s", "s", "the time that was played, of which all of this is the mean"},
    {"power.steps", "", "steps in it, with the part of the last one"},
    {"power.energy_j_per_step", "J", "cluster_mean_w x duration_s / steps",
     "of its 90 % interval: power and the step's length, drawn together"},
    {"power.gpu_energy_j_per_step", "J", "gpus x mean_w_per_gpu x duration_s / steps",
     "of its 90 % interval"},
    {"power.tokens_per_j", "", "tokens_per_s x step_time_s / energy_j_per_step"},
    {"thermal.mean_gpu_c", "C", "mean over GPUs and time of the die's temperature",
     "of its 90 % interval"},
    {"thermal.max_gpu_c", "C", "the hottest moment of any die",
     "of the 90 % interval of the hottest die"},
    {"thermal.spread_c", "K",
     "hottest minus coolest GPU of one node, of the node where that is largest"},
    {"thermal.mean_memory_c", "C", "mean over GPUs and time of the HBM's temperature"},
    {"thermal.max_memory_c", "C", "the hottest moment of any HBM"},
    {"thermal.throttled_time_fraction", "",
     "share of GPU time in which power or temperature, not the user, hold the clock down"},
    {"thermal.throttling_cost_s", "s",
     "how much shorter a step would be with every GPU at the clock asked for: the engine plays it"},
    {"thermal.straggler_cost_s", "s",
     "how much shorter a step would be with no GPU slower than the median: the engine plays it"},
    {"thermal.mean_clock_mhz", "MHz", "mean over GPUs and time of the SM clock",
     "of its 90 % interval"},
    {"thermal.lowest_clock_mhz", "MHz", "mean clock of the slowest GPU"},
    {"thermal.inlet_c", "C", "coolant that enters a node, mean over nodes"},
    {"thermal.fan_fraction", "", "speed of fans or pumps, share of full speed, mean over nodes"},
    {"cluster_power.mean_w", "W", "power.cluster_mean_w: all nodes at their plugs, mean over time"},
    {"cluster_power.peak_w", "W",
     "power.cluster_peak_w: all nodes at their plugs, as high as it gets"},
    {"cluster_power.interval_s", "s", "length of one sample of the cluster's power"},
    {"cluster_power.lowest_w", "W", "the lowest of means over as long as a GPU's peak lasts"},
    {"cluster_power.p95_w", "W",
     "what 95 % of means over as long as a GPU's peak lasts do not exceed"},
    {"cluster_power.dominant_hz", "Hz", "frequency of the strongest swing of the cluster's power"},
    {"cluster_power.dominant_rms_w", "W", "root mean square of that swing"},
    {"cluster_power.smoothing_burnt_w", "W",
     "mean power burnt to hold floor and downward ramp of power smoothing"},
});

/// A field's row, and its text there.
std::pair<const Meaning*, std::string> meaning_of(std::string_view field) {
  for (const Meaning& meaning : kPowerMeanings) {
    if (!field.starts_with(meaning.field)) continue;
    const std::string_view end = field.substr(meaning.field.size());
    if (end.empty()) return {&meaning, std::string(meaning.text)};
    if (end == "_low") return {&meaning, fmt::format("lower end {}", meaning.interval)};
    if (end == "_high") return {&meaning, fmt::format("upper end {}", meaning.interval)};
  }
  return {};
}

Explanation power_node(std::string_view name, double value, std::string_view unit,
                       std::string_view text) {
  Explanation node =
      number_node(std::string(name.substr(name.find('.') + 1)), value, unit, std::string(text));
  // Degrees and megahertz take no further prefix.
  if (unit == "C" || unit == "K" || unit == "MHz")
    node.text = fmt::format("{:.1f} {}", value, unit);
  return node;
}

std::vector<Explanation> parts_of(const std::vector<run::PowerPart>& parts) {
  return base::mapped(
      parts, [&](const run::PowerPart& part) { return number_node(part.name, part.watts, "W"); });
}

std::vector<Explanation> inputs_of(const run::Run& run, const spec::Job& job,
                                   std::string_view field) {
  const auto other = [&](std::string_view name) {
    return power_node(name, run::find_summary_field(name)->get(run), meaning_of(name).first->unit,
                      "");
  };
  if (field == "power.mean_w_per_gpu") return parts_of(run.power.gpu_parts);
  if (field == "power.cluster_mean_w") {
    std::vector<Explanation> inputs = parts_of(run.power.node_parts);
    inputs.insert(inputs.begin(),
                  number_node("nodes", static_cast<double>(job.nodes()), "", "gpus / GPUs a node"));
    return inputs;
  }
  if (field == "power.facility_mean_w")
    return {other("power.cluster_mean_w"), explain_setting(job, "pue")};
  if (field == "power.energy_j_per_step")
    return {other("power.cluster_mean_w"), other("power.duration_s"), other("power.steps")};
  if (field == "power.gpu_energy_j_per_step")
    return {explain_setting(job, "gpus"), other("power.mean_w_per_gpu"), other("power.duration_s"),
            other("power.steps")};
  if (field == "power.tokens_per_j")
    return {number_node("tokens_per_s", run.performance.tokens_per_s, ""),
            number_node("step_time_s", run.performance.step_time_s, "s"),
            other("power.energy_j_per_step")};
  if (field.starts_with("thermal."))
    return {explain_setting(job, "cooling"), explain_setting(job, "inlet_c"),
            explain_setting(job, "power_cap"), explain_setting(job, "lock_clock"),
            catalog_node(job, "temperature_target")};
  return {};
}

}  // namespace

Result<Explanation> explain_power(const run::Run& run, const spec::Job& job,
                                  std::string_view field) {
  if (!run.has_power)
    return input_error("--explain: nothing is known of {}: {}", field,
                       job.conditions.constant_clocks
                           ? std::string("clocks are constant")
                           : fmt::format("the catalog lacks power or cooling of {} with {}",
                                         job.cluster.node.name, job.cluster.node.gpu.name));
  const auto [meaning, text] = meaning_of(field);
  if (meaning == nullptr) return input_error("--explain: {} has no explanation", field);
  Explanation node =
      power_node(field, run::find_summary_field(field)->get(run), meaning->unit, text);
  node.inputs = inputs_of(run, job, field);
  if (field.starts_with("thermal.") && field.find("clock") != std::string_view::npos &&
      !run.thermal.limit.empty())
    node.formula += "; limit: " + run.thermal.limit;
  return node;
}

}  // namespace ergometer::report
