#include "validation/rows/power_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "spec/cluster/cluster_names.h"
#include "validation/rows/benchmark_run.h"
#include "validation/rows/names.h"

namespace ergometer::validation {
namespace {

/// What a row says of its run, in the words of training_runs.csv.
struct Identity {
  std::string source, release;  ///< "MLPerf Training v4.0 results", "MLPerf v4.0"
  std::string model, task;
  std::string gpu;
  int64_t gpus = 0, gpus_per_node = 0;
  std::string system;  ///< "/results/8xSMC-H100-SXM-80GB/", or empty
  std::vector<Fill> fills;
};

std::optional<PowerScope> scope_of(std::string_view unit) {
  if (unit == "W/GPU") return PowerScope::kGpu;
  if (unit == "W/node (node DC)") return PowerScope::kNodeDc;
  // Round 5.0 writes "W/node (node)"; its logs' `measurement` is AC.
  if (unit == "W/node (node AC)" || unit == "W/node (node)") return PowerScope::kNodeAc;
  return std::nullopt;
}

/// "mean node power over run_start..run_stop", "max single-sample node power in run", "per-GPU
/// power Mean", "per-GPU power draw, ...: max".
std::optional<PowerStatistic> statistic_of(std::string_view metric) {
  const std::vector<std::string> all = words(metric);
  if (all.empty() || !contains(metric, "power")) return std::nullopt;
  for (const std::string& word : {all.front(), all.back()}) {
    if (word == "mean") return PowerStatistic::kMean;
    if (word == "max") return PowerStatistic::kMax;
  }
  return std::nullopt;
}

/// The whole number in front of a word that begins with `unit`: 64 in "64 nodes x 8 GPU"; 0 without
/// one.
int64_t count_of(std::string_view text, std::string_view unit) {
  const size_t at = text.find(unit);
  if (at == text.npos) return 0;
  size_t end = at;
  while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '-')) --end;
  size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  constexpr int64_t kMost = 1'000'000;
  const auto number = base::parse_integer(text.substr(begin, end - begin));
  return number && *number > 0 && *number <= kMost ? *number : 0;
}

/// "github mlcommons/training_results_v4.0 smc-ac-power/results/8xSMC/llama2_70b_lora/power/..." is
/// "/results/8xSMC/": submitters enter the same system with and without power.
std::string system_of(std::string_view where) {
  constexpr std::string_view kResults = "/results/";
  const size_t at = where.find(kResults);
  const size_t end = at == where.npos ? where.npos : where.find('/', at + kResults.size());
  return end == where.npos ? "" : std::string(where.substr(at, end + 1 - at));
}

/// "mean over nodes; ...; run 1694.5 s incl. evaluation": 1694.5; 0 without it.
double run_seconds(std::string_view notes) {
  constexpr std::string_view kRun = "run ";
  for (size_t at = notes.find(kRun); at != notes.npos; at = notes.find(kRun, at + 1)) {
    const std::string_view rest = notes.substr(at + kRun.size());
    const size_t end = rest.find(" s");
    const auto seconds = base::parse_number(rest.substr(0, std::min(end, rest.size())));
    if (end != rest.npos && seconds && *seconds > 0) return *seconds;
  }
  return 0;
}

Result<Identity> mlperf_identity(const MeasuredRun& row) {
  constexpr std::string_view kTraining = "MLPerf Training ";
  const std::string_view source = row.cell("source");
  const std::string_view behind = source.substr(kTraining.size());
  const std::string round(behind.substr(0, behind.find(' ')));
  const ModelName name = parse_model_name(row.cell("workload"));
  Identity identity;
  identity.source = fmt::format("MLPerf Training {} results", round);
  identity.release = fmt::format("MLPerf {}", round);
  identity.model = row.cell("workload");
  identity.task = name.lora ? "lora" : "pretrain";
  identity.gpu = row.cell("device");
  identity.gpus_per_node = count_of(row.cell("config"), "GPU");
  identity.gpus = count_of(row.cell("config"), "node") * identity.gpus_per_node;
  identity.system = system_of(row.cell("where"));
  return identity;
}

/// A row of single GPUs says how many nodes trained and, in `system`, of how many GPUs: "4-GPU
/// nodes".
Result<Identity> gpu_identity(const MeasuredRun& row) {
  const std::string_view workload = row.cell("workload");
  if (contains(workload, "not stated"))
    return input_error("workload: found \"{}\"; a prediction needs the model and its batch",
                       workload);
  Identity identity;
  identity.gpu = row.cell("device");
  identity.gpus_per_node = count_of(row.cell("system"), "GPU");
  const int64_t nodes = count_of(workload, "node");
  identity.gpus = nodes > 0 ? nodes * identity.gpus_per_node : count_of(row.cell("config"), "GPU");
  // MLCommons' fine-tuning benchmark is the one LLaMA 2 LoRA that a source names without a size.
  if (base::squashed(workload).starts_with("llama2lora")) {
    constexpr std::string_view kReason = "MLPerf's benchmark of that name";
    identity.source = "MLPerf Training v4.0 results";
    identity.release = "MLPerf v4.0";
    identity.model = "Llama 2 70B";
    identity.task = "lora";
    identity.fills.push_back({"model", identity.model, std::string(kReason)});
    return identity;
  }
  return input_error(
      "workload: found \"{}\"; allowed: a training run of a language model whose "
      "model and batch are known",
      workload);
}

bool has_layout(const MeasuredRun& run) { return !run.cell("tp").empty(); }

/// A run of the same benchmark, and whether on as many GPUs.
struct Found {
  const MeasuredRun* run = nullptr;
  bool as_many = false;
};

