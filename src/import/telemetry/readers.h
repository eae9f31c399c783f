#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/telemetry/log_builder.h"
#include "import/telemetry/nccl_samples.h"
#include "run/exported_names.h"

namespace ergometer::importer {

// One reader a format. `text` is a whole file, which `log.file()` names; wrong input is an input
// error with file and line. What a text is, its first 64 KiB may say.

/// Tables with a header: nvidia-smi's CSV in all its spellings, Zeus's power monitor, our own.
bool is_sensor_table(std::string_view text);
/// A row with a time where the header should be.
bool is_headerless_table(std::string_view text);
Result<void> read_sensor_table(std::string_view text, LogBuilder& log);

/// Zeus's windows with each GPU's energy, and tables of time and power by power limit.
bool is_zeus_table(std::string_view text);
Result<void> read_zeus_table(std::string_view text, LogBuilder& log);

/// CharLLM-PPT's files: `unix_seconds,value` without a header; the name says what it is
/// (charllm_name.h).
bool is_pair_list(std::string_view text);
Result<void> read_pair_list(std::string_view text, LogBuilder& log);

/// MLPerf's logs: node power, and the training log beside it.
bool is_mllog(std::string_view text);
Result<void> read_mllog(std::string_view text, LogBuilder& log);

/// What Trainer's scripts leave of a run (all_results.json, train_results.json): the same mean.
bool is_trainer_results(std::string_view text);
Result<void> read_trainer_results(std::string_view text, LogBuilder& log);

/// What a training program prints: steps and how long each took (step_lines.h).
bool is_step_log(std::string_view text);
Result<void> read_step_log(std::string_view text, LogBuilder& log);

/// TensorBoard's event files: steps by their scalars.
bool is_event_file(std::string_view bytes);
Result<void> read_event_file(std::string_view bytes, LogBuilder& log);

/// Weights & Biases' history of a run, as its API gives it: CSV, a JSON list, a JSON object a line.
/// Steps by their metrics.
bool is_wandb_history(std::string_view text);
Result<void> read_wandb_history(std::string_view text, LogBuilder& log);

/// What Hugging Face's Trainer leaves of a run (trainer_state.json): the mean of all its steps.
bool is_trainer_state(std::string_view text);
Result<void> read_trainer_state(std::string_view text, LogBuilder& log);

/// What nvidia-smi dmon and dcgmi dmon print, as text or CSV.
bool is_dmon(std::string_view text);
Result<void> read_dmon(std::string_view text, LogBuilder& log);

/// What rocm-smi and amd-smi print with --csv, once or again and again.
bool is_amd_table(std::string_view text);
Result<void> read_amd_table(std::string_view text, LogBuilder& log);

/// What they print with --json.
bool is_amd_json(std::string_view text);
Result<void> read_amd_json(std::string_view text, LogBuilder& log);

/// What `ipmitool dcmi power reading` prints: a node's power, by the clock of its controller.
bool is_ipmi_power(std::string_view text);
Result<void> read_ipmi_power(std::string_view text, LogBuilder& log);

/// What nccl-tests print: their table of sizes, times and bandwidths.
bool is_nccl_tests(std::string_view text);
Result<void> read_nccl_tests(std::string_view text, LogBuilder& log);
/// The table's columns, of the line that heads it; none of any other line.
std::vector<std::string_view> nccl_tests_head(std::string_view line);

/// What NCCL's profiler plugin "inspector" dumps: JSON, a document a collective and rank.
bool is_nccl_inspector(std::string_view head);
Result<void> read_nccl_inspector(std::string_view text, LogBuilder& log);

/// OTLP in JSON, a document a line or one: what OpenTelemetry's collector writes into a file.
/// Telemetry by the names of exporters, steps by spans and metrics (otlp_steps.h).
bool is_otlp(std::string_view head);
Result<void> read_otlp(std::string_view text, LogBuilder& log);

/// Prometheus' text format and OpenMetrics: our own recorder, DCGM, omnistat, XPUTimer and others.
bool is_prometheus_text(std::string_view first_lines);
Result<void> read_prometheus_text(std::string_view text, LogBuilder& log);

/// What Prometheus answers to a query, in JSON.
bool is_prometheus_json(std::string_view head);
Result<void> read_prometheus_json(std::string_view text, LogBuilder& log);

/// Recordings of an external meter in binary; the time of their start stands in a file beside them.
bool is_shunt_meter(std::string_view bytes);
bool is_shunt_meter_start(std::string_view path);
Result<void> read_shunt_meter(std::string_view bytes, LogBuilder& log);

// Shared by them.

/// The file's training, of which these steps are known.
void add_training(std::vector<run::TrainingStep> steps, LogBuilder& log);

/// A text behind its byte order mark, where it has one.
std::string_view without_mark(std::string_view text);

/// A file's lines, without their ends, and their numbers.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  /// The next line that holds more than space; false at the end.
  bool next();
  std::string_view line() const { return line_; }
  int64_t number() const { return number_; }
  /// Whether the line is the last one and no line end stands behind it.
  bool cut_off() const { return cut_off_; }

