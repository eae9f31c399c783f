#include "cli/predict/calibrate.h"

#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>

#include "base/output_file.h"
#include "base/text.h"
#include "calibration/calibrate.h"
#include "calibration/output.h"
#include "cli/console/option_values.h"
#include "cli/console/progress.h"
#include "cli/console/threads.h"
#include "cli/predict/calibrate_device.h"
#include "cli/predict/calibrate_twin.h"

namespace ergometer::cli {
namespace {

using calibration::Calibration;
using calibration::ParameterList;
using validation::MeasuredRun;

constexpr const char* kDefaultList = "catalog/calibration.yaml";

/// The files of --truth, separated by commas, and the words behind it.
Result<std::vector<std::string>> truth_files(const Arguments& arguments) {
  std::vector<std::string> files;
  std::string names = arguments.value("truth");
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find(',', at), names.size());
    if (end > at) files.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  files.insert(files.end(), arguments.words.begin(), arguments.words.end());
  if (files.empty())
    return input_error("calibrate: --truth FILE is missing: which measured runs to fit");
  return files;
}

Result<calibration::Options> calibration_options(const Arguments& arguments) {
  calibration::Options options;
  ERGOMETER_ASSIGN(options.threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const int64_t folds, whole_number(arguments, "folds", 10, 2, 1000));
  ERGOMETER_ASSIGN(const int64_t rounds, whole_number(arguments, "rounds", 8, 1, 1000));
  options.folds = static_cast<size_t>(folds);
  options.iterations = static_cast<int>(rounds);
  options.leave_out_source = arguments.has("leave-out");
  return options;
}

Result<void> make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && std::filesystem::is_directory(folder, error)) return {};
  return input_error("{}: cannot be made: {}", folder.string(),
                     error ? error.message() : "something else has this name");
}

/// What would only fail behind minutes of fitting.
Result<void> check_folders(const Arguments& arguments) {
  std::error_code error;
  const std::string catalog = arguments.value("catalog");
  if (arguments.has("catalog") &&
      !std::filesystem::is_directory(std::filesystem::path(catalog) / "kernels", error))
    return input_error("--catalog: '{}' is no catalog folder: it has no folder kernels", catalog);
  if (!arguments.has("out")) return {};
  return make_folder(arguments.value("out"));
}

Result<void> write_below(const std::filesystem::path& folder, const std::string& name,
                         std::string_view text) {
  const std::filesystem::path path = folder / name;
  ERGOMETER_TRY(make_folder(path.parent_path()));
  return base::write_file_atomically(path.string(), text);
}

/// "training_runs.csv, training_runs_bulk.csv".
std::string names_of(const std::vector<std::string>& files) {
  std::string names;
  for (const std::string& file : files)
    names += (names.empty() ? "" : ", ") + std::filesystem::path(file).filename().string();
  return names;
}

Result<void> write_results(const Arguments& arguments, const std::string& truth,
                           const ParameterList& list, const Calibration& found) {
  if (!arguments.has("out") && !arguments.has("catalog")) return {};
  ERGOMETER_ASSIGN(std::vector<calibration::ChangedFile> files,
                   calibration::changed_files(list, found, truth));
  ERGOMETER_ASSIGN(const auto evidence, calibration::evidence_files(found));
  files.insert(files.end(), evidence.begin(), evidence.end());
  if (arguments.has("catalog"))
    for (const calibration::ChangedFile& file : files)
      ERGOMETER_TRY(write_below(arguments.value("catalog"), file.path, file.text));
  if (!arguments.has("out")) return {};
  const std::filesystem::path out = arguments.value("out");
  for (const calibration::ChangedFile& file : files)
    ERGOMETER_TRY(write_below(out / "catalog", file.path, file.text));
  ERGOMETER_TRY(write_below(out, "cross-validation.csv", calibration::cross_validation_csv(found)));
  if (!found.left_out.empty())
    ERGOMETER_TRY(write_below(out, "left-out.csv", calibration::left_out_csv(found)));
  return write_below(out, "calibration.json", calibration::to_json(list, found));
}

}  // namespace

