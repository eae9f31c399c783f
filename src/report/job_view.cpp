#include "report/job_view.h"

#include <nlohmann/json.hpp>

namespace ergometer::report {
namespace {

using Json = nlohmann::json;

/// The member, or null: a Run from elsewhere may lack any of them.
const Json& member(const Json& object, const char* name) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

std::string text(const Json& object, const char* name) {
  const Json& found = member(object, name);
  return found.is_string() ? found.get<std::string>() : std::string();
}

int64_t integer(const Json& object, const char* name) {
  const Json& found = member(object, name);
  return found.is_number() ? found.get<int64_t>() : 0;
}

double real(const Json& object, const char* name) {
  const Json& found = member(object, name);
  return found.is_number() ? found.get<double>() : 0;
}

bool truth(const Json& object, const char* name) {
  const Json& found = member(object, name);
  return found.is_boolean() && found.get<bool>();
}

}  // namespace

JobView view_job(const std::string& job_json) {
  const Json job = Json::parse(job_json, nullptr, /*allow_exceptions=*/false);
  const Json &model = member(job, "model"), &cluster = member(job, "cluster");
  const Json &layout = member(job, "parallelism"), &training = member(job, "training");
  JobView view;
  view.model = text(model, "name");
  view.parameters = real(model, "parameters");
  view.active_parameters = real(model, "active_parameters");
  view.cluster = text(cluster, "name");
  view.gpu = text(cluster, "gpu");
  view.fabric = text(cluster, "fabric");
  view.gpus = integer(cluster, "gpus");
  view.nodes = integer(cluster, "nodes");
  view.gpus_per_node = integer(cluster, "gpus_per_node");
  view.nics_per_node = integer(cluster, "nics_per_node");
  view.tp = integer(layout, "tp");
  view.cp = integer(layout, "cp");
  view.pp = integer(layout, "pp");
  view.vpp = integer(layout, "vpp");
  view.dp = integer(layout, "dp");
  view.ep = integer(layout, "ep");
  view.zero = integer(layout, "zero");
  view.fsdp = truth(layout, "fsdp");
  view.sequence_parallel = truth(layout, "sequence_parallel");
  view.schedule = text(layout, "schedule");
  view.mode = text(training, "mode");
  view.precision = text(training, "precision");
  view.recompute = text(training, "recompute");
  view.micro_batch = integer(training, "micro_batch_size");
  view.global_batch = integer(training, "global_batch_size");
  view.micro_batches = integer(training, "micro_batches");
  view.seq_length = integer(training, "seq_length");
  view.generate_tokens = integer(training, "generate_tokens");
  view.lora_rank = integer(training, "lora_rank");
  view.flops_full = text(training, "flops") == "full";
  return view;
}

}  // namespace ergometer::report
