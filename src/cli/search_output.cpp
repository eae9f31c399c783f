#include "cli/search_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "launch/megatron.h"
#include "launch/nemo.h"
#include "launch/torchtitan.h"
#include "report/job_json.h"

namespace ergometer::cli {
namespace {

using search::Played;
using search::SearchResult;

std::string sharding_word(const spec::Job& job) {
  return job.parallelism.fsdp ? "fsdp" : fmt::format("zero {}", job.parallelism.zero_stage);
}

std::string recompute_word(const spec::Job& job) {
  const spec::Training& t = job.training;
  if (t.recompute == spec::Recompute::kNone) return "-";
  if (t.recompute == spec::Recompute::kSelective)
    return fmt::format("{}", fmt::join(t.recompute_modules, "+"));
  return t.recompute_method == spec::RecomputeMethod::kBlock
             ? fmt::format("block {}", t.recompute_layers)
             : "full";
}

std::string overlap_word(const spec::Job& job) {
  const spec::Training& t = job.training;
  std::vector<std::string_view> words;
  if (t.overlap_grad_reduce) words.push_back("grad");
  if (t.overlap_param_gather) words.push_back("param");
  if (t.overlap_tp) words.push_back("tp");
  if (t.overlap_p2p) words.push_back("p2p");
  if (t.overlap_expert_parallel) words.push_back("ep");
  if (t.moe_shared_overlap) words.push_back("shared");
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, "+"));
}

std::string layout_word(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  std::string text = fmt::format("tp {}", p.tp);
  if (p.tp > 1 && !p.sequence_parallel) text += " (no sp)";
  if (p.cp > 1) text += fmt::format(" cp {}", p.cp);
  if (p.pp > 1) text += fmt::format(" pp {}", p.pp);
  if (p.vpp > 1) text += fmt::format(" vpp {}", p.vpp);
  if (p.schedule == spec::Schedule::kGpipe) text += " gpipe";
  if (p.schedule == spec::Schedule::kZbH1) text += " zb-h1";
  if (job.model.experts.count > 0) {
    text += fmt::format(" ep {}", p.ep);
    if (p.etp != p.tp) text += fmt::format(" etp {}", p.etp);
  }
  return text + fmt::format(" dp {} mbs {}", p.dp, job.training.micro_batch);
}

std::string energy_word(double joules) {
  constexpr double kMega = 1e6, kKilo = 1e3;
  return joules >= kMega ? fmt::format("{:.3g} MJ", joules / kMega)
                         : fmt::format("{:.3g} kJ", joules / kKilo);
}

struct Row {
  std::vector<std::string> cells;
};

