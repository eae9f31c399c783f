#include "report/measured/pipeline_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/format.h"
#include "report/measured/first_rows.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;

std::string counted_steps(const analysis::PipelineReport& pipeline) {
  const auto all = pipeline.steps.size();
  const auto counted = static_cast<size_t>(
      std::ranges::count_if(pipeline.steps, [](const auto& step) { return step.counted; }));
  if (all == 1) return fmt::format("a step of {}", base::format_seconds(pipeline.step_s));
  return fmt::format(
      "{} steps of {}{}", counted, base::format_seconds(pipeline.step_s),
      all > counted ? fmt::format(" ({} left out: much longer, or not whole)", all - counted) : "");
}

std::string head(const analysis::PipelineReport& p) {
  const std::string chunks = p.chunks > 1 ? fmt::format(" in {} chunks", p.chunks) : "";
  return fmt::format("Pipeline  {} stages, {} micro batches{}, {}; {}", p.stages, p.micro_batches,
                     chunks, analysis::to_word(p.schedule), counted_steps(p));
}

std::string bubble_line(const analysis::PipelineReport& p) {
  return fmt::format(
      "bubble {} of GPU time; with equal stages and no waiting the schedule's own is {}",
      format_share(p.bubble_fraction), format_share(p.ideal_bubble_fraction));
}

std::string imbalance_line(const analysis::PipelineReport& p) {
  if (p.micro_batch_rows.empty()) return "";
  const auto slowest = std::ranges::max_element(
      p.rows, [](const auto& a, const auto& b) { return a.slowest < b.slowest; });
  return fmt::format(
      "of a micro batch, the slowest stage (mostly {}) needs {} longer than the mean",
      slowest->stage, format_share(p.imbalance));
}

std::string stage_line(const analysis::PipelineStage& row, double step_s) {
  const auto share = [&](double seconds) {
    return step_s > 0 ? format_share(seconds / step_s) : std::string("-");
  };
  return fmt::format("{:>6}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}{:>11}{:>11}\n", row.stage,
                     share(row.forward_s), share(row.backward_s), format_share(row.bubble_fraction),
                     share(row.warm_up_s), share(row.steady_s), share(row.drain_s),
                     base::format_seconds(row.forward_task_s),
                     base::format_seconds(row.backward_task_s));
}

std::string waiting_line(const analysis::PipelineReport& p) {
  std::string stages;
  for (const analysis::PipelineStage& row : p.rows)
    if (row.wait_s > 0 && p.step_s > 0)
      stages += fmt::format("{}{} {}", stages.empty() ? "" : ", ", row.stage,
                            format_share(row.wait_s / p.step_s));
  return stages.empty() ? "" : "in receives, of the bubble, by stage: " + stages;
}

}  // namespace

std::string pipeline_text(const analysis::PipelineReport& p, const TextStyle& style) {
  constexpr size_t kStagesShown = 64;
  std::string out = heading(style, wrap(head(p), kWidth, 10));
  for (const std::string& line : {bubble_line(p), imbalance_line(p), waiting_line(p)})
    if (!line.empty()) out += paragraph(line);
  out += heading(style, fmt::format("{:>6}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}{:>11}{:>11}", "Stage",
                                    "forward", "backward", "bubble", "warm-up", "steady", "drain",
                                    "a forward", "a backward"));
  for (const analysis::PipelineStage& row : first(p.rows, kStagesShown))
    out += stage_line(row, p.step_s);
  return out + more_line(p.rows.size(), kStagesShown, "stages") +
         note(style, "shares of the step; warm-up, steady and drain make the bubble");
}

void write_pipeline(JsonWriter& json, const analysis::PipelineReport& p) {
  json.key("pipeline").begin_object();
  json.member("schedule", analysis::to_word(p.schedule)).member("stage_count", p.stages);
  json.member("ranks", p.ranks).member("micro_batch_count", p.micro_batches);
  json.member("chunks", p.chunks).member("step_s", p.step_s);
  json.member("bubble_fraction", p.bubble_fraction);
  json.member("ideal_bubble_fraction", p.ideal_bubble_fraction);
  json.member("imbalance_fraction", p.imbalance);
  json.rows("steps", p.steps, [&](const analysis::PipelineStep& step) {
    json.member("number", step.number);
    json.member("span_ns", step.span_ns).member("bubble_fraction", step.bubble_fraction);
    json.member("counted", step.counted);
  });
  json.objects("stages", p.rows, [&](const analysis::PipelineStage& row) {
    json.member("stage", row.stage).member("ranks", row.ranks);
    json.member("forward_s", row.forward_s).member("backward_s", row.backward_s);
    json.member("bubble_fraction", row.bubble_fraction).member("warm_up_s", row.warm_up_s);
    json.member("steady_s", row.steady_s).member("drain_s", row.drain_s);
    json.member("receive_wait_s", row.wait_s).member("other_s", row.other_s);
    json.member("forward_task_s", row.forward_task_s);
    json.member("backward_task_s", row.backward_task_s);
    json.member("slowest_of_micro_batches", row.slowest);
  });
  json.rows("micro_batches", p.micro_batch_rows, [&](const analysis::PipelineMicroBatch& row) {
    json.member("micro_batch", row.micro_batch);
    json.member("slowest_stage", row.slowest_stage).member("slowest_s", row.slowest_s);
    json.member("mean_s", row.mean_s);
  });
  json.end_object();
}

}  // namespace ergometer::report