std::vector<Flag> calibrate_flags() {
  const auto flag = [](const char* name, const char* value, const char* help) {
    return option(name, value, "calibration", help);
  };
  const auto of_job = [](const char* name, const char* value, const char* help) {
    return option(name, value, "recording", help);
  };
  return {flag("truth", "FILE[,FILE]", "measured runs, in the columns of training_runs.csv"),
          flag("parameters", "FILE",
               "what is fitted, with priors and bounds; by default catalog/calibration.yaml"),
          flag("out", "DIR",
               "where to write the fitted catalog files, cross-validation.csv and "
               "calibration.json"),
          flag("catalog", "DIR", "a catalog folder whose files are changed in place"),
          flag("folds", "N", "parts of the cross-validation; by default 10"),
          flag("rounds", "N", "steps of the fit at most; by default 8"),
          option("leave-out", "source", "calibration",
                 "also predict each source by a fit that has not seen it, nor what was settled on "
                 "its runs: left-out.csv")
              .one_of({"source"}),
          option("device", "GPU", "measurement",
                 "measure one GPU for eight minutes and fit its power and heat: the number of an "
                 "NVIDIA GPU, by default 0, or simulated:NAME")
              .with_optional_value(),
          option("cooling", "WORD", "measurement",
                 "how the measured GPU is cooled, where not as the catalog's node is built: what "
                 "the fit of its heat starts from")
              .one_of({"air", "liquid", "immersion"}),
          option("dry-run", "", "measurement", "print what --device would do"),
          option("from", "FILE", "recording",
                 "fit the numbers of JOB's cluster to a recording of JOB: a Run, a profiler's "
                 "trace, telemetry; several with commas")
              .repeated(),
          of_job("trace-steps", "N", "steps in a trace that marks none"),
          of_job("model", "MODEL", "of the recorded job, where its file does not say it"),
          of_job("cluster", "CLUSTER", "the same"),
          of_job("gpus", "N", "the same"),
          threads_flag()};
}

Result<int> run_calibrate(const Arguments& arguments, const Console& console) {
  if (arguments.has("from")) return run_calibrate_twin(arguments, console);
  if (arguments.has("device")) return run_calibrate_device(arguments, console);
  for (const char* of_recording : {"trace-steps", "model", "cluster", "gpus"})
    if (arguments.has(of_recording))
      return input_error("calibrate: --{} is for --from; give both", of_recording);
  for (const char* of_device : {"dry-run", "cooling"})
    if (arguments.has(of_device))
      return input_error("calibrate: --{} is for --device; give both", of_device);
  const auto elapsed_s = [start = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  ERGOMETER_ASSIGN(const std::vector<std::string> files, truth_files(arguments));
  ERGOMETER_ASSIGN(const calibration::Options options, calibration_options(arguments));
  ERGOMETER_ASSIGN(const ParameterList list,
                   calibration::read_parameter_list(arguments.value("parameters", kDefaultList)));
  ERGOMETER_TRY(check_folders(arguments));
  std::vector<MeasuredRun> runs;
  for (const std::string& file : files) {
    ERGOMETER_ASSIGN(std::vector<MeasuredRun> rows, validation::read_measured_runs(file));
    runs.insert(runs.end(), std::make_move_iterator(rows.begin()),
                std::make_move_iterator(rows.end()));
  }
  std::optional<Progress> progress;
  const calibration::Watcher watcher{.begin =
                                         [&](const std::string& phase, size_t total) {
                                           progress.reset();
                                           progress.emplace(console, phase, total);
                                         },
                                     .advance = [&] { progress->advance(); },
                                     .say =
                                         [&](const std::string& line) {
                                           progress.reset();
                                           console.note("{} ({})", line,
                                                        base::format_seconds(elapsed_s()));
                                         }};
  ERGOMETER_ASSIGN(const Calibration found, calibration::calibrate(runs, list, options, watcher));
  progress.reset();
  console.answer(arguments.has("json") ? calibration::to_json(list, found)
                                       : calibration::to_text(list, found));
  ERGOMETER_TRY(write_results(arguments, names_of(files), list, found));
  console.note("calibrated in {}", base::format_seconds(elapsed_s()));
  return 0;
}

}  // namespace ergometer::cli