/// Cells in columns: the first ones to the left, numbers to the right.
std::string table(const std::vector<Row>& rows, size_t left) {
  std::vector<size_t> widths;
  for (const Row& row : rows)
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row.cells[i].size());
    }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.cells.size(); ++i)
      line += i == 0      ? fmt::format("{:>{}}", row.cells[i], widths[i])
              : i <= left ? fmt::format("  {:<{}}", row.cells[i], widths[i])
                          : fmt::format("  {:>{}}", row.cells[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string best_table(const SearchResult& result) {
  bool several = false, power = false;
  for (const Played& played : result.best) {
    several |= played.job.gpus != result.best.front().job.gpus;
    power |= played.run.has_power;
  }
  std::vector<Row> rows = {{{"rank", "layout", "recompute", "sharding", "overlap", "step",
                             "90 % interval", "MFU", "memory"}}};
  if (several) rows[0].cells.push_back("GPUs");
  if (power) rows[0].cells.insert(rows[0].cells.end(), {"GPU power", "energy"});
  for (size_t i = 0; i < result.best.size(); ++i) {
    const Played& it = result.best[i];
    const run::Performance& p = it.run.performance;
    Row row{{fmt::format("{}", i + 1), layout_word(it.job), recompute_word(it.job),
             sharding_word(it.job), overlap_word(it.job), base::format_seconds(p.step_time_s),
             fmt::format("{} to {}", base::format_seconds(p.step_time_s_low),
                         base::format_seconds(p.step_time_s_high)),
             fmt::format("{:.1f} %", 100 * p.mfu),
             base::format_binary_bytes(it.run.memory.peak_bytes)}};
    if (several) row.cells.push_back(fmt::format("{}", it.job.gpus));
    if (power && it.run.has_power) {
      row.cells.push_back(fmt::format("{:.0f} W", it.run.power.mean_w_per_gpu));
      row.cells.push_back(energy_word(it.run.power.energy_j_per_step));
    }
    rows.push_back(std::move(row));
  }
  return table(rows, 4);
}

using Parts = std::vector<std::pair<const char*, double>>;
Parts parts_of(const run::Performance& performance) {
  const run::Breakdown& b = performance.breakdown_s;
  return {{"compute", b.compute},
          {"all-reduce", b.exposed_all_reduce},
          {"all-gather", b.exposed_all_gather},
          {"reduce-scatter", b.exposed_reduce_scatter},
          {"all-to-all", b.exposed_all_to_all},
          {"send/recv", b.exposed_send_recv},
          {"optimizer", b.optimizer},
          {"idle", b.idle}};
}

/// "+3.1 %: 120 ms more in idle (bubble and waiting), 30 ms less in all-gather".
std::string loss_line(const Played& best, const Played& other) {
  const Parts a = parts_of(best.run.performance), b = parts_of(other.run.performance);
  std::vector<std::pair<double, const char*>> changes;
  for (size_t i = 0; i < a.size(); ++i) changes.emplace_back(b[i].second - a[i].second, a[i].first);
  std::sort(changes.begin(), changes.end(),
            [](const auto& x, const auto& y) { return std::abs(x.first) > std::abs(y.first); });
  const double step_s = best.run.performance.step_time_s;
  std::string text =
      fmt::format("{:+.1f} %", 100 * (other.run.performance.step_time_s / step_s - 1));
  constexpr double kWorthSaying = 1e-3;
  const char* separator = ": ";
  for (size_t i = 0; i < 3; ++i) {
    if (std::abs(changes[i].first) < kWorthSaying * step_s) break;
    text += fmt::format("{}{} {} {}", separator, base::format_seconds(std::abs(changes[i].first)),
                        changes[i].first > 0 ? "more" : "less", changes[i].second);
    separator = ", ";
  }
  return text;
}

/// Alternatives to the winner's settings, knob by knob, nearest in time first.
std::string knob_lines(const SearchAnswer& answer) {
  std::vector<std::string> names;
  for (const search::Turned& turned : answer.knobs)
    if (std::find(names.begin(), names.end(), turned.knob) == names.end())
      names.push_back(turned.knob);
  const double base_s = answer.result.best.front().found.estimate.step_s;
  struct Line {
    double loss = 0;
    std::string name, text;
  };
  std::vector<Line> lines;
  for (const std::string& name : names) {
    std::vector<const search::Turned*> all;
    for (const search::Turned& turned : answer.knobs)
      if (turned.knob == name) all.push_back(&turned);
    std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
      return a->fits != b->fits ? a->fits : a->estimate.step_s < b->estimate.step_s;
    });
    Line line{INFINITY, name, ""};
    constexpr size_t kMost = 4;
    for (size_t i = 0; i < std::min(kMost, all.size()); ++i) {
      const double loss = all[i]->estimate.step_s / base_s - 1;
      if (all[i]->fits) line.loss = std::min(line.loss, loss);
      line.text +=
          fmt::format("{}{} {}", i > 0 ? ", " : "", all[i]->value,
                      all[i]->fits ? fmt::format("{:+.1f} %", 100 * loss) : "does not fit");
    }
    lines.push_back(std::move(line));
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.loss > b.loss; });
  std::string text;
  for (const Line& line : lines) text += fmt::format("  {:<34}{}\n", line.name, line.text);
  return text;
}

std::string front_table(const SearchAnswer& answer) {
  std::vector<Row> rows = {{{"", "layout", "recompute", "sharding", "overlap", "step", "energy",
                             "GPU power", "memory", "GPUs"}}};
  constexpr size_t kMost = 20;
  const size_t all = answer.result.front.size();
  for (size_t i = 0; i < std::min(kMost, all); ++i) {
    const search::Found& found = answer.result.front[i];
    const spec::Job job = answer.space.job(found.candidate);
    rows.push_back(
        {{fmt::format("{}", i + 1), layout_word(job), recompute_word(job), sharding_word(job),
          overlap_word(job), base::format_seconds(found.estimate.step_s),
          energy_word(found.estimate.energy_j), fmt::format("{:.0f} W", found.estimate.gpu_w),
          base::format_binary_bytes(found.estimate.memory_bytes), fmt::format("{}", found.gpus)}});
  }
  const std::string more =
      all > kMost ? fmt::format("and {} more, all in --json\n", all - kMost) : "";
  return table(rows, 4) + more;
}

/// Steps that a configuration for trying a layout asks for.
constexpr int64_t kSteps = 50;

std::string settings_text(const spec::Job& job, launch::Framework framework) {
  std::vector<std::string> notes;
  if (framework == launch::Framework::kMegatron)
    return "\nMegatron-LM's arguments for the first\n" +
           launch::megatron_text(launch::megatron_layout(job));
  const bool nemo = framework == launch::Framework::kNemo;
  const auto text =
      nemo ? launch::nemo_yaml(job, kSteps, notes) : launch::torchtitan_toml(job, kSteps, notes);
  std::string answer =
      fmt::format("\n{} for the first\n{}", nemo ? "NeMo's YAML" : "torchtitan's TOML",
                  text ? *text : text.error().message + '\n');
  for (const std::string& note : notes) answer += fmt::format("# {}\n", note);
  return answer;
}

