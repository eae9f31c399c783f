#include "cli/report.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cli/gpu_peak.h"
#include "cli/progress.h"
#include "cli/rank_list.h"
#include "cli/threads.h"
#include "page/write_report.h"

namespace ergometer::cli {
namespace {

/// Ranks that no Run can have are told of by the report.
constexpr int64_t kMostRanks = 1'000'000;

base::Result<page::DocumentOptions> document_options(const Arguments& arguments) {
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

base::Result<std::vector<page::NamedRun>> read_runs(const std::vector<std::string>& paths) {
  std::vector<page::NamedRun> runs;
  for (const std::string& path : paths) {
    ERGOMETER_ASSIGN(run::Run run, run::read_run(path));
    runs.push_back({page::name_of_file(path), std::move(run)});
  }
  return runs;
}

}  // namespace

std::vector<Flag> report_flags() {
  using Takes = Flag::Takes;
  Flag threads = threads_flag();
  threads.help = "of two simulated Runs, jobs between them at a time; by default one a processor";
  return {{"out", "o", Takes::kValue, "FILE.html", "output", "the page to write", {}},
          {"title",
           "",
           Takes::kValue,
           "TEXT",
           "output",
           "what the page is called; by default the Runs' names",
           {}},
          {"ranks",
           "",
           Takes::kValue,
           "LIST",
           "output",
           "whose timelines: 0,8-11 or all; by default the first of every stage that the Run has",
           {}},
          threads};
}

base::Result<int> run_report(const Arguments& arguments, const Console& console) {
  const std::string out = arguments.value("out");
  if (out.empty() && !arguments.has("json"))
    return base::input_error(
        "report: -o FILE.html is missing; usage: ergometer report RUN... -o FILE.html");
  ERGOMETER_ASSIGN(page::DocumentOptions options, document_options(arguments));
  std::optional<Progress> progress;
  options.progress = [&](int64_t done, int64_t total) {
    if (done == 1) progress.emplace(console, "simulate", static_cast<size_t>(total));
    progress->advance();
  };
  ERGOMETER_ASSIGN(std::vector<page::NamedRun> runs, read_runs(arguments.words));
  if (arguments.has("json")) {
    ERGOMETER_ASSIGN(const std::string json, page::document(runs, options));
    console.answer(json);
  }
  if (out.empty()) return 0;
  ERGOMETER_TRY(page::write_report(std::move(runs), options, out));
  console.note(fmt::format("report written to {}", out));
  return 0;
}

}  // namespace ergometer::cli
