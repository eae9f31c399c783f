#include "cli/launch.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <filesystem>
#include <set>

#include "base/json_writer.h"
#include "cli/job_settings.h"
#include "cli/launch_options.h"
#include "cli/threads.h"
#include "launch/arguments.h"
#include "launch/collect.h"
#include "launch/folder.h"
#include "launch/scripts.h"
#include "record/child.h"

namespace ergometer::cli {
namespace {

using base::Result;

struct Submitted {
  std::string file, id;
};

/// What a shell command prints; an error that this machine lacks something where it fails.
Result<std::string> output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr)
    return tl::unexpected(base::Error{base::ErrorKind::kMissing, "cannot start a shell"});
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  const int status = pclose(pipe);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.pop_back();
  if (status == 0) return text;
  return tl::unexpected(
      base::Error{base::ErrorKind::kMissing,
                  fmt::format("--submit: sbatch failed with status {}; the scripts are written",
                              WIFEXITED(status) ? WEXITSTATUS(status) : status)});
}

/// The runs that are not finished, batch by batch, each batch behind the one before.
Result<std::vector<Submitted>> submit(const launch::Plan& plan, const std::string& folder) {
  if (const auto none = record::check_command("sbatch"))
    return tl::unexpected(
        base::Error{base::ErrorKind::kMissing,
                    "--submit: there is no sbatch here; the scripts are written: submit them where "
                    "Slurm is"});
  std::vector<Submitted> submitted;
  for (launch::Batch batch : launch::batches_of(plan)) {
    std::erase_if(batch.runs, [&](int64_t number) {
      std::error_code error;
      return std::filesystem::exists(
          fmt::format("{}/runs/{}/finished", folder, launch::run_name(number)), error);
    });
    if (batch.runs.empty()) continue;
    std::string command =
        fmt::format("CDPATH='' cd -- {} && sbatch --parsable", launch::shell_quoted(folder));
    if (plan.runs.size() > 1)
      command += fmt::format(" --array={}%1", launch::task_list(batch.runs));
    if (!submitted.empty())
      command += fmt::format(" --dependency=afterany:{}", submitted.back().id);
    auto id = output_of(command + " " + batch.file);
    if (!id) {
      for (const Submitted& one : submitted)
        id.error().message += fmt::format("; {} is submitted as job {}", one.file, one.id);
      return tl::unexpected(std::move(id).error());
    }
    submitted.push_back({batch.file, id->substr(0, id->find(';'))});
  }
  return submitted;
}

std::string written_json(const launch::Plan& plan, const std::string& folder,
                         const launch::Written& written, const std::vector<Submitted>& submitted) {
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion).member("out", folder);
  json.member("existed", written.existed).member("jobs", plan.jobs.size());
  json.member("runs", plan.runs.size());
  json.key("submitted").begin_array();
  for (const Submitted& one : submitted)
    json.begin_object().member("file", one.file).member("job_id", one.id).end_object();
  json.end_array().end_object();
  return json.take();
}

std::string how_to_start(const launch::Plan& plan, const std::string& folder) {
  const std::string at = launch::shell_quoted(folder);
  if (plan.options.site.scheduler != launch::Scheduler::kSlurm)
    return fmt::format("Start them: bash {}/run-all.sh\n", at);
  const std::vector<launch::Batch> batches = launch::batches_of(plan);
  std::string text;
  for (const launch::Batch& batch : batches)
    text += fmt::format("Start them: (cd {} && sbatch {})\n", at, batch.file);
  if (batches.size() > 1) text += "each when the one before has ended; --submit chains them so\n";
  return text;
}

std::string written_text(const launch::Plan& plan, const std::string& folder,
                         const launch::Written& written, bool submits,
                         const std::vector<Submitted>& submitted) {
  std::string text = fmt::format("{} {} of {} {} {} {}\n", plan.runs.size(),
                                 plan.runs.size() == 1 ? "run" : "runs", plan.jobs.size(),
                                 plan.jobs.size() == 1 ? "job" : "jobs",
                                 written.existed ? "stood already in" : "written to", folder);
  for (const Submitted& one : submitted)
    text += fmt::format("Submitted {} as job {}\n", one.file, one.id);
  if (submits && submitted.empty()) text += "Nothing is submitted: all runs are finished\n";
  if (!submits) text += how_to_start(plan, folder);
  return text + fmt::format("What came back: ergometer launch --collect {}\n",
                            launch::shell_quoted(folder));
}

/// What the prediction and the real run will not have in common, each once.
void note_all(const launch::Plan& plan, const launch::Written& written, const Console& console) {
  std::set<std::string> notes;
  for (const launch::PlannedJob& job : plan.jobs)
    for (const std::string& note : job.notes) notes.insert(note);
  for (const std::string& note : notes) console.note(note);
  if (plan.options.site.framework.empty())
    console.note("FRAMEWORK in settings.sh is empty: set it before the first run");
  for (const std::string& file : written.edited)
    console.note(fmt::format("{} was edited and stays as it is", file));
}

Result<int> collect_folder(const Arguments& arguments, const Console& console) {
  if (!arguments.words.empty())
    return base::input_error("--collect: takes a folder and no job beside it");
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const launch::Collection collection,
                   launch::collect(arguments.value("collect"), threads));
  console.answer(arguments.has("json") ? launch::collection_json(collection)
                                       : launch::collection_text(collection));
  const bool all = std::all_of(collection.runs.begin(), collection.runs.end(),
                               [](const launch::RunResult& run) { return run.measured_in_full(); });
  return all ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace

std::vector<Flag> launch_flags() {
  std::vector<Flag> flags = launch_option_flags();
  // Inference is not launched; of conditions launch sets two, a job file may say the others.
  for (Flag& flag : setting_flags())
    if (flag.group != "task" &&
        (flag.group != "conditions" || flag.name == "power-cap" || flag.name == "lock-clock"))
      flags.push_back(std::move(flag));
  return flags;
}

Result<int> run_launch(const Arguments& arguments, const Console& console) {
  if (arguments.has("collect")) return collect_folder(arguments, console);
  ERGOMETER_ASSIGN(const launch::PlanOptions options, launch_options(arguments));
  const bool submits = arguments.has("submit");
  if (submits && options.site.scheduler != launch::Scheduler::kSlurm)
    return base::input_error("--submit: is of --scheduler slurm alone; run-all.sh starts the runs");
  const std::string folder = arguments.value("out");
  if (folder.empty()) return base::input_error("launch: --out FOLDER is missing");
  ERGOMETER_ASSIGN(std::vector<launch::NamedJob> jobs, launch_jobs(arguments, console));
  ERGOMETER_ASSIGN(const launch::Plan plan, launch::make_plan(std::move(jobs), options));
  ERGOMETER_ASSIGN(const launch::Written written, launch::write_folder(plan, folder));
  note_all(plan, written, console);
  std::vector<Submitted> submitted;
  if (submits) {
    ERGOMETER_ASSIGN(submitted, submit(plan, folder));
  }
  console.answer(arguments.has("json") ? written_json(plan, folder, written, submitted)
                                       : written_text(plan, folder, written, submits, submitted));
  return 0;
}

}  // namespace ergometer::cli
