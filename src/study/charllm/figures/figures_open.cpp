// Ours: what the paper left open.
#include <fmt/format.h>

#include <cmath>

#include "study/charllm/attribution.h"
#include "study/charllm/figures/figures.h"
#include "study/charllm/open.h"

namespace ergometer::study::charllm {
namespace {

run::Figure ours(const char* id, const char* title, run::FigureKind kind, const char* caption) {
  run::Figure figure;
  figure.id = id;
  figure.title = title;
  figure.kind = kind;
  figure.caption = caption;
  return figure;
}

void port_rates(Figures& figures) {
  run::Figure figure = ours(
      "fabric", "How fast must the port between nodes be?", run::FigureKind::kLine,
      "Throughput against that at 1600 Gb/s. The knee is where a line reaches 95 %. Next: find "
      "your layout's line, read its knee, and compare with the port you have; NVLink is used to a "
      "few per cent in all of them.");
  figure.x = log_axis("rate of a node's port", "Gb/s");
  figure.y = axis("tokens/s, share of the best", "%");
  run::Figure use = figure;
  use.title = "How full is it?";
  use.panel = "Use of the port";
  use.y.title = "mean use";
  figure.panel = "Throughput";
  for (const NicJob& job : nic_jobs()) {
    Basis basis = figures.basis();
    const Saturation s = saturation(basis, job);
    run::FigureSeries line = labelled(job.id), full = labelled(job.id);
    for (size_t i = 0; i < s.nic_use.size(); ++i) {
      const Seen seen = basis("nic", fmt::format("{} {}", job.id, kNicGbps[i]));
      put(line, kNicGbps[i], 100 * s.share_of_best[i], seen);
      put(full, kNicGbps[i], 100 * s.nic_use[i], seen);
    }
    figure.series.push_back(std::move(line));
    use.series.push_back(std::move(full));
  }
  figures.add(std::move(figure));
  figures.add(std::move(use));
}

void stragglers(Figures& figures) {
  run::Figure figure =
      ours("stragglers", "Stragglers or congestion?", run::FigureKind::kBar,
           "What a step loses to boards that differ (one draw of silicon and cooling) and to the "
           "network between nodes (all but its latency). Next: where the first is larger, lock "
           "clocks or move slow boards; where the second is, change the layout or the port.");
  figure.x.title = "layout";
  figure.y = axis("of the step", "%");
  run::FigureSeries boards = labelled("boards that differ");
  run::FigureSeries network = labelled("network between nodes");
  Basis basis = figures.basis();
  for (const std::string& layout : layouts_of("h200")) {
    const Waits w = waits(basis, layout);
    const Seen seen = basis.sweep("h200", layout, "01000");
    const auto x = static_cast<double>(figure.x.categories.size());
    figure.x.categories.push_back(model_name(model_of(layout)) + " " + seen.layout());
    put(boards, x, 100 * w.stragglers, basis("boards", layout));
    put(network, x, 100 * w.network, basis("free-network", layout));
  }
  figure.series = {boards, network};
  figures.add(std::move(figure));
}

void advantage(Figures& figures, const char* panel, const std::string& value) {
  run::Figure figure = ours(
      "h200-advantage", "What makes an H200 better than an H100", run::FigureKind::kBar,
      "Factors in %, which multiply to the whole: each what it brings on average over all orders "
      "of change. The layout and the missing recomputation are what 141 GB buy; both boards have "
      "the same NVLink, which brings nothing. Next: if your job fits without recomputation in 80 "
      "GB, expect only HBM bandwidth.");
  figure.panel = panel;
  figure.x.title = "cause";
  figure.y = axis(panel, "%");
  for (const Pair& pair : pairs()) {
    Basis basis = figures.basis();
    const Attribution a = attribute(basis, pair, value);
    if (!basis.complete()) continue;
    run::FigureSeries series = labelled(pair.model);
    figure.x.categories.clear();
    const auto add = [&](const std::string& name, double log_factor) {
      put(series, static_cast<double>(figure.x.categories.size()), 100 * (std::exp(log_factor) - 1),
          {});
      figure.x.categories.push_back(name);
    };
    for (const Attribution::Part& part : a.parts) add(part.name, part.log_factor);
    add("NVLink", 0);
    add("together", a.log_whole);
    figure.series.push_back(std::move(series));
  }
  figures.add(std::move(figure));
}

void when_splits_pay(Figures& figures) {
  run::Figure figure = ours(
      "splits", "When does a split that spares hot GPUs pay?", run::FigureKind::kLine,
      "Gain in tokens per second against even stages, when the hot GPUs (nodes 1 and 3 of "
      "Llama3-70B, GPUs 4 to 7 of GPT3-175B) are slower than the others. A split pays right of "
      "where its line crosses zero: 21/19 crosses first, because it moves less. The reported pair, "
      "+4 and -7 %, needs different slowness in the two jobs or sits between the crossings. Next: "
      "read your slow GPUs' clocks, then choose the split.");
  figure.x = axis("hot GPUs slower by", "%");
  figure.y = axis("gain", "%");
  for (const auto& [id, name] :
       {std::pair{"llama3", "Llama3-70B TP4-PP4, 21/19"}, {"gpt3", "GPT3-175B TP4-PP8, 13/11"}}) {
    Basis basis = figures.basis();
    const std::vector<double> gains = split_gains(basis, id);
    run::FigureSeries series = labelled(name);
    for (size_t i = 0; i < gains.size(); ++i) put(series, 100 - kSpeeds[i], gains[i], {});
    figure.series.push_back(std::move(series));
  }
  figures.add(std::move(figure));
}

void locks(Figures& figures) {
  run::Figure figure = ours(
      "locks", "Time against energy with locked clocks: GPT3-175B TP2-PP16, boards that differ",
      run::FigureKind::kScatter,
      "Right is slower, down is less energy. Down to 1700 MHz GPUs only give up waiting for the "
      "slowest. Next: lock there; below it, time is paid for energy.");
  figure.x = axis("step", "s");
  figure.y = axis("GPU energy of a step", "MJ");
  Basis basis = figures.basis();
  const auto add = [&](const std::string& label, const Seen& seen) {
    run::FigureSeries series = labelled(label);
    put(series, seen.step_s(), seen.at("power.gpu_energy_j_per_step") / 1e6, seen);
    figure.series.push_back(std::move(series));
  };
  add("no lock", basis("boards", "gpt3-175b_1"));
  for (const char* mhz : {"1900", "1800", "1700", "1600", "1500"})
    add(std::string(mhz) + " MHz", basis("locks", std::string("gpt3-175b_1-") + mhz));
  figures.add(std::move(figure));
}

}  // namespace

void open_figures(Figures& figures) {
  port_rates(figures);
  stragglers(figures);
  advantage(figures, "Tokens per second and GPU", "performance.tokens_per_s_per_gpu");
  advantage(figures, "Tokens per joule", "power.tokens_per_j");
  when_splits_pay(figures);
  locks(figures);
}

}  // namespace ergometer::study::charllm