std::string count_line(const SearchAnswer& answer) {
  const SearchResult& r = answer.result;
  return fmt::format("{} layouts, {} candidates, {} fit{}\n", base::format_count(r.layouts),
                     base::format_count(r.candidates), base::format_count(r.feasible),
                     r.complete ? "" : "; interrupted: the best so far");
}

}  // namespace

std::string search_text(const SearchAnswer& answer) {
  const SearchResult& result = answer.result;
  std::string text = count_line(answer);
  if (result.best.empty()) return text + "Nothing fits.\n";
  text += '\n' + best_table(result);
  text += fmt::format("\nThe first  {}\n", result.best.front().run.limiter);
  if (result.best.size() > 1) text += "\nWhat the others lose\n";
  for (size_t i = 1; i < result.best.size(); ++i)
    text += fmt::format("{:>4}  {}\n", i + 1, loss_line(result.best.front(), result.best[i]));
  text += "\nOne setting of the first changed (estimates)\n" + knob_lines(answer);
  if (!result.front.empty())
    text += "\nNo candidate is better in all objectives (estimates)\n" + front_table(answer);
  return text + settings_text(result.best.front().job, answer.framework);
}

namespace {

void write_estimate(base::JsonWriter& json, const search::Estimate& estimate) {
  json.member("step_time_s", estimate.step_s);
  json.member("memory_bytes", estimate.memory_bytes);
  if (estimate.energy_j <= 0) return;
  json.member("energy_j_per_step", estimate.energy_j);
  json.member("mean_w_per_gpu", estimate.gpu_w);
  json.member("max_gpu_c", estimate.max_gpu_c);
}

/// What runs it, as each framework is told; why not where it cannot be told.
void write_settings(base::JsonWriter& json, const spec::Job& job) {
  json.member("megatron_arguments", launch::megatron_text(launch::megatron_layout(job)));
  std::vector<std::string> notes;
  const auto nemo = launch::nemo_yaml(job, kSteps, notes);
  json.member(nemo ? "nemo_yaml" : "nemo_refused", nemo ? *nemo : nemo.error().message);
  const auto toml = launch::torchtitan_toml(job, kSteps, notes);
  json.member(toml ? "torchtitan_toml" : "torchtitan_refused", toml ? *toml : toml.error().message);
}

void write_best(base::JsonWriter& json, const Played& played, size_t rank) {
  const run::Run& run = played.run;
  json.begin_object().member("rank", rank);
  json.member("step_time_s", run.performance.step_time_s);
  json.member("step_time_s_low", run.performance.step_time_s_low);
  json.member("step_time_s_high", run.performance.step_time_s_high);
  json.member("mfu", run.performance.mfu);
  json.member("tokens_per_s", run.performance.tokens_per_s);
  json.member("memory_bytes", run.memory.peak_bytes);
  if (run.has_power) {
    json.member("energy_j_per_step", run.power.energy_j_per_step);
    json.member("mean_w_per_gpu", run.power.mean_w_per_gpu);
    json.member("max_gpu_c", run.thermal.max_gpu_c);
    json.member("tokens_per_j", run.power.tokens_per_j);
  }
  json.member("limiter", run.limiter);
  json.key("breakdown_s").begin_object();
  for (const auto& [name, seconds] : parts_of(run.performance)) json.member(name, seconds);
  json.end_object();
  json.key("estimate").begin_object();
  write_estimate(json, played.found.estimate);
  json.end_object();
  write_settings(json, played.job);
  json.key("job").raw(report::job_json(played.job));
  json.end_object();
}

}  // namespace

std::string search_json(const SearchAnswer& answer) {
  const SearchResult& result = answer.result;
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("candidates", result.candidates).member("feasible", result.feasible);
  json.member("layouts", result.layouts).member("complete", result.complete);
  json.key("best").begin_array();
  for (size_t i = 0; i < result.best.size(); ++i) write_best(json, result.best[i], i + 1);
  json.end_array();
  json.key("front").begin_array();
  for (const search::Found& found : result.front) {
    json.begin_object();
    write_estimate(json, found.estimate);
    json.key("job").raw(report::job_json(answer.space.job(found.candidate)));
    json.end_object();
  }
  json.end_array();
  json.key("knobs").begin_array();
  for (const search::Turned& turned : answer.knobs) {
    json.begin_object(base::JsonWriter::Layout::kOneLine);
    json.member("knob", turned.knob).member("value", turned.value).member("fits", turned.fits);
    write_estimate(json, turned.estimate);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace ergometer::cli
