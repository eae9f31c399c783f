#include "cli/record/launch.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <set>

#include "base/json_writer.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/console/threads.h"
#include "cli/job/job_settings.h"
#include "cli/record/launch_options.h"
#include "launch/collect.h"
#include "launch/folder.h"
#include "launch/scripts.h"
#include "record/child.h"

namespace ergometer::cli {
namespace {

struct Submitted {
  std::string file, id;
};

/// Submits the runs that are not finished, as the folder's submit.sh does.
Result<std::vector<Submitted>> submit(const std::string& folder) {
  const auto missing = [](const std::string& message) {
    return missing_error("--submit: " + message);
  };
  if (const auto none = record::check_command("sbatch"))
    return missing("there is no sbatch here; the scripts are written: submit them where Slurm is");
  std::FILE* pipe =
      popen(fmt::format("bash {}/submit.sh", base::shell_quoted(folder)).c_str(), "r");
  if (pipe == nullptr) return missing("cannot start a shell");
  std::string said;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
  const int status = pclose(pipe);
  std::vector<Submitted> submitted;
  std::string so_far;
  for (const std::string& line : base::split(said, '\n')) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    submitted.push_back({line.substr(space + 1), line.substr(0, space)});
    so_far +=
        fmt::format("; {} is submitted as job {}", submitted.back().file, submitted.back().id);
  }
  if (status != 0)
    return missing(fmt::format("sbatch failed with status {}; the scripts are written{}",
                               WIFEXITED(status) ? WEXITSTATUS(status) : status, so_far));
  return submitted;
}

std::string written_json(const launch::Plan& plan, const std::string& folder,
                         const launch::Written& written, const std::vector<Submitted>& submitted) {
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion).member("out", folder);
  json.member("existed", written.existed).member("jobs", plan.jobs.size());
  json.member("runs", plan.runs.size());
  json.objects("submitted", submitted, [&](const Submitted& one) {
    json.member("file", one.file).member("job_id", one.id);
  });
  json.end_object();
  return json.take();
}

std::string how_to_start(const launch::Plan& plan, const std::string& folder) {
  const bool slurm = plan.options.site.scheduler == launch::Scheduler::kSlurm;
  return fmt::format("Start them: bash {}/{}\n", base::shell_quoted(folder),
                     slurm ? "submit.sh" : "run-all.sh");
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
  return text +
         fmt::format("What came back: ergometer launch --collect {}\n", base::shell_quoted(folder));
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
    console.note("{} was edited and stays as it is", file);
}

Result<int> collect_folder(const Arguments& arguments, const Console& console) {
  if (!arguments.words.empty())
    return input_error("--collect: takes a folder and no job beside it");
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const launch::Collection collection,
                   launch::collect(arguments.value("collect"), threads));
  console.answer(arguments.has("json") ? launch::collection_json(collection)
                                       : launch::collection_text(collection));
  const bool all = std::ranges::all_of(
      collection.runs, [](const launch::RunResult& run) { return run.measured_in_full(); });
  return all ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace

std::vector<Flag> launch_flags() {
  std::vector<Flag> flags = launch_option_flags();
  // Inference is not launched; of conditions launch sets two, a job file may say the others. A
  // launch script that is read finds the variables set that its --env gives the run.
  for (Flag& flag : setting_flags())
    if (flag.name != "env" && flag.group != "task" &&
        (flag.group != "conditions" || flag.name == "power-cap" || flag.name == "lock-clock"))
      flags.push_back(std::move(flag));
  return flags;
}

Result<int> run_launch(const Arguments& arguments, const Console& console) {
  if (arguments.has("collect")) return collect_folder(arguments, console);
  ERGOMETER_ASSIGN(const launch::PlanOptions options, launch_options(arguments));
  const bool submits = arguments.has("submit");
  if (submits && options.site.scheduler != launch::Scheduler::kSlurm)
    return input_error("--submit: is of --scheduler slurm alone; run-all.sh starts the runs");
  const std::string folder = arguments.value("out");
  if (folder.empty()) return input_error("launch: --out FOLDER is missing");
  ERGOMETER_ASSIGN(std::vector<launch::NamedJob> jobs, launch_jobs(arguments, console));
  ERGOMETER_ASSIGN(const launch::Plan plan, launch::make_plan(std::move(jobs), options));
  ERGOMETER_ASSIGN(const launch::Written written, launch::write_folder(plan, folder));
  note_all(plan, written, console);
  std::vector<Submitted> submitted;
  if (submits) {
    ERGOMETER_ASSIGN(submitted, submit(folder));
  }
  console.answer(arguments.has("json") ? written_json(plan, folder, written, submitted)
                                       : written_text(plan, folder, written, submits, submitted));
  return 0;
}

}  // namespace ergometer::cli
