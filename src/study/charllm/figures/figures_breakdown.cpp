// Where steps go: figures 3, 10 and 15.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "study/charllm/figures/figures.h"
#include "study/charllm/ranked.h"

namespace ergometer::study::charllm {
namespace {

struct StepPart {
  const char* label;
  const char* name;
  double run::Breakdown::* member;
};
constexpr std::array kBreakdownParts = {
    StepPart{"Compute", "compute", &run::Breakdown::compute},
    StepPart{"SendRecv", "exposed_send_recv", &run::Breakdown::exposed_send_recv},
    StepPart{"AllGather", "exposed_all_gather", &run::Breakdown::exposed_all_gather},
    StepPart{"ReduceScatter", "exposed_reduce_scatter", &run::Breakdown::exposed_reduce_scatter},
    StepPart{"AllReduce", "exposed_all_reduce", &run::Breakdown::exposed_all_reduce},
    StepPart{"AllToAll", "exposed_all_to_all", &run::Breakdown::exposed_all_to_all},
    StepPart{"Optimizer", "optimizer", &run::Breakdown::optimizer},
    StepPart{"Idle", "idle", &run::Breakdown::idle}};

struct Bar {
  std::string label;
  Seen seen;
};

/// A stack of the parts of each job's step.
run::Figure stacks(run::Figure figure, const std::vector<Bar>& bars) {
  figure.kind = run::FigureKind::kStack;
  figure.x.title = "layout";
  figure.y = axis("step", "s");
  for (const Bar& bar : bars) figure.x.categories.push_back(bar.label);
  for (const StepPart& part : kBreakdownParts) {
    run::FigureSeries series = labelled(part.label);
    for (size_t i = 0; i < bars.size(); ++i)
      put(series, static_cast<double>(i),
          bars[i].seen.at(std::string("performance.breakdown_s.") + part.name), bars[i].seen);
    figure.series.push_back(std::move(series));
  }
  return figure;
}

void testbeds(Figures& figures) {
  Basis basis = figures.basis();
  struct Case {
    const char *gpu, *layout, *variant;
  };
  std::vector<Bar> bars;
  for (const Case& it : {Case{"h200", "gpt3-175b_1", "00000"},
                         {"h100", "gpt3-175b_1", "01000"},
                         {"h200", "llama3-70b_2", "00000"},
                         {"h100", "llama3-70b_2", "00000"},
                         {"h200", "mixtral-8x22b_1", "00000"},
                         {"h100", "mixtral-8x22b_4", "01000"},
                         {"h200", "mixtral-8x7b_1", "00000"},
                         {"h100", "mixtral-8x7b_4", "00000"}}) {
    const Seen seen = basis.sweep(it.gpu, it.layout, it.variant);
    bars.push_back({fmt::format("{} {} {}{}", std::string(it.gpu) == "h200" ? "32 H200" : "64 H100",
                                model_name(model_of(it.layout)), seen.layout(),
                                std::string(it.variant) == "01000" ? ", recomputed" : ""),
                    seen});
  }
  run::Figure figure = titled("3", "Where the step goes: scale up or scale out", "");
  figure.caption =
      "32 GPUs with large memory against 64 with less. See what half the GPUs save: recomputation, "
      "half the bubble. Next: for a layout whose step is idle time and SendRecv, buy memory; for "
      "one whose step is compute, buy GPUs. The original is not known in detail.";
  figure.reported =
      "32 H200 match or beat 64 H100 in communication-heavy jobs; Llama3-70B and Mixtral-8x7B are "
      "clearly faster on 64 H100";
  figures.add(stacks(std::move(figure), bars));
}

void recomputation(Figures& figures) {
  Basis basis = figures.basis();
  std::vector<Bar> mixed, sharded;
  for (const std::string& layout : layouts_of("h200"))
    for (const auto& [variant, word] : {std::pair{"00000", "base"}, {"01000", "act"}}) {
      const Seen seen = basis.sweep("h200", layout, variant);
      mixed.push_back(
          {fmt::format("{} {} {}", model_name(model_of(layout)), seen.layout(), word), seen});
    }
  for (const char* row : {"gpt3-175b_5", "llama3-70b_5"})
    for (const auto& [variant, word] : {std::pair{"00000", "base"}, {"01000", "act"}}) {
      const Seen seen = basis("optimization-sweep-h200-fsdp", fmt::format("{}_{}", row, variant));
      sharded.push_back(
          {fmt::format("{} {} {}", model_name(model_of(row)), "TP8-FSDP", word), seen});
    }
  const std::string corrected =
      " Theirs sums kernels of all streams, so what overlaps counts twice; ours is exposed time "
      "and adds up to the step. Their labels of Mixtral-8x7B's two layouts are swapped; here they "
      "are as the jobs were configured.";
  run::Figure figure = titled("10", "Where the step goes, with and without recomputation", "3D");
  figure.caption =
      "Recomputation (act) adds compute, and where experts span nodes their tokens travel once "
      "more. Next: turn it off wherever the base bar exists and fits." +
      corrected;
  figure.reported =
      "communication above half of kernel time in Mixtral-8x22B EP8-TP4-PP1, compute above half in "
      "Llama3-70B; bars end below 60 s";
  figures.add(stacks(std::move(figure), mixed));
  figure = titled("10", "Where the step goes, with and without recomputation", "FSDP");
  figure.caption =
      "Gathering parameters through one port a node is nearly all of it. Next: a larger micro "
      "batch, fewer gathers." +
      corrected;
  figure.reported = "bars end below 1800 s";
  figures.add(stacks(std::move(figure), sharded));
}

/// The step of one rank of every stage.
void by_stage(Figures& figures, const char* family, const std::string& row, const char* mbs) {
  Basis basis = figures.basis();
  const Seen seen = basis(family, row + "_" + mbs);
  const auto run = ranked(seen.point);
  if (!run) return;
  run::Figure figure =
      titled("15", "Where each stage's step goes: GPT3-175B, micro batch 1 and 4", "");
  figure.panel = fmt::format("{}, micro batch {}", seen.layout(), mbs + 3);
  figure.kind = run::FigureKind::kStack;
  figure.x.title = "pipeline stage";
  figure.y = axis("step", "s");
  for (const StepPart& part : kBreakdownParts) {
    run::FigureSeries series = labelled(part.label);
    for (const run::Rank& rank : run->ranks)
      if (rank.stage == static_cast<int64_t>(series.x.size()))
        put(series, static_cast<double>(rank.stage), rank.breakdown_s.*part.member, seen);
    figure.series.push_back(std::move(series));
  }
  for (size_t stage = 0; stage < figure.series.front().x.size(); ++stage)
    figure.x.categories.push_back(fmt::format("{}", stage));
  figure.caption =
      "Stages in order, from embedding to head: early ones wait for gradients, late ones for "
      "activations, the last carries the head. Next: give layers to stages with idle time. The "
      "original's axis is in alphabetical order of files (0, 10, 12, ..., 2), so neighbours in it "
      "are no neighbours in the pipeline.";
  figure.reported = "larger micro batches: fewer and larger transfers, gaps between ranks grow";
  figures.add(std::move(figure));
}

}  // namespace

void breakdown_figures(Figures& figures) {
  testbeds(figures);
  recomputation(figures);
  for (const char* mbs : {"mbs1", "mbs4"}) {
    for (const char* row : {"gpt3-175b_3", "gpt3-175b_2", "gpt3-175b_1"})
      by_stage(figures, "microbatch-sweep-h200", row, mbs);
    by_stage(figures, "microbatch-sweep-h200-fsdp", "gpt3-175b_5", mbs);
  }
}

}  // namespace ergometer::study::charllm