 private:
  std::string_view rest_, line_;
  int64_t number_ = 0;
  bool cut_off_ = false;
};

std::string_view first_line(std::string_view text);

/// Whether `is` holds of one of the first lines: programs print a few above their own.
template <class Is>
bool any_first_line(std::string_view text, const Is& is) {
  constexpr int kLinesAbove = 16;
  Lines lines(text);
  for (int i = 0; i < kLinesAbove && lines.next(); ++i)
    if (is(lines.line())) return true;
  return false;
}

/// Whether a text may be JSON by its first characters: "[rank0]: ...", "[2024-05-15 ..." and
/// "{'loss': ..." begin lines of logs. It begins with no space.
bool may_be_json(std::string_view text);

/// A line of a CSV: cells between commas, in quotes or not, trimmed.
void split_cells(std::string_view line, std::vector<std::string_view>& cells);

/// "folder/gpu_power_3.csv.gz" is "gpu_power_3".
std::string_view stem_of(std::string_view path);
/// "a/b/c.txt" is "a/b".
std::string_view folder_of(std::string_view path);

/// A sample in the names of an exporter, told to the log; what it is, is in the table of names.
struct Label {
  std::string name, value;
};
/// What the first of these labels that says something says; empty: none does.
std::string_view label(const std::vector<Label>& labels,
                       std::initializer_list<std::string_view> names);

/// What an exporter's name measures, and what one unit of it is in the metric's own.
struct Exported {
  std::string_view name;
  run::Metric metric;
  double factor = 1;
};
/// Null: no telemetry of a GPU.
const Exported* exported(std::string_view name);

class ExportedSamples {
 public:
  explicit ExportedSamples(LogBuilder& log) : log_(log) {}
  /// `time_ns` < 0: without a time.
  void add(std::string_view name, const std::vector<Label>& labels, int64_t time_ns, double value);
  /// Puts down what several samples tell together, and drops what was no telemetry, by name.
  void finish();
  int64_t taken() const { return taken_; }

 private:
  void add_gauge(std::string_view name, const std::vector<Label>& labels, double value);
  void add_own(const run::OwnFamily& own, const std::vector<Label>& labels, int64_t time_ns,
               double value);
  bool add_own_step(std::string_view name, int64_t time_ns, double value);
  void put(size_t device, run::Metric metric, int64_t time_ns, double value);
  void add_unknown(std::string_view name);
  bool is_of_board(size_t device, run::Metric metric, std::string_view instance);

  LogBuilder& log_;
  int64_t taken_ = 0, untimed_ = 0;
  std::map<std::pair<size_t, run::Metric>, std::string> instances_;  ///< whose readings are taken
  std::map<std::string, int64_t, std::less<>> unknown_;
  NcclSamples collectives_;
  std::map<std::pair<size_t, int64_t>, int64_t> reasons_;  ///< bits, by device and time
  std::map<int64_t, run::TrainingStep> steps_;             ///< by time
};

}  // namespace ergometer::importer
