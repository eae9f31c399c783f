#include "page/what_if_part.h"

#include <array>
#include <string>
#include <string_view>

#include "page/columns.h"
#include "report/decision/comparison_json.h"
#include "run/fit_words.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;

/// What the page shows of a neighbour, by its name in the summary.
constexpr std::array kShown = std::to_array<std::string_view>({"performance.step_time_s",
                                                               "performance.step_time_s_low",
                                                               "performance.step_time_s_high",
                                                               "performance.tokens_per_s",
                                                               "performance.mfu",
                                                               "memory.peak_bytes",
                                                               "memory.reserved_bytes",
                                                               "memory.capacity_bytes",
                                                               "memory.fit_probability",
                                                               "power.energy_j_per_step",
                                                               "power.energy_j_per_step_low",
                                                               "power.energy_j_per_step_high",
                                                               "power.mean_w_per_gpu",
                                                               "power.mean_w_per_gpu_low",
                                                               "power.mean_w_per_gpu_high",
                                                               "thermal.max_gpu_c",
                                                               "thermal.max_gpu_c_low",
                                                               "thermal.max_gpu_c_high",
                                                               "thermal.mean_clock_mhz",
                                                               "thermal.throttled_time_fraction"});

std::string_view unit_of(const spec::SettingInfo& setting) {
  return setting.kind == spec::SettingKind::kMeasure ? setting.unit : "";
}

void write_ladders(JsonWriter& json, const study::WhatIf& what_if) {
  json.rows("ladders", what_if.ladders, [&](const study::Ladder& ladder) {
    json.member("word", ladder.word());
    json.member("name", ladder.setting->name).member("help", ladder.setting->help);
    json.known("unit", unit_of(*ladder.setting));
    column(json, "values", ladder.values);
    json.member("own", ladder.own);
  });
}

void write_positions(JsonWriter& json, const study::WhatIf& what_if) {
  json.array("at", what_if.at, [&](const std::vector<size_t>& at) {
    json.begin_array(base::kOneLine);
    for (const size_t position : at) json.value(position);
    json.end_array();
  });
}

/// Columns of the numbers that are known.
void write_numbers(JsonWriter& json, const study::WhatIf& what_if) {
  json.key("numbers").begin_object();
  for (const std::string_view shown : kShown) {
    const std::string name(shown);
    if (!what_if.points[what_if.job].values.contains(name)) continue;
    json.array(name, base::kOneLine, what_if.points, [&](const run::StudyPoint& point) {
      const auto value = point.values.find(name);
      value == point.values.end() ? json.null() : json.value(value->second);
    });
  }
  json.end_object();
}

void write_comparisons(JsonWriter& json, const study::WhatIf& what_if) {
  json.array("comparisons", what_if.comparisons,
             [&](const std::optional<compare::Comparison>& comparison) {
               if (!comparison) {
                 json.null();
                 return;
               }
               json.begin_object();
               report::write_comparison(json, *comparison);
               json.end_object();
             });
}

}  // namespace

void write_what_if(JsonWriter& json, const study::WhatIf& what_if) {
  json.key("what_if").begin_object();
  write_ladders(json, what_if);
  write_positions(json, what_if);
  json.member("job", what_if.job);
  column(json, "replicas", what_if.replicas);
  std::vector<std::string> advice;
  json.array("fit", base::kOneLine, what_if.points, [&](const run::StudyPoint& point) {
    const double probability = point.values.at("memory.fit_probability");
    json.value(run::fit_words(run::fit_state(probability)));
    advice.push_back(point.reason);
  });
  column(json, "advice", advice);
  write_numbers(json, what_if);
  write_comparisons(json, what_if);
  json.end_object();
}

}  // namespace ergometer::page
