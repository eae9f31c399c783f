#include "cli/predict/calibrate_twin.h"

#include <filesystem>

#include "base/output_file.h"
#include "calibration/twin/twin_output.h"
#include "cli/console/option_values.h"
#include "cli/console/threads.h"
#include "cli/job/job_settings.h"
#include "cli/job/recorded_job.h"
#include "cli/job/settled_job.h"

namespace ergometer::cli {
namespace {

using calibration::twin::Recording;

Result<Recording> recording_of(const importer::Recorded& recorded, const Arguments& arguments) {
  ERGOMETER_ASSIGN(const int64_t steps, whole_number(arguments, "trace-steps", 0, 1, 1'000'000));
  return calibration::twin::recording_of(recorded.traces.ranks, recorded.telemetry.log,
                                         arguments.value("from"), steps);
}

Result<void> write_twin(const Arguments& arguments, const calibration::twin::Twin& twin,
                        const spec::Settings& job, const Console& console) {
  const std::filesystem::path out = arguments.value("out");
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) return input_error("--out {}: cannot be made: {}", out.string(), error.message());
  const std::string cluster = (out / "cluster.yaml").string();
  ERGOMETER_TRY(base::write_file_atomically(
      cluster, cluster_file(twin, job.find("cluster")->text,
                            std::filesystem::path(arguments.value("from")).filename().string())));
  ERGOMETER_TRY(base::write_file_atomically((out / "twin.json").string(), to_json(twin)));
  console.note("ergometer simulate {} --cluster {}",
               arguments.words.empty() ? "JOB" : arguments.words.front(), cluster);
  return {};
}

}  // namespace

Result<int> run_calibrate_twin(const Arguments& arguments, const Console& console) {
  for (const char* other :
       {"truth", "device", "catalog", "parameters", "folds", "rounds", "leave-out", "dry-run"})
    if (arguments.has(other))
      return input_error("calibrate: --{} stands beside --from; give one of them", other);
  if (!names_job(arguments))
    return input_error(
        "calibrate: --from needs the job that was recorded; usage: ergometer calibrate --from "
        "recorded.run job.yaml --out twin");
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const spec::Settings given, gather_settings(arguments, console));
  ERGOMETER_ASSIGN(const spec::Settings settings, settled_job(given));
  ERGOMETER_ASSIGN(const spec::Job job, resolve_job(settings, console));
  ERGOMETER_ASSIGN(const importer::Recorded recorded, read_recorded_job(arguments, job, threads));
  ERGOMETER_ASSIGN(const Recording recording, recording_of(recorded, arguments));
  ERGOMETER_ASSIGN(const calibration::twin::Twin twin,
                   calibration::twin::fit_twin(recording, job, threads, recorded.telemetry.log));
  console.answer(arguments.has("json") ? to_json(twin) : to_text(twin));
  if (arguments.has("out")) ERGOMETER_TRY(write_twin(arguments, twin, settings, console));
  return 0;
}

}  // namespace ergometer::cli
