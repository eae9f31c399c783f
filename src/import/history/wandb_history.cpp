#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "import/bytes/whole_text.h"
#include "import/history/scalar_steps.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

// wandb's Run.history() and scan_history(): rows of what was logged together, with `_step` (how
// often the program logged), `_timestamp` (seconds since 1970) and `_runtime` (seconds since the
// start).

namespace ergometer::importer {
namespace {

using simdjson::dom::element;

/// What programs call the step of training, the surest first: `_step` counts what was logged.
constexpr std::array<std::string_view, 5> kStepNames = {"train/global_step", "trainer/global_step",
                                                        "global_step", "iteration", "_step"};
constexpr double kNsOfSecond = 1e9, kLatest = 4e9, kMostNumber = 1e15;

using Row = std::vector<std::pair<std::string, double>>;

std::optional<double> named(const Row& row, std::string_view name) {
  const auto found = std::ranges::find(row, name, &Row::value_type::first);
  return found == row.end() ? std::nullopt : std::optional(found->second);
}

/// Puts the rows of a run together. The name of the step is the first that any row has.
class History {
 public:
  void add(Row row) { rows_.push_back(std::move(row)); }
  void tell(LogBuilder& log) const;

 private:
  bool any(std::string_view name) const {
    return std::ranges::any_of(rows_, [&](const Row& row) { return named(row, name).has_value(); });
  }
  bool put(const Row& row, std::string_view step_name, ScalarSteps& steps) const;

  std::vector<Row> rows_;
};

/// False: it says no step, or no time.
bool History::put(const Row& row, std::string_view step_name, ScalarSteps& steps) const {
  const auto step = named(row, step_name);
  auto time_s = named(row, "_timestamp");
  if (!time_s) time_s = named(row, "_runtime");
  if (!step || !time_s || !(*step >= 0 && *step <= kMostNumber) ||
      !(*time_s >= 0 && *time_s <= kLatest))
    return false;
  steps.begin(static_cast<int64_t>(*step), std::llround(*time_s * kNsOfSecond));
  for (const auto& [name, value] : row) steps.add(name, value);
  return true;
}

void History::tell(LogBuilder& log) const {
  const auto step_name = *std::ranges::find_if(
      kStepNames, [&](std::string_view name) { return name == kStepNames.back() || any(name); });
  ScalarSteps steps;
  int64_t mute = 0;
  for (const Row& row : rows_) mute += put(row, step_name, steps) ? 0 : 1;
  if (mute > 0) log.drop(fmt::format("a row without {} or a time", step_name), mute);
  std::vector<run::TrainingStep> found = steps.take();
  if (!any("_timestamp"))
    for (run::TrainingStep& step : found) step.end_ns = 0;
  if (!found.empty()) return add_training(std::move(found), log);
  log.note(
      fmt::format("{}: no step time can be told: it takes two rows of different {} with "
                  "_timestamp or _runtime",
                  log.file(), step_name));
}

/// The numbers of an object; nothing of anything else.
bool add_object(element document, History& history) {
  simdjson::dom::object object;
  if (document.get(object) != simdjson::SUCCESS) return false;
  Row row;
  for (const auto& [name, value] : object)
    if (double found = 0; value.get(found) == simdjson::SUCCESS) row.emplace_back(name, found);
  history.add(std::move(row));
  return true;
}

std::string not_an_object(const LogBuilder& log, int64_t line) {
  return fmt::format("{}:{}: found no JSON object, allowed: a row of history", log.file(), line);
}

base::Result<void> read_list(std::string_view text, LogBuilder& log, History& history) {
  const simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  simdjson::dom::array rows;
  if (const auto error = parser.parse(padded).get(rows); error != simdjson::SUCCESS)
    return json_error(log.file(), text, std::string::npos, simdjson::error_message(error));
  for (const element row : rows)
    if (!add_object(row, history)) return base::input_error(not_an_object(log, 1));
  return {};
}

base::Result<void> read_objects(std::string_view text, LogBuilder& log, History& history) {
  simdjson::dom::parser parser;
  for (Lines lines(text); lines.next();) {
    const simdjson::padded_string padded(lines.line());
    element row;
    if (parser.parse(padded).get(row) == simdjson::SUCCESS && add_object(row, history)) continue;
    if (!lines.cut_off()) return base::input_error(not_an_object(log, lines.number()));
    log.drop("a line that is cut off at the end of the file");
  }
  return {};
}

void read_table(std::string_view text, LogBuilder& log, History& history) {
  Lines lines(text);
  std::vector<std::string_view> names, cells;
  if (lines.next()) split_cells(lines.line(), names);
  while (lines.next()) {
    split_cells(lines.line(), cells);
    if (cells.size() != names.size()) {
      log.drop("a row of another length than the header");
      continue;
    }
    Row row;
    for (size_t i = 0; i < cells.size(); ++i)
      if (const auto value = number(cells[i]); value && std::isfinite(*value))
        row.emplace_back(names[i], *value);
    history.add(std::move(row));
  }
}

bool is_object_or_list(std::string_view text) {
  return text.starts_with('{') || text.starts_with('[');
}

}  // namespace

bool is_wandb_history(std::string_view text) {
  const std::string_view head = is_object_or_list(trim(text)) ? text : first_line(text);
  const auto has = [&](std::string_view name) { return head.find(name) != head.npos; };
  if (is_object_or_list(trim(text)))
    return has("\"_step\"") && (has("\"_timestamp\"") || has("\"_runtime\""));
  return has("_step,") + has(",_step") > 0 && (has("_timestamp") || has("_runtime"));
}

base::Result<void> read_wandb_history(std::string_view text, LogBuilder& log) {
  History history;
  if (const std::string_view start = trim(text); start.starts_with('[')) {
    ERGOMETER_TRY(read_list(text, log, history));
  } else if (start.starts_with('{')) {
    ERGOMETER_TRY(read_objects(text, log, history));
  } else {
    read_table(text, log, history);
  }
  history.tell(log);
  return {};
}

}  // namespace ergometer::importer
