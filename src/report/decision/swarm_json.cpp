#include "base/collection.h"
#include "base/json_writer.h"
#include "report/decision/swarm_output.h"
#include "run/run.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;

void write_share(JsonWriter& json, const swarm::Share& share, double total_s) {
  json.member("mean_peers", share.present_s / total_s);
  json.member("busy_fraction", share.present_s > 0 ? share.busy_s / share.present_s : 0);
  json.member("network_fraction", share.present_s > 0 ? share.network_s / share.present_s : 0);
  json.member("micro_batches", share.micro_batches);
}

}  // namespace

std::string swarm_json(const swarm::Swarm& of) {
  const swarm::Outcome& outcome = of.outcome;
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("model", of.model).member("micro_batches", of.micro_batches);
  json.member("steps", static_cast<int64_t>(outcome.step_s.size()));
  json.member("total_time_s", outcome.total_s).member("tokens_per_s", of.tokens_per_s());
  json.member("tokens_per_s_low", of.tokens_per_s_low);
  json.member("tokens_per_s_high", of.tokens_per_s_high);
  json.member("draws", of.draws);
  json.member("churn_tokens_per_s_low", of.churn_tokens_per_s_low);
  json.member("churn_tokens_per_s_high", of.churn_tokens_per_s_high);
  json.list("step_times_s", outcome.step_s);
  json.member("left", outcome.left).member("joined", outcome.joined);
  json.member("moved", outcome.moved).member("redone_forwards", outcome.redone);
  json.objects("peer_stages", outcome.stages,
               [&](const swarm::Share& share) { write_share(json, share, outcome.total_s); });
  json.objects("peer_kinds", of.kinds, [&](const swarm::KindPlayed& it) {
    json.member("name", it.kind.name).member("gpu", it.gpu).member("count", it.kind.count);
    json.member("fits", it.fits).member("one_f_one_b_step_time_s", it.one_f_one_b_s);
    write_share(json, it.share, outcome.total_s);
    json.member("gpu_hours", it.share.present_s / 3600).member("dollars", it.dollars());
    if (it.busy_w > 0) json.member("gpu_energy_j", it.energy_j());
  });
  json.member("widths_of", of.widths_of);
  json.objects("widths", of.widths, [&](const swarm::Width& width) {
    json.member("hidden_size", width.hidden).member("compute_s", width.compute_s);
    json.member("transfer_s", width.transfer_s);
  });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
