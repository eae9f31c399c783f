#include "cli/analyze/report.h"

#include <optional>
#include <utility>

#include "cli/analyze/gpu_peak.h"
#include "cli/analyze/report_what_if.h"
#include "cli/console/progress.h"
#include "cli/console/threads.h"
#include "cli/job/rank_list.h"
#include "page/write_report.h"

namespace ergometer::cli {
namespace {

/// Ranks that no Run can have are told of by the report.
constexpr int64_t kMostRanks = 1'000'000;

Result<page::DocumentOptions> document_options(const Arguments& arguments) {
  page::DocumentOptions options;
  options.peak_of = peak_of;
  ERGOMETER_ASSIGN(options.threads, thread_count(arguments));
  options.title = arguments.value("title");
  const std::string text = arguments.value("ranks");
  options.all_ranks = text == "all";
  if (arguments.has("ranks") && !options.all_ranks) {
    ERGOMETER_ASSIGN(options.ranks, parse_ranks("--ranks", text, kMostRanks));
  }
  return options;
}

Result<std::vector<page::NamedRun>> read_runs(const std::vector<std::string>& paths) {
  std::vector<page::NamedRun> runs;
  for (const std::string& path : paths) {
    ERGOMETER_ASSIGN(run::Run run, run::read_run(path));
    runs.push_back({page::name_of_file(path), std::move(run)});
  }
  return runs;
}

/// What is shown; `options` learns of neighbours, which `what_if` keeps.
Result<std::vector<page::NamedRun>> runs_of(const Arguments& arguments, const Console& console,
                                            std::optional<study::WhatIf>& what_if,
                                            page::DocumentOptions& options) {
  if (!arguments.has("what-if")) return read_runs(arguments.words);
  ERGOMETER_ASSIGN(WhatIfReport report, what_if_report(arguments, console));
  what_if = std::move(report.what_if);
  options.what_if = &*what_if;
  return std::vector<page::NamedRun>{std::move(report.run)};
}

}  // namespace

std::vector<Flag> report_flags() {
  Flag threads = threads_flag();
  threads.help = "jobs simulated at a time, of two Runs or --what-if; by default one a processor";
  return {
      option("out", "FILE.html", "output", "the page to write").shortened("o"),
      option("title", "TEXT", "output", "what the page is called; by default the Runs' names"),
      option(
          "ranks", "LIST", "output",
          "whose timelines: 0,8-11 or all; by default the first of every stage that the Run has"),
      option("what-if", "LIST", "output",
             "of a job file: plays jobs with other values of these settings into the page, some "
             "60; names as in a job file, and cap, clock, inlet: tp,pp,mbs,cap"),
      threads};
}

Result<int> run_report(const Arguments& arguments, const Console& console) {
  const std::string out = arguments.value("out");
  if (out.empty() && !arguments.has("json"))
    return input_error(
        "report: -o FILE.html is missing; usage: ergometer report RUN... -o FILE.html");
  ERGOMETER_ASSIGN(page::DocumentOptions options, document_options(arguments));
  std::optional<Progress> progress;
  options.progress = [&](int64_t done, int64_t total) {
    if (done == 1) progress.emplace(console, "simulate", static_cast<size_t>(total));
    progress->advance();
  };
  std::optional<study::WhatIf> what_if;
  ERGOMETER_ASSIGN(std::vector<page::NamedRun> runs, runs_of(arguments, console, what_if, options));
  if (arguments.has("json")) {
    ERGOMETER_ASSIGN(const std::string json, page::document(runs, options));
    console.answer(json);
  }
  if (out.empty()) return 0;
  ERGOMETER_TRY(page::write_report(std::move(runs), options, out));
  console.note("report written to {}", out);
  return 0;
}

}  // namespace ergometer::cli
