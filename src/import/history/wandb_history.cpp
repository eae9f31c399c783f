#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "import/bytes/whole_text.h"
#include "import/history/scalar_steps.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

// wandb's Run.history() and scan_history(): rows of what was logged together, with `_step` (how
// often the program logged), `_timestamp` (seconds since 1970) and `_runtime` (seconds since the
// start, going on where a run is resumed).

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

/// The times of a row, in seconds; a row may lack either.
struct RowTimes {
  std::optional<double> written, runtime;
  /// How much longer no run was going on, from an earlier row to this one.
  double pause_since(const RowTimes& before) const {
    if (!written || !before.written || !runtime || !before.runtime) return 0;
    return (*written - *before.written) - (*runtime - *before.runtime);
  }
};

RowTimes times_of(const Row& row) {
  const auto time = [&](std::string_view name) {
    const auto found = named(row, name);
    return found && *found >= 0 && *found <= kLatest ? found : std::nullopt;
  };
  return {time("_timestamp"), time("_runtime")};
}

/// Puts the rows of a run together. The name of the step is the first that any row has; the clock
/// is `_runtime` where all rows have it, for it stands still while a run waits to be resumed.
class History {
 public:
  void add(Row row) { rows_.push_back(std::move(row)); }
  void tell(LogBuilder& log);

 private:
  bool any(std::string_view name) const {
    return std::ranges::any_of(rows_, [&](const Row& row) { return named(row, name).has_value(); });
  }
  void put_in_order();
  bool put(const Row& row);
  void look_for_restart(int64_t step, const RowTimes& times, double time_s);
  void note_pauses(LogBuilder& log) const;

  std::vector<Row> rows_;
  std::string_view step_name_;
  bool by_runtime_ = false;
  ScalarSteps steps_;
  int64_t last_step_ = -1;
  double last_s_ = -1, paused_s_ = 0;
  RowTimes last_;
  int64_t pauses_ = 0;
};

/// `_step` counts what was logged; an export may be sorted by another column.
void History::put_in_order() {
  if (std::ranges::all_of(rows_, [](const Row& row) { return named(row, "_step").has_value(); }))
    std::ranges::stable_sort(rows_, {}, [](const Row& row) { return *named(row, "_step"); });
}

void History::look_for_restart(int64_t step, const RowTimes& times, double time_s) {
  constexpr double kPauseS = 60;
  const double pause_s = times.pause_since(last_);
  const bool paused = pause_s > kPauseS;
  if (step < last_step_ || time_s < last_s_) steps_.restart();
  pauses_ += paused ? 1 : 0;
  paused_s_ += paused ? pause_s : 0;
  last_step_ = step;
  last_s_ = time_s;
  last_ = times;
}

/// False: it says no step, or no time.
bool History::put(const Row& row) {
  const auto step = named(row, step_name_);
  const RowTimes times = times_of(row);
  const auto time_s = by_runtime_ || !times.written ? times.runtime : times.written;
  if (!step || !time_s || !(*step >= 0 && *step <= kMostNumber)) return false;
  const auto number = static_cast<int64_t>(*step);
  look_for_restart(number, times, *time_s);
  steps_.begin(number, std::llround(*time_s * kNsOfSecond),
               std::llround(times.written.value_or(0) * kNsOfSecond));
  for (const auto& [name, value] : row) steps_.add(name, value);
  return true;
}

void History::note_pauses(LogBuilder& log) const {
  if (pauses_ > 0)
    log.note("{}: the run was resumed {}; {} in which it did not run are no step's", log.file(),
             pauses_ == 1 ? "once" : fmt::format("{} times", pauses_),
             base::format_seconds(paused_s_));
}

void History::tell(LogBuilder& log) {
  step_name_ = *std::ranges::find_if(
      kStepNames, [&](std::string_view name) { return name == kStepNames.back() || any(name); });
  by_runtime_ =
      std::ranges::all_of(rows_, [](const Row& row) { return times_of(row).runtime.has_value(); });
  put_in_order();
  int64_t mute = 0;
  for (const Row& row : rows_) mute += put(row) ? 0 : 1;
  if (mute > 0) log.drop(fmt::format("a row without {} or a time", step_name_), mute);
  note_pauses(log);
  std::vector<run::TrainingStep> found = steps_.take();
  if (!found.empty()) return add_training(std::move(found), log);
  log.note(
      "{}: no step time can be told: it takes two rows of different {} with _timestamp or _runtime",
      log.file(), step_name_);
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

Result<void> read_list(std::string_view text, LogBuilder& log, History& history) {
  const simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  simdjson::dom::array rows;
  if (const auto error = parser.parse(padded).get(rows); error != simdjson::SUCCESS)
    return json_error(log.file(), text, std::string::npos, simdjson::error_message(error));
  for (const element row : rows)
    if (!add_object(row, history)) return input_error(not_an_object(log, 1));
  return {};
}

Result<void> read_objects(std::string_view text, LogBuilder& log, History& history) {
  simdjson::dom::parser parser;
  for (Lines lines(text); lines.next();) {
    const simdjson::padded_string padded(lines.line());
    element row;
    if (parser.parse(padded).get(row) == simdjson::SUCCESS && add_object(row, history)) continue;
    if (!lines.cut_off()) return input_error(not_an_object(log, lines.number()));
    log.drop("a line that is cut off at the end of the file");
  }
  return {};
}

/// Under which tables of several runs say which one a row is of.
constexpr std::array<std::string_view, 5> kRunNames = {"run", "run_id", "run_name", "Run", "Name"};

/// Which column that is; as many as there are: none.
size_t run_column(const std::vector<std::string_view>& names) {
  const auto found = std::ranges::find_first_of(names, kRunNames);
  return static_cast<size_t>(found - names.begin());
}

Result<void> read_table(std::string_view text, LogBuilder& log, History& history) {
  Lines lines(text);
  std::vector<std::string_view> names, cells;
  if (lines.next()) split_cells(lines.line(), names);
  const size_t run = run_column(names);
  std::string first_run;
  while (lines.next()) {
    split_cells(lines.line(), cells);
    if (cells.size() != names.size()) {
      log.drop("a row of another length than the header");
      continue;
    }
    if (run < cells.size()) {
      if (first_run.empty()) first_run = cells[run];
      if (cells[run] != first_run)
        return input_error(
            "{}:{}: column '{}': found '{}' behind '{}', allowed: the history of one "
            "run; give each its own file",
            log.file(), lines.number(), names[run], cells[run], first_run);
    }
    Row row;
    for (size_t i = 0; i < cells.size(); ++i)
      if (const auto value = number(cells[i]); value && std::isfinite(*value))
        row.emplace_back(names[i], *value);
    history.add(std::move(row));
  }
  return {};
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

Result<void> read_wandb_history(std::string_view text, LogBuilder& log) {
  History history;
  if (const std::string_view start = trim(text); start.starts_with('[')) {
    ERGOMETER_TRY(read_list(text, log, history));
  } else if (start.starts_with('{')) {
    ERGOMETER_TRY(read_objects(text, log, history));
  } else {
    ERGOMETER_TRY(read_table(text, log, history));
  }
  history.tell(log);
  return {};
}

}  // namespace ergometer::importer
