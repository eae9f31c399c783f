#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/search/scaling.h"
#include "cli/search/search_output.h"
#include "cli/search/search_words.h"
#include "report/format.h"
#include "report/summary/job_json.h"

namespace ergometer::cli {
namespace {

using base::hanging;
using search::AtSize;
using search::Gain;
using search::Growth;
using search::Term;

constexpr double kSecondsPerHour = 3600, kJoulesPerKwh = 3.6e6, kMillion = 1e6,
                 kSecondsPerDay = 86'400;

double tokens_per_s(const AtSize& size) { return size.best->run.performance.tokens_per_s; }

/// What a second costs; nothing: no price was said, or the power behind it is unknown.
std::optional<double> cost_per_s(const ScalingAsk& ask, const AtSize& size) {
  if (!ask.gpu_hour && !ask.kwh) return {};
  if (ask.kwh && size.meter_w() == 0) return {};
  return ask.gpu_hour.value_or(0) * static_cast<double>(size.gpus) / kSecondsPerHour +
         ask.kwh.value_or(0) * size.meter_w() / kJoulesPerKwh;
}

std::optional<double> cost_of_million(const ScalingAsk& ask, const AtSize& size) {
  const auto cost = cost_per_s(ask, size);
  return cost ? std::optional(kMillion * *cost / tokens_per_s(size)) : std::nullopt;
}

/// Of the tokens that the added GPUs bring; nothing where they bring none.
std::optional<double> cost_of_million(const ScalingAnswer& answer, const Gain& gain) {
  const auto& sizes = answer.result.sizes;
  const auto a = cost_per_s(answer.ask, sizes[gain.from]),
             b = cost_per_s(answer.ask, sizes[gain.to]);
  const double more = tokens_per_s(sizes[gain.to]) - tokens_per_s(sizes[gain.from]);
  return a && b && more > 0 ? std::optional(kMillion * (*b - *a) / more) : std::nullopt;
}

/// How long a size can go on with the energy there is; nothing: none was said, or its power is
/// unknown.
std::optional<double> seconds_of_energy(const ScalingAsk& ask, const AtSize& size) {
  if (!ask.energy_kwh || !size.best || size.meter_w() == 0) return {};
  return *ask.energy_kwh * kJoulesPerKwh / size.meter_w();
}

std::string money(const std::optional<double>& amount) {
  return amount ? fmt::format("{:#.4g}", *amount) : "-";
}

const char* term_word(Term term) {
  switch (term) {
    case Term::kWork: return "work";
    case Term::kLatency: return "latency";
    case Term::kTransfer: return "transfer";
    case Term::kWaiting: return "waiting";
  }
  return "";
}

std::string kind_word(std::string_view kind) {
  if (kind == "send_recv") return "send/recv";
  if (kind == "idle") return "idle (bubble and waiting)";
  return base::dashed(kind);
}

std::string part_word(const Growth& growth) {
  if (growth.group.empty()) return kind_word(growth.kind);
  return fmt::format("{} {} ({})", growth.group, kind_word(growth.kind), term_word(growth.term));
}

std::string sizes_table(const ScalingAnswer& answer, const report::TextStyle& style) {
  const auto& sizes = answer.result.sizes;
  const auto has_power = [](const AtSize& size) { return size.best && size.best->run.has_power; };
  const bool power = std::ranges::any_of(sizes, has_power);
  const bool cost = answer.ask.gpu_hour || answer.ask.kwh;
  std::vector<Row> rows = {{{"GPUs", "layout", "recompute", "sharding", "overlap", "batch", "step",
                             "90 % interval", "tokens/s", "a GPU", "MFU"}}};
  if (power)
    for (const char* word : {"GPU power", "tokens/J"}) rows[0].cells.emplace_back(word);
  if (cost) rows[0].cells.emplace_back("cost of 1M");
  for (const AtSize& size : sizes) {
    if (!size.best) continue;
    const spec::Job& job = size.best->job;
    const run::Run& run = size.best->run;
    const run::Performance& p = run.performance;
    Row row{{fmt::format("{}", size.gpus), layout_word(job), recompute_word(job),
             sharding_word(job), overlap_word(job), base::format_count(size.global_batch),
             base::format_seconds(p.step_time_s),
             fmt::format("{} to {}", base::format_seconds(p.step_time_s_low),
                         base::format_seconds(p.step_time_s_high)),
             base::format_count(std::llround(p.tokens_per_s)),
             base::format_count(std::llround(p.tokens_per_s_per_gpu)),
             fmt::format("{:.1f} %", 100 * p.mfu)}};
    if (power) {
      row.cells.push_back(has_power(size) ? fmt::format("{:.0f} W", run.power.mean_w_per_gpu)
                                          : "-");
      row.cells.push_back(has_power(size) ? fmt::format("{:#.3g}", run.power.tokens_per_j) : "-");
    }
    if (cost) row.cells.push_back(money(cost_of_million(answer.ask, size)));
    rows.push_back(std::move(row));
  }
  return rows.size() > 1 ? table(rows, 5, style) : std::string();
}

std::string none_lines(const ScalingAnswer& answer, size_t width) {
  std::string text;
  for (const AtSize& size : answer.result.sizes)
    if (!size.best) text += hanging(fmt::format("{:>4}  ", size.gpus), size.none, width);
  return text;
}

std::string span_word(const ScalingAnswer& answer, const Gain& gain) {
  const auto& sizes = answer.result.sizes;
  return fmt::format("{} to {}", sizes[gain.from].gpus, sizes[gain.to].gpus);
}

std::string gains_table(const ScalingAnswer& answer, const report::TextStyle& style) {
  const bool cost = answer.ask.gpu_hour || answer.ask.kwh;
  std::vector<Row> rows = {{{"GPUs", "tokens/s a GPU", "of the first", "tokens/J"}}};
  if (cost) rows[0].cells.emplace_back("cost of 1M");
  for (const Gain& gain : answer.result.gains) {
    Row row{{span_word(answer, gain), fmt::format("{:.0f}", gain.tokens_per_s_per_gpu),
             fmt::format("{:.0f} %", 100 * gain.of_first),
             gain.tokens_per_j != 0 ? fmt::format("{:#.3g}", gain.tokens_per_j) : "-"}};
    if (cost) row.cells.push_back(money(cost_of_million(answer, gain)));
    rows.push_back(std::move(row));
  }
  return table(rows, 1, style);
}

std::string kwh_word(double kwh) {
  return kwh < 1000 ? fmt::format("{:.4g}", kwh) : base::format_count(std::llround(kwh));
}

/// Tokens that the energy trains on every size: the last GPUs make it sooner, of fewer tokens.
std::string energy_table(const ScalingAnswer& answer, const report::TextStyle& style) {
  double most = 0;
  std::vector<Row> rows = {{{"GPUs", "tokens", "of the most", "time"}}};
  const auto tokens = [&](const AtSize& size, double seconds) {
    return seconds * tokens_per_s(size);
  };
  for (const AtSize& size : answer.result.sizes)
    if (const auto seconds = seconds_of_energy(answer.ask, size))
      most = std::max(most, tokens(size, *seconds));
  for (const AtSize& size : answer.result.sizes)
    if (const auto seconds = seconds_of_energy(answer.ask, size))
      rows.push_back({{fmt::format("{}", size.gpus), base::format_si(tokens(size, *seconds), ""),
                       fmt::format("{:.1f} %", 100 * tokens(size, *seconds) / most),
                       fmt::format("{:.3g} days", *seconds / kSecondsPerDay)}});
  return rows.size() > 1 ? table(rows, 1, style)
                         : std::string("nothing is known of these GPUs' power\n");
}

/// "+5.1 %: 3.2 % dp reduce-scatter (transfer), ...": of the GPU time that a token takes.
std::string growth_text(const ScalingAnswer& answer, const Gain& gain) {
  const AtSize &from = answer.result.sizes[gain.from], &to = answer.result.sizes[gain.to];
  const auto whole = [](const AtSize& size) {
    return static_cast<double>(size.gpus) / tokens_per_s(size);
  };
  std::string text = report::format_change(whole(to) / whole(from) - 1);
  constexpr double kWorthSaying = 1e-3;
  const char* separator = ": ";
  std::vector<Growth> largest = gain.growth;
  std::ranges::stable_sort(largest, std::ranges::greater{},
                           [](const Growth& it) { return std::abs(it.gpu_s_per_token); });
  for (size_t i = 0; i < std::min<size_t>(4, largest.size()); ++i) {
    const double share = largest[i].gpu_s_per_token / whole(from);
    if (std::abs(share) < kWorthSaying) break;
    text += fmt::format("{}{} {}", separator, report::format_change(share), part_word(largest[i]));
    separator = ", ";
  }
  return text;
}

void write_size(base::JsonWriter& json, const ScalingAnswer& answer, const AtSize& size) {
  json.member("gpus", size.gpus).member("global_batch_size", size.global_batch);
  json.member("candidates", size.candidates);
  if (!size.best) {
    json.member("none", size.none);
    return;
  }
  const run::Run& run = size.best->run;
  write_numbers(json, run);
  json.member("tokens_per_s_per_gpu", run.performance.tokens_per_s_per_gpu);
  if (run.has_power) json.member("facility_mean_w", run.power.facility_mean_w);
  if (const auto cost = cost_of_million(answer.ask, size))
    json.member("cost_per_million_tokens", *cost);
  if (const auto seconds = seconds_of_energy(answer.ask, size))
    json.member("energy_time_s", *seconds).member("energy_tokens", *seconds * tokens_per_s(size));
  json.rows("parts", size.parts, [&](const search::StepPart& part) {
    if (!part.group.empty()) json.member("group", part.group);
    json.member("kind", part.kind).member("seconds", part.seconds);
    if (part.group.empty()) return;
    json.member("latency_s", part.latency_s).member("transfer_s", part.transfer_s);
    json.member("waiting_s", part.waiting_s);
  });
  json.key("job").raw(report::job_json(size.best->job));
}

void write_gain(base::JsonWriter& json, const ScalingAnswer& answer, const Gain& gain) {
  json.member("from_gpus", answer.result.sizes[gain.from].gpus);
  json.member("to_gpus", answer.result.sizes[gain.to].gpus);
  json.member("tokens_per_s_per_gpu", gain.tokens_per_s_per_gpu);
  json.member("of_first", gain.of_first);
  if (gain.tokens_per_j != 0) json.member("tokens_per_j", gain.tokens_per_j);
  if (const auto cost = cost_of_million(answer, gain))
    json.member("cost_per_million_tokens", *cost);
  json.rows("growth", gain.growth, [&](const Growth& growth) {
    if (!growth.group.empty()) json.member("group", growth.group);
    json.member("kind", growth.kind).member("gpu_s_per_token", growth.gpu_s_per_token);
    if (!growth.group.empty()) json.member("term", term_word(growth.term));
  });
}

}  // namespace

std::string scaling_text(const ScalingAnswer& answer, const report::TextStyle& style) {
  const search::ScalingResult& result = answer.result;
  const auto title = [&](std::string_view words) { return '\n' + report::heading(style, words); };
  std::string text = answer.ask.scaling == search::Scaling::kWeak
                         ? "Weak scaling: the batch grows with the GPUs\n"
                         : "Strong scaling: the same batch on every number of GPUs\n";
  if (!result.complete) text += "Interrupted: what was finished\n";
  const std::string sizes = sizes_table(answer, style);
  if (!sizes.empty()) text += '\n' + sizes;
  if (const std::string none = none_lines(answer, style.width); !none.empty())
    text += title("No layout") + none;
  if (answer.ask.energy_kwh && !sizes.empty())
    text += title(fmt::format("With {} kWh at the meter", kwh_word(*answer.ask.energy_kwh))) +
            energy_table(answer, style);
  if (result.gains.empty()) return text;
  text += title("What the added GPUs bring") + gains_table(answer, style);
  text += title("The GPU time of a token grows by");
  for (const Gain& gain : result.gains)
    text += hanging(fmt::format("  {:<16}", span_word(answer, gain)), growth_text(answer, gain),
                    style.width);
  return text;
}

std::string scaling_json(const ScalingAnswer& answer) {
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("scaling", answer.ask.scaling == search::Scaling::kWeak ? "weak" : "strong");
  json.member("complete", answer.result.complete);
  if (answer.ask.energy_kwh) json.member("energy_kwh", *answer.ask.energy_kwh);
  json.objects("sizes", answer.result.sizes,
               [&](const AtSize& size) { write_size(json, answer, size); });
  json.objects("gains", answer.result.gains,
               [&](const Gain& gain) { write_gain(json, answer, gain); });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::cli
