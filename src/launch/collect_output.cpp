// What came back, as a table and as JSON.
#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/table.h"
#include "base/text.h"
#include "launch/collect.h"

namespace ergometer::launch {
namespace {

using base::JsonWriter;

std::string_view to_word(RunState state) {
  switch (state) {
    case RunState::kNotRun: return "not run";
    case RunState::kFailed: return "failed";
    case RunState::kFinished: return "finished";
  }
  return "";
}

void add_run(const RunResult& run, base::Table& table) {
  table.row(run.run.name, run.run.job, run.run.repeat, to_word(run.state),
            base::format_seconds(run.predicted_step_s),
            run.measured() ? base::format_seconds(run.step_s) : "-",
            run.measured() ? fmt::format("{:+.1f} %", run.error_pct()) : "-");
}

void add_job(const JobResult& job, base::Table& table) {
  const bool any = job.measured > 0;
  table.row(job.job, fmt::format("{} of {}", job.measured, job.runs),
            base::format_seconds(job.predicted_step_s),
            any ? base::format_seconds(job.mean_step_s) : "-",
            job.measured > 1 ? base::format_seconds(job.deviation_s) : "-",
            any ? fmt::format("{:+.1f} %", job.error_pct) : "-");
}

/// Power, energy and heat of the runs of which they are known; empty: of none.
std::string power_table(const Collection& collection) {
  base::Table table("< < > > > > > > > >");
  table.row("Run", "Job", "GPU power", "Measured", "Error", "Energy", "Measured", "Error",
            "Hottest", "Seen");
  bool known = false;
  for (const RunResult& run : collection.runs) {
    if (run.gpu_w <= 0) continue;
    known = true;
    const auto error = [](double predicted, double measured) {
      return fmt::format("{:+.1f} %", 100 * (predicted / measured - 1));
    };
    const auto celsius = [&](double degrees) {
      return run.max_gpu_c > 0 ? fmt::format("{:.0f} C", degrees) : "-";
    };
    // Of the energy, too, of which the power alone is off.
    const std::string sensor =
        run.gpu_w_error > 0 ? fmt::format(" +-{:.1f} %", 100 * run.gpu_w_error) : "";
    table.row(run.run.name, run.run.job, base::format_si(run.predicted_gpu_w, "W"),
              base::format_si(run.gpu_w, "W") + sensor, error(run.predicted_gpu_w, run.gpu_w),
              base::format_si(run.predicted_energy_j(), "J"),
              base::format_si(run.energy_j(), "J") + sensor,
              error(run.predicted_energy_j(), run.energy_j()), celsius(run.predicted_max_gpu_c),
              celsius(run.max_gpu_c));
  }
  return known ? '\n' + table.text() : "";
}

void write_run(JsonWriter& json, const RunResult& run) {
  json.member("run", run.run.name).member("job", run.run.job);
  json.member("repeat", run.run.repeat).member("state", to_word(run.state));
  json.member("attempts", run.attempts).member("recordings", run.recordings);
  json.member("predicted_step_time_s", run.predicted_step_s);
  if (run.measured()) {
    json.member("step_time_s", run.step_s).member("steps", run.steps);
    json.member("all_steps", run.all_steps);
    json.member("step_time_s_p10", run.step_low_s).member("step_time_s_p90", run.step_high_s);
    json.member("error_pct", run.error_pct()).member("measured_run", run.merged);
    if (run.gpu_w > 0) {
      json.member("predicted_w_per_gpu", run.predicted_gpu_w).member("w_per_gpu", run.gpu_w);
      json.member("predicted_gpu_energy_j_per_step", run.predicted_energy_j());
      json.member("gpu_energy_j_per_step", run.energy_j());
      if (run.gpu_w_error > 0) json.member("w_per_gpu_error_pct", 100 * run.gpu_w_error);
    }
    if (run.max_gpu_c > 0)
      json.member("predicted_max_gpu_c", run.predicted_max_gpu_c)
          .member("max_gpu_c", run.max_gpu_c);
  }
  json.list("notes", run.notes);
}

}  // namespace

std::string collection_text(const Collection& collection) {
  base::Table runs("< < > < > > >");
  runs.row("Run", "Job", "Repeat", "State", "Predicted", "Measured", "Error");
  for (const RunResult& run : collection.runs) add_run(run, runs);
  base::Table jobs("< < > > > >");
  jobs.row("Job", "Measured", "Predicted", "Mean", "Deviation", "Error");
  for (const JobResult& job : collection.jobs) add_job(job, jobs);
  const std::string text = runs.text() + '\n' + jobs.text() + power_table(collection);
  std::string notes;
  for (const RunResult& run : collection.runs)
    for (const std::string& note : run.notes)
      notes += fmt::format("note: run {}: {}\n", run.run.name, note);
  return text + (notes.empty() ? "" : "\n") + notes;
}

std::string collection_json(const Collection& collection) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("name", collection.manifest.name);
  json.member("framework", collection.manifest.framework);
  json.member("scheduler", collection.manifest.scheduler);
  json.objects("runs", collection.runs, write_run);
  json.objects("jobs", collection.jobs, [&](const JobResult& job) {
    json.member("job", job.job).member("runs", job.runs);
    json.member("measured", job.measured).member("predicted_step_time_s", job.predicted_step_s);
    if (job.measured > 0) {
      json.member("mean_step_time_s", job.mean_step_s).member("error_pct", job.error_pct);
    }
    if (job.measured > 1) json.member("deviation_s", job.deviation_s);
  });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::launch