bool is_same_gpu(std::string_view a, std::string_view b) {
  const auto of_a = spec::node_of_gpu(a), of_b = spec::node_of_gpu(b);
  return of_a && of_b ? of_a->node == of_b->node : !of_a && !of_b;
}

bool is_same_benchmark(const Identity& identity, const MeasuredRun& run) {
  return run.cell("release") == identity.release &&
         parse_model_name(run.cell("model")).key == parse_model_name(identity.model).key &&
         is_same_gpu(run.cell("gpu"), identity.gpu) &&
         (identity.task == "lora") == (run.cell("task") == "lora");
}

/// How much a run tells of the one that was measured; 0: nothing. On as many GPUs, the same
/// system's comes first, then one with a layout. Else the largest smaller one that does not
/// accumulate: submissions grow from there by replicas, each with its samples (the rounds' tables).
int64_t closeness(const Identity& identity, const MeasuredRun& run) {
  constexpr int64_t kAsMany = 1 << 20, kOwn = 2, kLayout = 1;
  const auto gpus = base::parse_integer(run.cell("gpus"));
  if (!gpus || *gpus <= 0 || !is_same_benchmark(identity, run)) return 0;
  const bool layout = has_layout(run);
  if (*gpus == identity.gpus) {
    const bool own = !identity.system.empty() && contains(run.cell("where"), identity.system);
    return kAsMany + (own ? kOwn : 0) + (layout ? kLayout : 0);
  }
  const bool grows = *gpus < identity.gpus && identity.gpus % *gpus == 0 && layout &&
                     run.cell("grad_accum") == "1";
  return grows ? *gpus : 0;
}

Found find_run(const Identity& identity, std::span<const MeasuredRun> runs) {
  Found found;
  int64_t best = 0;
  for (const MeasuredRun& run : runs) {
    const int64_t own = closeness(identity, run);
    if (own <= best) continue;
    best = own;
    found = {&run, run.cell("gpus") == fmt::format("{}", identity.gpus)};
  }
  return found;
}

/// A row of training_runs.csv with what the power row says and the sizes of the run that was found;
/// on more GPUs the batch follows from replicas and accumulation.
MeasuredRun run_of(const Identity& identity, const Found& found, int64_t line) {
  constexpr std::array<std::string_view, 13> kSizes = {
      "seq", "tp",         "cp",        "pp",    "vpp",       "ep", "sp",
      "mbs", "grad_accum", "precision", "notes", "framework", "gbs"};
  base::CsvTable table;
  base::CsvRow row;
  row.line = line;
  const auto add = [&](std::string_view column, std::string cell) {
    table.columns.emplace_back(column);
    row.cells.push_back(std::move(cell));
  };
  add("source", identity.source);
  add("release", identity.release);
  add("task", identity.task);
  add("model", identity.model);
  add("gpu", identity.gpu);
  add("gpus", fmt::format("{}", identity.gpus));
  add("gpus_per_node", fmt::format("{}", identity.gpus_per_node));
  for (const std::string_view column : kSizes)
    if (found.as_many || column != "gbs") add(column, std::string(found.run->cell(column)));
  table.rows.push_back(std::move(row));
  return {line, std::make_shared<const base::CsvTable>(std::move(table)), 0};
}

/// Without a run the rules would make up layout and batch.
Result<void> check(const Identity& identity, const Found& found) {
  if (identity.gpus == 0)
    return input_error("config: says no number of GPUs; allowed: \"8 nodes x 8 GPU\"");
  if (found.run == nullptr ||
      (found.run->cell("gbs").empty() && found.run->cell("grad_accum").empty()))
    return input_error("no run of {} on {} {} in {} tells the batch", identity.model, identity.gpus,
                       identity.gpu, identity.release);
  return {};
}

/// A mean over a whole run is predicted of one, where its length and its benchmark are known.
void add_run_phases(const Identity& identity, PowerJob& job) {
  const auto run = benchmark_run(identity.release, identity.model, identity.task);
  if (!run || job.run_s <= 0 || job.statistic != PowerStatistic::kMean) return;
  spec::Job& it = job.run.job;
  it.conditions.run = phases_of(*run, job.run_s, static_cast<double>(it.training.global_batch));
  job.pause_deviation = run->pause_deviation;
}

}  // namespace

Result<PowerJob> power_job(const MeasuredRun& row, std::span<const MeasuredRun> runs) {
  PowerJob result;
  const auto scope = scope_of(row.cell("unit"));
  const auto statistic = statistic_of(row.cell("metric"));
  const auto watts = base::parse_number(row.cell("value"));
  if (!scope || !statistic)
    return input_error(
        "metric: found \"{}\" in {}; allowed: a mean or maximum of power in W/node or W/GPU",
        row.cell("metric"), row.cell("unit"));
  if (!watts || !(*watts > 0))
    return input_error("value: found \"{}\"; allowed: a power above 0", row.cell("value"));
  const bool mlperf = row.cell("source").starts_with("MLPerf Training ");
  ERGOMETER_ASSIGN(const Identity identity, mlperf ? mlperf_identity(row) : gpu_identity(row));
  const Found found = find_run(identity, runs);
  ERGOMETER_TRY(check(identity, found));
  ERGOMETER_ASSIGN(result.run, make_job(run_of(identity, found, row.line)));
  result.run.fills.insert(result.run.fills.begin(), identity.fills.begin(), identity.fills.end());
  result.scope = *scope;
  result.statistic = *statistic;
  result.watts = *watts;
  result.run_s = run_seconds(row.cell("notes"));
  add_run_phases(identity, result);
  result.from = found.run->cell("id");
  return result;
}

}  // namespace ergometer::validation
