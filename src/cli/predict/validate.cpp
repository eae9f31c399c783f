#include "cli/predict/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/collection.h"
#include "base/nearest.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/console/progress.h"
#include "cli/console/terminal.h"
#include "cli/console/threads.h"
#include "engine/outcome/interval.h"
#include "import/bytes/byte_source.h"
#include "import/bytes/unpack.h"
#include "import/bytes/whole_text.h"
#include "validation/evidence.h"
#include "validation/kernels/kernel_power.h"
#include "validation/kernels/microbench.h"
#include "validation/predict.h"
#include "validation/score.h"
#include "validation/score_output.h"
#include "validation/series.h"
#include "validation/typed.h"

namespace ergometer::cli {
namespace {

using validation::MeasuredRun;

constexpr std::string_view kDefaultDimensions = "gpu,source,parallelism,scale";

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    words.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Result<std::vector<std::string>> dimensions(const Arguments& arguments) {
  std::vector<std::string> names = words_of(arguments.value("by", kDefaultDimensions));
  const auto known = validation::trait_names();
  for (const std::string& name : names) {
    if (base::contains(known, name)) continue;
    return input_error("--by: '{}' is not allowed; it is one of {}{}", name, fmt::join(known, ", "),
                       base::did_you_mean(name, known));
  }
  return names;
}

Result<std::optional<double>> limit_of(const Arguments& arguments) {
  if (!arguments.has("limit")) return std::nullopt;
  std::string text = arguments.value("limit");
  if (text.ends_with('%')) text.pop_back();
  const auto percent = base::parse_number(text);
  if (!percent || *percent < 0)
    return input_error("--limit: '{}' is not a percentage, 0 or more, like 7",
                       arguments.value("limit"));
  return *percent;
}

/// The rows of the tiers asked for.
Result<std::vector<MeasuredRun>> select_tiers(std::vector<MeasuredRun> runs,
                                              const Arguments& arguments) {
  if (!arguments.has("tier")) return runs;
  const std::vector<std::string> tiers = words_of(arguments.value("tier"));
  std::set<std::string> found;
  for (const MeasuredRun& run : runs)
    if (!run.cell("tier").empty()) found.emplace(run.cell("tier"));
  for (const std::string& tier : tiers) {
    if (found.contains(tier)) continue;
    const std::string there = found.empty()
                                  ? "its rows have no tier"
                                  : fmt::format("its tiers are {}", fmt::join(found, ", "));
    return input_error("--tier: {}: no row of tier '{}'; {}", fmt::join(arguments.words, ", "),
                       tier, there);
  }
  std::erase_if(runs,
                [&](const MeasuredRun& run) { return !base::contains(tiers, run.cell("tier")); });
  return runs;
}

Result<validation::ScoreOutput> output_of(const Arguments& arguments,
                                          const std::vector<MeasuredRun>& runs, size_t columns) {
  validation::ScoreOutput output;
  output.columns = columns;
  if (!arguments.has("explain")) return output;
  output.explain = arguments.value("explain");
  if (output.explain->empty()) return output;
  std::vector<std::string> ids;
  for (const MeasuredRun& run : runs) ids.push_back(validation::id_of(run));
  if (base::contains(ids, *output.explain)) return output;
  return input_error("--explain: {}: no row '{}' among those selected{}",
                     fmt::join(arguments.words, ", "), *output.explain,
                     base::did_you_mean(*output.explain, ids));
}

constexpr size_t kLargestTable = 64 << 20;

/// The whole file, unpacked.
Result<std::string> read_table(const std::string& path) {
  ERGOMETER_ASSIGN(const std::unique_ptr<importer::ByteSource> file, importer::open_file(path));
  importer::PeekSource peeked(*file);
  constexpr size_t kHeadBytes = 16;
  ERGOMETER_ASSIGN(const std::string_view head, peeked.peek(kHeadBytes));
  const auto unpacked = importer::is_packed(head) ? importer::unpack(head, peeked, path) : nullptr;
  importer::ByteSource& source = unpacked ? *unpacked : peeked;
  ERGOMETER_ASSIGN(std::string text, importer::read_all(source, path, kLargestTable));
  if (source.cut_off()) return input_error("{}: the packed data is cut off", path);
  return text;
}

/// Kernels and collectives by themselves; with a column of watts, what kernels draw.
Result<int> run_microbench(const Arguments& arguments, const Console& console) {
  if (!arguments.words.empty())
    return input_error("validate: --microbench takes one file, '{}' is one too many",
                       arguments.words.front());
  const std::string path = arguments.value("microbench");
  ERGOMETER_ASSIGN(const std::string table, read_table(path));
  if (validation::is_kernel_power(table)) {
    ERGOMETER_ASSIGN(const validation::KernelPowerReport report,
                     validation::score_kernel_power_text(table, path));
    console.answer(arguments.has("json") ? validation::kernel_power_json(report)
                                         : validation::kernel_power_text(report));
    return 0;
  }
  ERGOMETER_ASSIGN(const validation::MicrobenchReport report,
                   validation::score_microbench_text(table, path));
  console.answer(arguments.has("json") ? validation::microbench_json(report)
                                       : validation::microbench_text(report, true));
  return 0;
}

}  // namespace

std::vector<Flag> validate_flags() {
  return {
      option("tier", "A,B", "rows", "only rows of these tiers"),
      option("by", "LIST", "output",
             "a table for each of gpu, source, parallelism, scale, model, precision, framework, "
             "tier; by default the first four"),
      option("limit", "PCT", "output",
             "end with status 1 when the mean absolute error of step time, weighted by group, is "
             "above PCT %"),
      option("explain", "ID", "output",
             "what was filled in where a row is blank, and why; without ID for every row")
          .with_optional_value(),
      option("evidence", "FILE", "output",
             "write how many runs of which kind there are, in the form of "
             "catalog/tables/evidence.csv"),
      option("series", "", "output",
             "instead of errors, jobs measured with several layouts: which one the prediction "
             "chooses, and what that costs"),
      option(
          "commands", "", "output",
          "instead of errors, the simulate command that says what each row says, and nothing more"),
      option("microbench", "FILE.csv", "rows",
             "instead of runs, GEMMs, attention, collectives and copies measured by themselves; "
             "with columns latency_ms and power_w, what kernels draw"),
      threads_flag(),
  };
}

Result<int> run_validate(const Arguments& arguments, const Console& console) {
  if (arguments.has("microbench")) return run_microbench(arguments, console);
  if (arguments.words.empty())
    return input_error(
        "validate: FILE.csv is missing; usage: ergometer validate FILE.csv... [options]");
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const std::vector<std::string> by, dimensions(arguments));
  ERGOMETER_ASSIGN(const std::optional<double> limit, limit_of(arguments));
  std::vector<MeasuredRun> all;
  for (const std::string& file : arguments.words) {
    ERGOMETER_ASSIGN(const std::vector<MeasuredRun> more, validation::read_measured_runs(file));
    all.insert(all.end(), more.begin(), more.end());
  }
  ERGOMETER_ASSIGN(const std::vector<MeasuredRun> runs, select_tiers(std::move(all), arguments));
  if (arguments.has("commands")) {
    console.answer(arguments.has("json") ? validation::commands_json(runs)
                                         : validation::commands_text(runs));
    return 0;
  }
  ERGOMETER_ASSIGN(const validation::ScoreOutput output,
                   output_of(arguments, runs, terminal_style(console.out).width));
  std::vector<validation::Prediction> predictions;
  {
    Progress progress(console, "predicting", runs.size());
    predictions = validation::predict(runs, threads, [&] { progress.advance(); });
  }
  if (arguments.has("evidence"))
    ERGOMETER_TRY(
        base::write_file_atomically(arguments.value("evidence"),
                                    engine::evidence_csv(validation::evidence(runs, predictions))));
  if (arguments.has("series")) {
    const validation::SeriesReport series = validation::find_series(runs, predictions);
    console.answer(arguments.has("json") ? validation::series_json(series, runs)
                                         : validation::series_text(series, runs));
    return 0;
  }
  const validation::Score score = validation::score(runs, predictions, by);
  console.answer(arguments.has("json") ? validation::to_json(score, predictions, output)
                                       : validation::to_text(score, predictions, output));
  const bool above = limit && score.step_time.group_mean_pct > *limit;
  if (above)
    console.note("the mean error by group, {:.2f} %, is above the limit of {} %",
                 score.step_time.group_mean_pct, *limit);
  return above ? static_cast<int>(base::ErrorKind::kNo) : 0;
}

}  // namespace ergometer::cli
