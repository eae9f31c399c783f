#include "page/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/version.h"
#include "page/comparison.h"
#include "page/differences.h"
#include "page/run_part.h"
#include "page/study_part.h"
#include "page/timeline_part.h"
#include "page/what_if_part.h"
#include "report/decision/comparison_json.h"

namespace ergometer::page {
namespace {

Result<void> check_studies(const std::vector<NamedRun>& runs) {
  if (runs.size() < 2) return {};
  for (const NamedRun& run : runs)
    if (run.run.study)
      return input_error("report: {} is a study, which has a page of its own; give it alone",
                         run.name);
  return {};
}

Result<void> check_ranks(const std::vector<RunView>& views, const DocumentOptions& options) {
  for (const int64_t rank : options.ranks) {
    std::vector<int64_t> known;
    for (const RunView& view : views) {
      const std::vector<int64_t> ranks = ranks_with_timeline(view);
      known.insert(known.end(), ranks.begin(), ranks.end());
    }
    base::sort_unique(known);
    if (std::ranges::binary_search(known, rank)) continue;
    if (known.empty())
      return input_error("--ranks: {} has no timeline of any rank", views.front().named->name);
    return input_error(
        "--ranks: there is no timeline of rank {}; there are those of {}{}", rank,
        fmt::join(known.begin(), known.begin() + std::min<std::ptrdiff_t>(32, std::ssize(known)),
                  ", "),
        known.size() > 32 ? ", ..." : "");
  }
  return {};
}

}  // namespace

std::string title_of(const std::vector<NamedRun>& runs, const DocumentOptions& options) {
  if (!options.title.empty()) return options.title;
  if (runs.size() == 1 && runs[0].run.study && !runs[0].run.study->title.empty())
    return runs[0].run.study->title;
  const std::vector<std::string> names = base::mapped(runs, &NamedRun::name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<std::string> document(std::vector<NamedRun> runs, const DocumentOptions& options) {
  ERGOMETER_TRY(check_studies(runs));
  const bool study = runs.size() == 1 && runs[0].run.study.has_value();
  std::optional<compare::Comparison> comparison;
  if (!study && runs.size() == 2) {
    ERGOMETER_ASSIGN(comparison, comparison_of(runs[0], runs[1], options));
  }
  std::vector<RunView> views;
  if (!study)
    for (NamedRun& run : runs) views.push_back(look_at(run, options));
  ERGOMETER_TRY(check_ranks(views, options));
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("ergometer_version", base::version()).member("title", title_of(runs, options));
  json.objects("runs", views, [&](const RunView& view) {
    write_run(json, view, options.all_ranks ? ranks_with_timeline(view) : options.ranks);
  });
  if (!study && runs.size() > 1) write_differences(json, runs);
  if (comparison) {
    json.key("comparison").begin_object();
    report::write_comparison(json, *comparison);
    json.end_object();
  }
  if (options.what_if != nullptr) write_what_if(json, *options.what_if);
  if (study) write_study(json, *runs[0].run.study);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::page
