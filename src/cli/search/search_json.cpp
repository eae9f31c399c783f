#include "base/json_writer.h"
#include "cli/search/search_output.h"
#include "cli/search/search_words.h"
#include "launch/megatron.h"
#include "launch/nemo.h"
#include "launch/torchtitan.h"
#include "report/summary/job_json.h"

namespace ergometer::cli {
namespace {

using search::Played;
using search::SearchResult;

void write_estimate(base::JsonWriter& json, const search::Estimate& estimate) {
  json.member("step_time_s", estimate.step_s);
  json.member("memory_bytes", estimate.memory_bytes);
  if (estimate.energy_j <= 0) return;
  json.member("energy_j_per_step", estimate.energy_j);
  json.member("mean_w_per_gpu", estimate.gpu_w);
  json.member("max_gpu_c", estimate.max_gpu_c);
}

/// What runs it, as each framework is told, and what of it the framework runs otherwise than it is
/// predicted; why not where it cannot be told.
void write_settings(base::JsonWriter& json, const spec::Job& job) {
  json.member("megatron_arguments", launch::megatron_text(launch::megatron_layout(job)));
  std::vector<std::string> nemo_notes, toml_notes;
  const auto nemo = launch::nemo_yaml(job, kTrialSteps, nemo_notes);
  json.member(nemo ? "nemo_yaml" : "nemo_refused", nemo ? *nemo : nemo.error().message);
  if (nemo && !nemo_notes.empty()) json.list("nemo_notes", nemo_notes);
  const auto toml = launch::torchtitan_toml(job, kTrialSteps, toml_notes);
  json.member(toml ? "torchtitan_toml" : "torchtitan_refused", toml ? *toml : toml.error().message);
  if (toml && !toml_notes.empty()) json.list("torchtitan_notes", toml_notes);
}

void write_best(base::JsonWriter& json, const Played& played, size_t rank) {
  const run::Run& run = played.run;
  json.begin_object().member("rank", rank);
  write_numbers(json, run);
  json.member("limiter", run.limiter);
  json.member("alike", played.alike);
  json.key("breakdown_s").begin_object();
  for (const auto& [name, seconds] : parts_of(run.performance)) json.member(name, seconds);
  json.end_object();
  json.key("estimate").begin_object();
  write_estimate(json, played.found.estimate);
  json.end_object();
  write_settings(json, played.job);
  json.key("job").raw(report::job_json(played.job));
  json.end_object();
}

void write_played(base::JsonWriter& json, const Played& played) {
  json.begin_object().member("step_time_s", played.run.performance.step_time_s);
  json.member("memory_bytes", played.run.memory.peak_bytes);
  json.member("fits", played.run.memory.fits);
  json.member("fit_probability", played.run.memory.fit_probability);
  if (played.run.has_power) {
    json.member("energy_j_per_step", played.run.power.energy_j_per_step);
    json.member("mean_w_per_gpu", played.run.power.mean_w_per_gpu);
    json.member("max_gpu_c", played.run.thermal.max_gpu_c);
  }
  json.key("job").raw(report::job_json(played.job));
  json.end_object();
}

void write_limits(base::JsonWriter& json, const SearchAnswer& answer) {
  json.objects("limits", answer.result.limits, [&](const search::LimitAnswer& limit) {
    json.member("limit", kLimitWords[limit.limit].option);
    json.member("most", answer.options.limits.most[limit.limit]);
    json.member("unit", kLimitWords[limit.limit].unit);
    json.member("binds", limit.without.has_value());
    if (limit.without) {
      json.key("without");
      write_played(json, *limit.without);
    }
    if (limit.capped) {
      json.member("power_cap_w", limit.capped->job.conditions.power_cap_w);
      json.key("capped");
      write_played(json, *limit.capped);
    }
  });
}

void write_what_if(base::JsonWriter& json, const std::vector<search::WhatIf>& all) {
  json.objects("what_if", all, [&](const search::WhatIf& it) {
    json.member("more", it.more);
    if (!it.impossible.empty()) json.member("impossible", it.impossible);
    if (it.better) {
      json.key("better");
      write_played(json, *it.better);
    }
  });
}

void write_none(base::JsonWriter& json, const SearchAnswer& answer) {
  json.key("nothing_fits").begin_object().member("divisions", answer.none->divisions);
  json.member("too_large", answer.none->legal);
  json.objects("ruled_out", answer.none->ruled_out, [&](const search::RuledOut& reason) {
    json.member("divisions", reason.divisions);
    json.member("why", reason.why);
  });
  if (const auto& nearest = answer.result.nearest) {
    json.key("nearest").begin_object().member("needed_bytes", nearest->needed);
    json.member("capacity_bytes", nearest->capacity);
    json.key("job").raw(report::job_json(answer.space.job(nearest->candidate)));
    json.end_object();
  }
  json.end_object();
}

}  // namespace

void write_numbers(base::JsonWriter& json, const run::Run& run) {
  json.member("step_time_s", run.performance.step_time_s);
  json.member("step_time_s_low", run.performance.step_time_s_low);
  json.member("step_time_s_high", run.performance.step_time_s_high);
  json.member("mfu", run.performance.mfu);
  json.member("tokens_per_s", run.performance.tokens_per_s);
  json.member("memory_bytes", run.memory.peak_bytes);
  json.member("fit_probability", run.memory.fit_probability);
  if (!run.has_power) return;
  json.member("energy_j_per_step", run.power.energy_j_per_step);
  json.member("mean_w_per_gpu", run.power.mean_w_per_gpu);
  json.member("max_gpu_c", run.thermal.max_gpu_c);
  json.member("tokens_per_j", run.power.tokens_per_j);
}

std::string search_json(const SearchAnswer& answer) {
  const SearchResult& result = answer.result;
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("candidates", result.candidates).member("feasible", result.feasible);
  json.member("layouts", result.layouts).member("complete", result.complete);
  json.member("tied", result.tied);
  if (answer.none) write_none(json, answer);
  json.key("best").begin_array();
  for (size_t i = 0; i < result.best.size(); ++i) write_best(json, result.best[i], i + 1);
  json.end_array();
  write_limits(json, answer);
  write_what_if(json, answer.what_if);
  if (answer.own && answer.own->played) {
    json.key("own_layout");
    write_played(json, *answer.own->played);
  } else if (answer.own) {
    json.member("own_layout_refused", answer.own->refused);
  }
  json.objects("front", result.front, [&](const search::Found& found) {
    write_estimate(json, found.estimate);
    json.key("job").raw(report::job_json(answer.space.job(found.candidate)));
  });
  json.rows("knobs", answer.knobs.turned, [&](const search::Turned& turned) {
    json.member("knob", turned.knob).member("value", turned.value).member("fits", turned.fits);
    write_estimate(json, turned.estimate);
  });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::cli
