#include "launch/manifest.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_writer.h"
#include "launch/scripts.h"

namespace ergometer::launch {
namespace {

using base::JsonWriter;

void write_run(JsonWriter& json, const Plan& plan, const PlannedRun& run) {
  const PlannedJob& job = plan.job_of(run);
  const std::string folder = "runs/" + run_name(run.number);
  json.begin_object().member("run", run_name(run.number)).member("job", job.id);
  json.member("repeat", run.repeat).member("seed", run.seed).member("order", run.number);
  json.member("nodes", job.job.nodes()).member("gpus", job.job.gpus);
  json.member("predicted_step_time_s", job.predicted.performance.step_time_s);
  json.member("predicted_step_time_s_low", job.predicted.performance.step_time_s_low);
  json.member("predicted_step_time_s_high", job.predicted.performance.step_time_s_high);
  json.member("job_file", folder + "/job.yaml");
  json.member("predicted_run", folder + "/predicted.run");
  json.member("finished_file", folder + "/finished");
  json.member("attempts_folder", folder + "/attempts");
  json.end_object();
}

/// A folder's name that stays below `runs`, whatever the file says.
bool is_run_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::string manifest_json(const Plan& plan) {
  const PlanOptions& o = plan.options;
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("name", o.site.name).member("framework", to_word(o.framework));
  json.member("scheduler", to_word(o.site.scheduler));
  json.member("steps", o.steps).member("repeats", o.repeats).member("order_seed", o.order_seed);
  json.member("cooldown_s", o.cooldown_s);
  json.objects("jobs", plan.jobs, [&](const PlannedJob& job) {
    json.member("job", job.id);
    json.list("notes", job.notes);
  });
  json.array("runs", plan.runs, [&](const PlannedRun& run) { write_run(json, plan, run); });
  json.end_object();
  return json.take();
}

Result<Manifest> read_manifest(const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return input_error("{}: is no folder that `ergometer launch` wrote: it has no manifest.json",
                       folder);
  constexpr size_t kMostBytes = 64 << 20;
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, kMostBytes));
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    Manifest manifest{
        json.at("name"), json.at("framework"), json.at("scheduler"), json.at("steps"), {}};
    for (const nlohmann::json& run : json.at("runs")) {
      manifest.runs.push_back({run.at("run"), run.at("job"), run.at("repeat"), run.at("nodes"),
                               run.at("gpus"), run.at("predicted_step_time_s")});
      if (!is_run_name(manifest.runs.back().name))
        return input_error("{}: runs: found \"{}\", allowed: a number such as \"001\"", path,
                           manifest.runs.back().name);
    }
    return manifest;
  } catch (const nlohmann::json::exception& problem) {
    return input_error("{}: is no manifest: {}", path, problem.what());
  }
}

}  // namespace ergometer::launch
