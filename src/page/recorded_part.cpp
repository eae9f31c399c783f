
#include "page/run_part.h"
#include "report/measured/beside_prediction.h"
#include "report/measured/graph_output.h"
#include "report/measured/job_report_json.h"
#include "report/measured/telemetry_json.h"
#include "report/measured/trace_json.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;

/// Longer tables are nothing that anyone reads on a page; `analyze --json` has all of them.
constexpr size_t kMostRows = 100, kMostRanksTold = 1024, kMostMarks = 2000;

template <class Row>
size_t cut(std::vector<Row>& rows, size_t most) {
  const size_t left_out = rows.size() > most ? rows.size() - most : 0;
  rows.resize(rows.size() - left_out);
  return left_out;
}

/// Of tables that begin with what took longest. `left_out` says how many rows are missing.
void write_cut_trace(JsonWriter& json, const RunView& view) {
  analysis::TraceSummary summary = view.told.summary;
  const size_t kernels = cut(summary.kernels, kMostRows);
  const size_t operators = cut(summary.shapes.rows, kMostRows);
  const size_t collectives = cut(summary.collectives, kMostRows);
  const size_t ranks = cut(summary.ranks, kMostRanksTold);
  report::write_trace(json, summary, view.run().dropped);
  json.key("left_out").begin_object(base::kOneLine);
  json.member("kernels", kernels).member("operators", operators);
  json.member("collectives", collectives).member("ranks", ranks).end_object();
  if (!summary.graphs.empty()) report::write_graphs(json, summary.graphs);
}

/// What `write_readings` takes from the log itself, without readings, which have columns of their
/// own, and with few of the energy windows, of which there may be one a step.
run::DeviceLog without_readings(const run::DeviceLog& log) {
  run::DeviceLog few;
  few.notes = log.notes;
  few.dropped = log.dropped;
  few.power_limits = log.power_limits;
  cut(few.power_limits, kMostRows);
  for (const run::Device& device : log.devices) {
    run::Device& own = few.devices.emplace_back();
    own.rank = device.rank;
    own.windows = device.windows;
    cut(own.windows, kMostRows);
  }
  return few;
}

void write_kept_prediction(JsonWriter& json, const RunView& view) {
  const auto fact = view.run().facts.find(run::kPredictionFact);
  if (fact == view.run().facts.end()) return;
  const auto beside =
      report::beside_prediction(fact->second, view.traces, view.log, view.named->name);
  if (beside) report::write_beside_prediction(json, *beside);
}

void write_marks(JsonWriter& json, const run::DeviceLog& log) {
  size_t marks = 0;
  for (const run::TrainingLog& training : log.training) marks += training.phases.size();
  if (marks == 0) return;
  json.key("marks").begin_array();
  marks = 0;
  for (const run::TrainingLog& training : log.training) {
    for (const run::Phase& phase : training.phases) {
      if (++marks > kMostMarks) break;
      json.begin_object(base::kOneLine).member("log", training.file);
      json.member("name", phase.name).member("start_ns", phase.start_ns);
      json.member("end_ns", phase.end_ns).end_object();
    }
  }
  json.end_array();
}

}  // namespace

void write_recorded_part(JsonWriter& json, const RunView& view) {
  if (view.simulated) return;
  json.key("recorded").begin_object();
  if (!view.traces.empty() || !view.told.summary.graphs.empty()) write_cut_trace(json, view);
  if (!view.log.devices.empty() || !view.log.training.empty())
    report::write_readings(json, without_readings(view.log), view.told.power);
  write_kept_prediction(json, view);
  report::write_job_report(json, view.told.job, report::PathSegments::kLeaveOut);
  write_marks(json, view.log);
  json.end_object();
}

}  // namespace ergometer::page
