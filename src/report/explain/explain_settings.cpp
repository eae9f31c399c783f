#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "report/explain/explain.h"
#include "spec/settings/schedule_file.h"
#include "spec/settings/setting_values.h"
#include "spec/settings/settings.h"

// The resolved value of every setting, beside where it came from. Settings that say the same in
// another way
// (--bf16 for --precision, a layout for layer counts) have no value of their own and are shown
// under the one they set.

namespace ergometer::report {
namespace {

using spec::Job;

std::string text_of(double number) { return fmt::format("{:g}", number); }
std::string text_of(bool truth) { return truth ? "on" : "off"; }
std::string text_of(const std::string& text) { return text; }
std::string text_of(const std::vector<std::string>& texts) {
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ","));
}
std::string text_of(const std::vector<int64_t>& numbers) {
  return numbers.empty() ? "even" : fmt::format("{}", fmt::join(numbers, ","));
}

std::string set(double value, std::string_view unit) {
  return value == 0 ? "not set" : fmt::format("{:g}{}", value, unit);
}
std::string order(const spec::PipelineOrder& order) {
  if (order.stages.empty()) return "";
  return fmt::format("{} stages, {} micro batches", order.stages.size(),
                     spec::micro_batches_of(order));
}
std::string smoothing(const spec::Conditions& c) {
  if (c.smoothing_floor == 0) return "none";
  return fmt::format("floor {:g}, up {}, down {}, hysteresis {:g} s", c.smoothing_floor,
                     set(c.smoothing_up_w_per_s, " W/s"), set(c.smoothing_down_w_per_s, " W/s"),
                     c.smoothing_hysteresis_s);
}
std::string run_phases(const spec::RunPhases& run) {
  if (!run.given()) return "not set";
  std::string text =
      run.steps > 0 ? fmt::format("{:g} steps", run.steps) : fmt::format("{:g} s", run.length_s);
  if (run.eval_every > 0)
    text += fmt::format(
        ", {:g} batches evaluated every {:g} steps from step {:g} on, with a pause of {:g} s",
        run.eval_batches, run.eval_every, run.eval_from, run.eval_pause_s);
  return text + fmt::format(", pauses of {:g} s", run.pause_s);
}
std::vector<std::string> overrides(const spec::Conditions& c) {
  return base::mapped(c.overrides, &spec::Override::text);
}

/// Settings that people are told otherwise than `spec::setting_value` says them.
struct Entry {
  std::string_view name;
  std::string (*value)(const Job&);
};

#define ERGOMETER_ENTRY(name, expression)                    \
  Entry {                                                    \
    name, [](const Job& job) { return text_of(expression); } \
  }

constexpr std::array kEntries = std::to_array<Entry>({
    ERGOMETER_ENTRY("model", job.model.name),
    ERGOMETER_ENTRY("cluster", job.cluster.name),
    ERGOMETER_ENTRY("stage_layers", job.parallelism.stage_layers),
    ERGOMETER_ENTRY("layers_by_speed", job.parallelism.layers_by_speed),
    ERGOMETER_ENTRY("batches_by_speed", job.parallelism.group_micro_batches),
    ERGOMETER_ENTRY("schedule_file", order(job.parallelism.order)),
    ERGOMETER_ENTRY("rank_map", job.parallelism.rank_map),
    ERGOMETER_ENTRY("software", job.software.name),
    ERGOMETER_ENTRY("recompute_stage_layers", job.training.recompute_stage_layers),
    ERGOMETER_ENTRY("ddp_bucket_size", job.training.bucket_elements),
    ERGOMETER_ENTRY("power_cap", set(job.conditions.power_cap_w, " W")),
    ERGOMETER_ENTRY("lock_clock", set(job.conditions.lock_clock_hz / 1e6, " MHz")),
    ERGOMETER_ENTRY("inlet_c", job.conditions.has_inlet
                                   ? fmt::format("{:g} C", job.conditions.inlet_c)
                                   : std::string("not set")),
    ERGOMETER_ENTRY("fan", set(100 * job.conditions.fan, " %")),
    ERGOMETER_ENTRY("duration", set(job.conditions.duration_s, " s")),
    ERGOMETER_ENTRY("measured_step", set(static_cast<double>(job.conditions.measured_step), "")),
    ERGOMETER_ENTRY("steady", job.conditions.is_steady()),
    ERGOMETER_ENTRY("start_c", set(job.conditions.start_c, " C")),
    ERGOMETER_ENTRY("run_phases", run_phases(job.conditions.run)),
    ERGOMETER_ENTRY("cluster_cap", set(job.conditions.cluster_cap_w, " W")),
    ERGOMETER_ENTRY("power_smoothing", smoothing(job.conditions)),
    ERGOMETER_ENTRY("override", overrides(job.conditions)),
});

#undef ERGOMETER_ENTRY

std::string value_of(const Job& job, std::string_view name) {
  const auto entry = std::ranges::find(kEntries, name, &Entry::name);
  return entry == kEntries.end() ? spec::setting_value(name, job) : entry->value(job);
}

}  // namespace

Explanation explain_setting(const Job& job, std::string_view name) {
  Explanation setting;
  setting.name = name;
  setting.text = value_of(job, name);
  if (const auto origin = job.origins.find(setting.name); origin != job.origins.end())
    setting.source = origin->second.text;
  return setting;
}

Explanation explain_settings(const Job& job) {
  Explanation root;
  root.name = "settings";
  for (const spec::SettingInfo& setting : spec::setting_table()) {
    // What nobody asked for and no rule set has no part in this job.
    if (value_of(job, setting.name).empty() ||
        job.origins.find(std::string(setting.name)) == job.origins.end())
      continue;
    if (root.inputs.empty() || root.inputs.back().name != setting.group)
      root.inputs.push_back({std::string(setting.group), {}, {}, {}, {}, {}});
    root.inputs.back().inputs.push_back(explain_setting(job, setting.name));
  }
  return root;
}

}  // namespace ergometer::report
