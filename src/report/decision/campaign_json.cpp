
#include "base/json_writer.h"
#include "report/decision/campaign_output.h"
#include "report/summary/job_json.h"
#include "run/run.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;
using base::kOneLine;
using campaign::Campaign;
using campaign::date_after;
using campaign::Estimate;

void write_estimate(JsonWriter& json, const std::string& name, const Estimate& estimate) {
  json.member(name, estimate.median);
  json.member(name + "_low", estimate.low).member(name + "_high", estimate.high);
}

void write_known(JsonWriter& json, const char* name, bool known, const Estimate& estimate) {
  if (known) write_estimate(json, name, estimate);
}

void write_limits(JsonWriter& json, const Campaign& campaign, const campaign::Ask& ask) {
  if (ask.deadline_s > 0) json.member("deadline_probability", campaign.deadline_share);
  if (ask.budget > 0) json.member("budget_probability", campaign.budget_share);
  if (!ask.limit_w.empty()) json.member("power_limit_days", campaign.limit_days);
}

/// The chosen interval; its low and high are those that are as good when played.
void write_interval(JsonWriter& json, const campaign::Kept& kept) {
  json.member("checkpoint_interval_s", kept.interval_s);
  const bool played = kept.simulated_s.median > 0;
  json.member("checkpoint_interval_s_low", played ? kept.simulated_s.low : kept.interval_s);
  json.member("checkpoint_interval_s_high", played ? kept.simulated_s.high : kept.interval_s);
}

void write_answer(JsonWriter& json, const Campaign& campaign, const campaign::Ask& ask) {
  const campaign::Prices& prices = ask.prices;
  const bool power = campaign.training.has_power;
  write_estimate(json, "days", campaign.days);
  json.member("days_mean", campaign.mean_days);
  if (ask.start) {
    json.member("finish", date_after(*ask.start, campaign.days.median));
    json.member("finish_low", date_after(*ask.start, campaign.days.low));
    json.member("finish_high", date_after(*ask.start, campaign.days.high));
  }
  write_estimate(json, "gpu_hours", campaign.gpu_hours);
  write_known(json, "chip_energy_mwh", power, campaign.chip_mwh);
  write_known(json, "plug_energy_mwh", power, campaign.plug_mwh);
  write_known(json, "energy_mwh", power, campaign.energy_mwh);
  write_known(json, "cost", prices.gpu_hour || prices.kwh, campaign.cost);
  write_known(json, "co2_t", power && !prices.carbon_g_per_kwh.empty(), campaign.co2_t);
  write_known(json, "water_m3", power && prices.water_l_per_kwh, campaign.water_m3);
  write_estimate(json, "goodput", campaign.goodput);
  json.member("closed_form_days", campaign.closed_form_days);
  json.member("closed_form_goodput", campaign.closed_form_goodput);
  json.member("tokens_per_s", campaign.tokens_per_s());
  write_limits(json, campaign, ask);
  write_interval(json, campaign.kept);
}

void write_parts(JsonWriter& json, const Campaign& campaign) {
  json.rows("wall_days", campaign.parts, [&](const campaign::Part& part) {
    json.member("name", part.name).member("days", part.days);
  });
}

void write_phases(JsonWriter& json, const Campaign& campaign) {
  json.objects("phases", campaign.training.phases, [&](const campaign::PlayedPhase& phase) {
    json.member("name", phase.name).member("tokens", phase.tokens);
    json.member("seq_length", phase.seq_length).member("global_batch_size", phase.global_batch);
    json.member("steps", phase.steps).member("step_time_s", phase.step_s);
    json.member("evaluations", phase.evaluations).member("evaluation_s", phase.evaluation_s);
    json.member("cluster_mean_w", phase.draw.cluster_w);
  });
}

void write_checkpoints(JsonWriter& json, const campaign::Kept& kept) {
  json.key("checkpoints").begin_object();
  json.member("bytes", kept.bytes).member("stop_s", kept.stop_s).member("write_s", kept.write_s);
  json.member("count", kept.count).member("given", kept.given).member("asked_s", kept.asked_s);
  json.member("best_s", kept.best_s);
  json.member("young_s", kept.young_s).member("daly_s", kept.daly_s);
  write_estimate(json, "simulated_s", kept.simulated_s);
  json.end_object();
}

void write_failures(JsonWriter& json, const Campaign& campaign,
                    const campaign::Failures& failures) {
  write_estimate(json, "failures", campaign.failures);
  json.member("mtbf_s", campaign.mtbf_s);
  json.member("failures_per_gpu_hour", failures.per_gpu_hour);
  json.member("failures_spread", failures.spread).member("failures_source", failures.source);
  json.member("failures_grade", to_string(failures.grade));
}

void write_size(JsonWriter& json, const Campaign& campaign) {
  const campaign::Training& training = campaign.training;
  json.member("gpus", campaign.gpus());
  if (!campaign.refusal.empty()) {
    json.member("refusal", campaign.refusal);
    return;
  }
  json.member("nodes", training.job.nodes()).member("spare_nodes", campaign.spare_nodes);
  json.member("dp", training.job.parallelism.dp).member("fits", training.memory.fits);
  json.member("fit_probability", training.memory.fit_probability);
  json.member("step_time_s", training.step.step_time_s);
  json.member("step_time_s_low", training.step.step_time_s_low);
  json.member("step_time_s_high", training.step.step_time_s_high);
}

void write_campaign(JsonWriter& json, const Campaign& campaign, const campaign::Ask& ask) {
  write_size(json, campaign);
  json.member("tokens", campaign.tokens());
  write_answer(json, campaign, ask);
  write_failures(json, campaign, ask.failures);
  write_parts(json, campaign);
  write_phases(json, campaign);
  write_checkpoints(json, campaign.kept);
}

void write_sizes(JsonWriter& json, const campaign::Sizes& sizes, const campaign::Ask& ask) {
  json.key("sizes").begin_array();
  for (size_t i = 0; i < sizes.campaigns.size(); ++i) {
    const Campaign& campaign = sizes.campaigns[i];
    json.begin_object();
    write_size(json, campaign);
    if (campaign.refusal.empty()) write_answer(json, campaign, ask);
    json.member("meets", static_cast<bool>(sizes.meets[i])).end_object();
  }
  json.end_array();
}

void write_marginals(JsonWriter& json, const campaign::Sizes& sizes) {
  json.objects("marginals", sizes.marginals, [&](const campaign::Marginal& one) {
    json.member("from_gpus", one.from).member("to_gpus", one.to);
    json.member("days_saved", one.days).member("days_saved_by_next_1000", one.days_by_next_1000);
    json.member("tokens_per_s_per_gpu", one.tokens_per_s_per_gpu);
    json.member("tokens_per_j", one.tokens_per_j).member("cost_per_day_saved", one.cost_per_day);
  });
}

}  // namespace

std::string campaign_json(const campaign::Sizes& sizes, const campaign::Ask& ask) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  const Campaign& chosen = sizes.campaigns[sizes.chosen];
  json.key("job").raw(job_json(chosen.training.job));
  json.member("draws", ask.draws);
  json.key("campaign").begin_object();
  write_campaign(json, chosen, ask);
  json.end_object();
  write_sizes(json, sizes, ask);
  write_marginals(json, sizes);
  return json.end_object().take();
}

}  // namespace ergometer::report
