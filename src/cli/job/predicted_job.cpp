#include "cli/job/predicted_job.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/job/job_settings.h"
#include "cli/job/user_files.h"
#include "engine/simulate.h"
#include "report/summary/job_view.h"

namespace ergometer::cli {
namespace {

Result<run::Prediction> predict_settings(const std::string& path, const Console& console) {
  UserFiles files(console);
  ERGOMETER_TRY(files.add(path));
  ERGOMETER_ASSIGN(const spec::Settings settings, files.settings({}));
  ERGOMETER_ASSIGN(const spec::Job job, resolve_job(settings, console));
  ERGOMETER_ASSIGN(const run::Run run, engine::simulate(job, {}));
  return run::prediction_of(run, path, job.gpus);
}

}  // namespace

Result<run::Prediction> predict_job(const std::string& path, const Console& console) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return input_error("--predict {}: there is no such file", path);
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(path));
  if (!is_run) {
    auto predicted = predict_settings(path, console);
    if (predicted || predicted.error().message.find(path) != std::string::npos) return predicted;
    return input_error("--predict {}: {}", path, predicted.error().message);
  }
  ERGOMETER_ASSIGN(const run::Run run, run::read_run(path));
  if (run.source != "simulated" || run.study)
    return input_error(
        "--predict {}: is no simulated job; allowed: a job file, or the Run that "
        "simulate --run writes",
        path);
  return run::prediction_of(run, path, report::view_job(run.job_json).gpus);
}

std::string beside_prediction_text(const watch::AgainstPrediction& of) {
  std::string out = fmt::format("{:<16}{:>12}{:>22}{:>12}\n", "of the last min", "predicted",
                                "interval", "measured");
  for (const auto& [predicted, measured, error, place, since] : of.quantities()) {
    const auto text = [&](double value) { return run::predicted_text(value, predicted.unit); };
    out += fmt::format(
        "{:<16}{:>12}{:>22}{:>12}{}\n", run::predicted_label(predicted.name), text(predicted.value),
        predicted.has_interval()
            ? fmt::format("{} to {}", text(predicted.low), text(predicted.high))
            : "-",
        measured ? text(*measured) : "-",
        (measured && error > 0 ? fmt::format(" +-{:.1f} %", 100 * error) : "") +
            (place && predicted.has_interval() ? fmt::format("  {}", to_word(*place)) : ""));
  }
  return out;
}

}  // namespace ergometer::cli
