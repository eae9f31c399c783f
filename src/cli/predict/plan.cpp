#include "cli/predict/plan.h"

#include <algorithm>
#include <iterator>

#include "cli/console/terminal.h"
#include "cli/console/threads.h"
#include "cli/job/job_settings.h"
#include "cli/job/settled_job.h"
#include "cli/predict/plan_options.h"
#include "page/write_report.h"
#include "report/decision/campaign_output.h"

namespace ergometer::cli {

namespace {

/// A run trains, has phases of its own, and is no matter of a moment or a single GPU: what is left
/// out here a job file may say.
bool is_of_a_run(const Flag& flag) {
  constexpr std::string_view kConditions[] = {"power-cap", "lock-clock", "clocks",
                                              "inlet-c",   "cooling",    "fan",
                                              "seed",      "pue",        "cluster-cap"};
  if (flag.group == "task") return false;
  return flag.group != "conditions" || std::find(std::begin(kConditions), std::end(kConditions),
                                                 flag.name) != std::end(kConditions);
}

Result<void> write_campaign_page(const campaign::Sizes& sizes, const campaign::Ask& ask,
                                 const std::string& path) {
  page::NamedRun run{page::name_of_file(path), {}};
  run.run.study = report::campaign_study(sizes, ask);
  return page::write_report({std::move(run)}, {}, path);
}

}  // namespace

std::vector<Flag> plan_flags() {
  std::vector<Flag> flags = campaign_flags();
  for (Flag& flag : setting_flags()) {
    if (!is_of_a_run(flag)) continue;
    if (flag.name == "gpus") {
      flag.value = "N,N,...";
      flag.help += "; several numbers are all planned";
    }
    flags.push_back(std::move(flag));
  }
  flags.push_back(threads_flag());
  flags.back().group = "campaign";
  flags.push_back(
      option("report", "FILE.html", "output", "write it as a page that needs no network"));
  return flags;
}

Result<int> run_plan(const Arguments& arguments, const Console& console) {
  if (!names_job(arguments))
    return input_error(
        "plan: MODEL is missing; usage: ergometer plan MODEL|FILE... --tokens N --cluster CLUSTER");
  ERGOMETER_ASSIGN(const campaign::Ask ask, campaign_ask(arguments));
  ERGOMETER_ASSIGN(const std::vector<int64_t> gpus, campaign_gpus(arguments));
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  Arguments of_job = arguments;
  if (!gpus.empty()) of_job.flags["gpus"] = std::to_string(gpus.front());
  ERGOMETER_ASSIGN(const spec::Settings given, gather_settings(of_job, console));
  ERGOMETER_ASSIGN(const spec::Settings settings, settled_job(given));
  tell_job(settings, "", console);
  ERGOMETER_ASSIGN(const campaign::Sizes sizes, campaign::plan_sizes(settings, ask, gpus, threads));
  console.answer(arguments.has("json")
                     ? report::campaign_json(sizes, ask)
                     : report::campaign_text(sizes, ask, terminal_style(console.out)));
  if (arguments.has("report"))
    ERGOMETER_TRY(write_campaign_page(sizes, ask, arguments.value("report")));
  const bool good = sizes.any_meets();
  return good ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace ergometer::cli
