#include "cli/analyze/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "analysis/merge_runs.h"
#include "base/json_writer.h"
#include "cli/analyze/analyze.h"
#include "cli/console/terminal.h"
#include "cli/search/search_run.h"
#include "report/measured/merge_report.h"
#include "run/run.h"
#include "search/search_file.h"
#include "study/output/output.h"

namespace ergometer::cli {
namespace {

Result<analysis::RunPart> read_part(const std::string& path, const Arguments& arguments,
                                    const Console& console) {
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(path));
  if (is_run) {
    ERGOMETER_ASSIGN(run::Run run, run::read_run(path));
    return analysis::RunPart{path, std::move(run)};
  }
  ERGOMETER_ASSIGN(run::Run run, read_recorded({path}, arguments, console));
  return analysis::RunPart{path, std::move(run)};
}

/// Shards of a study become the study; nothing when no file is a study's.
Result<std::optional<run::Run>> merged_study(const std::vector<analysis::RunPart>& parts) {
  const auto is_study = [](const analysis::RunPart& part) { return part.run.study.has_value(); };
  if (std::ranges::none_of(parts, is_study)) return std::nullopt;
  std::vector<run::Run> shards;
  std::vector<std::string> files;
  for (const analysis::RunPart& part : parts) {
    shards.push_back(part.run);
    files.push_back(part.file);
  }
  return study::merge_shards(std::move(shards), files);
}

std::string study_answer(const run::Run& run, const std::string& out, bool as_json) {
  const std::string counts = study::count_text(*run.study);
  if (!as_json) return fmt::format("{}\n{}\nRun written to {}\n", run.study->title, counts, out);
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion).member("out", out);
  json.member("study", run.study->name).member("summary", counts);
  json.member("points", run.study->points.size()).end_object();
  return json.take();
}

}  // namespace

std::vector<Flag> merge_flags() {
  return {option("out", "FILE", "output", "the Run file to write, of searches their estimates")
              .shortened("o"),
          option("reference", "HOST", "clocks",
                 "the host whose clock counts; by default the first node's")};
}

Result<int> run_merge(const Arguments& arguments, const Console& console) {
  const auto& files = arguments.words;
  const std::string *of_search = nullptr, *other = nullptr;  // the first of each
  for (const std::string& path : files) {
    ERGOMETER_ASSIGN(const bool is_search, search::is_search_file(path));
    const std::string*& first = is_search ? of_search : other;
    if (first == nullptr) first = &path;
  }
  if (other == nullptr) return merge_searches(files, arguments, console);
  if (of_search != nullptr) {
    if (std::error_code ignored; !std::filesystem::exists(*other, ignored))
      return input_error("{}: there is no such file", *other);
    return input_error("{}: is a search's file, and {} is not; merge one kind at a time",
                       *of_search, *other);
  }
  const std::string out = arguments.value("out");
  if (out.empty())
    return input_error("merge: --out FILE is missing; usage: ergometer merge FILE... --out FILE");
  std::vector<analysis::RunPart> parts;
  for (const std::string& path : files) {
    ERGOMETER_ASSIGN(analysis::RunPart part, read_part(path, arguments, console));
    parts.push_back(std::move(part));
  }
  ERGOMETER_ASSIGN(const std::optional<run::Run> whole, merged_study(parts));
  if (whole) {
    ERGOMETER_TRY(run::write_run(*whole, out));
    console.answer(study_answer(*whole, out, arguments.has("json")));
    const std::string refused = study::all_refused_text(*whole->study);
    if (refused.empty()) return 0;
    return tl::unexpected(base::Error{base::ErrorKind::kNo, refused});
  }
  ERGOMETER_ASSIGN(const analysis::MergedRun merged,
                   analysis::merge_runs(std::move(parts), arguments.value("reference")));
  ERGOMETER_TRY(run::write_run(merged.run, out));
  console.answer(arguments.has("json")
                     ? report::merge_json(merged, out)
                     : report::merge_text(merged, out, terminal_style(console.out)));
  return 0;
}

}  // namespace ergometer::cli
