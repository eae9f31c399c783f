#include "cli/analyze/report_what_if.h"

#include "cli/console/progress.h"
#include "cli/console/threads.h"
#include "cli/job/job_settings.h"
#include "cli/job/settled_job.h"
#include "cli/job/user_files.h"
#include "cli/job/whole_run.h"
#include "page/write_report.h"
#include "run/job_settings.h"

namespace ergometer::cli {
namespace {

/// The job file that stands alone.
Result<std::string> job_file(const Arguments& arguments) {
  if (arguments.words.size() != 1)
    return input_error(
        "report: --what-if plays the neighbours of one job; found {} files, allowed: one job file",
        arguments.words.size());
  const std::string& word = arguments.words.front();
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(word));
  if (is_run || !is_file_word(word))
    return input_error(
        "report: --what-if: {} is {}, whose neighbours cannot be played; allowed: a "
        "job file, as `simulate` takes it",
        word, is_run ? "a Run" : "no job file");
  return word;
}

}  // namespace

Result<WhatIfReport> what_if_report(const Arguments& arguments, const Console& console) {
  ERGOMETER_ASSIGN(const std::string path, job_file(arguments));
  ERGOMETER_ASSIGN(const auto varied, study::settings_to_vary(arguments.value("what-if")));
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  UserFiles files(console);
  ERGOMETER_TRY(files.add(path));
  ERGOMETER_ASSIGN(const spec::Settings settings, files.settings({}));
  ERGOMETER_ASSIGN(const spec::Job job, spec::resolve(settings));
  ERGOMETER_ASSIGN(const spec::Settings settled, settled_job(settings));
  ERGOMETER_ASSIGN(const study::Neighbours neighbours, study::neighbours(settled, varied));
  WhatIfReport report;
  report.run.name = page::name_of_file(path);
  ERGOMETER_ASSIGN(report.run.run, whole_run(job));
  report.run.run.facts[run::kCommandFact] = job_command(arguments);
  Progress progress(console, "simulate", neighbours.points.size());
  const auto advance = [&](int64_t, int64_t) { progress.advance(); };
  ERGOMETER_ASSIGN(report.what_if, study::what_if(neighbours, report.run.name, {threads, advance}));
  return report;
}

}  // namespace ergometer::cli
