// Depth and clocks, faults, stages that follow the heat, the projection: figures 19 to 22.
#include <fmt/format.h>

#include "study/charllm/figures/figures.h"
#include "study/charllm/points.h"

namespace ergometer::study::charllm {
namespace {

void depth(Figures& figures) {
  run::Figure figure = titled("19", "Clocks by pipeline depth", "", run::FigureKind::kLine);
  figure.caption =
      std::string(kNotKnown) +
      "A line a model and testbed, with recomputation. Deep stages compute without pause, so the "
      "cap holds them; bubbles give a little back in the mean. Next: lock clocks just above the "
      "slowest GPU's, which costs little time.";
  figure.reported = "throttling grows with pipeline depth, 16 to 32 stages worst";
  figure.x = log_axis("pipeline stages");
  figure.y = axis("SM clock", "MHz");
  for (const std::string gpu : {"h200", "h100"})
    for (const std::string model : {"gpt3-175b", "llama3-70b"}) {
      Basis basis = figures.basis();
      const std::string name = model_name(model) + (gpu == "h200" ? ", H200" : ", H100");
      run::FigureSeries means = labelled(name + ", mean");
      run::FigureSeries lowest = labelled(name + ", slowest GPU");
      for (const std::string& layout : layouts_of(gpu)) {
        if (model_of(layout) != model) continue;
        const Seen seen = basis.sweep(gpu, layout, "01000");
        const auto stages = static_cast<double>(seen.stages());
        put(means, stages, seen.clock_mhz(), seen);
        put(lowest, stages, seen.lowest_mhz(), seen);
      }
      figure.series.push_back(std::move(means));
      figure.series.push_back(std::move(lowest));
    }
  figures.add(std::move(figure));
}

void faults(Figures& figures) {
  run::Figure figure =
      titled("20", "One fault in 32 H200: Llama3-70B TP4-PP4", "", run::FigureKind::kBar);
  figure.caption =
      std::string(kNotKnown) +
      "One node of four, or one GPU of 32, sets the pace of all. Next: alarm on power_brake events "
      "and on clocks far below their neighbours', and drain the node.";
  figure.reported = "GPUs of a node with a power fault are over 4 times slower";
  figure.x = axis("fault");
  figure.y = axis("step, times the healthy one's");
  Basis basis = figures.basis();
  const Seen well = basis.sweep("h200", "llama3-70b_2", "01000");
  run::FigureSeries series = labelled("predicted");
  for (const auto& [id, name] : {std::pair{"node-brake", "power brake, one node"},
                                 {"gpu-brake", "power brake, one GPU"},
                                 {"fan", "fans of a node at 40 %"},
                                 {"nic", "port of a node at 25 Gb/s"}}) {
    const Seen ill = basis("faults", std::string("llama3-70b_2-") + id);
    put(series, static_cast<double>(figure.x.categories.size()), ill.step_s() / well.step_s(), ill);
    figure.x.categories.push_back(name);
  }
  figure.series.push_back(std::move(series));
  figures.add(std::move(figure));
}

void stages(Figures& figures) {
  run::Figure figure = titled("21", "Fewer layers for hot GPUs", "", run::FigureKind::kBar);
  figure.caption =
      "Change against even stages. A stage with one layer more sets the pace of all; what the "
      "cooler ones gain in clock is wasted waiting. Next: let optimize move layers, it keeps even "
      "stages unless another split is sure to win; see also when a split pays.";
  figure.reported =
      "Llama3-70B 21/19: efficiency +4 %, temperature gap -8 %; GPT3-175B 13/11: -7 %, -17 %";
  figure.x = axis("split");
  figure.y = axis("change", "%");
  run::FigureSeries speed = labelled("tokens/s, predicted");
  run::FigureSeries frugal = labelled("tokens/J, predicted");
  run::FigureSeries gap = labelled("row gap, predicted");
  run::FigureSeries reported = labelled("efficiency, reported");
  run::FigureSeries reported_gap = labelled("temperature gap, reported");
  struct Case {
    const char *even, *uneven, *name;
    double efficiency, gap;
  };
  const double none = std::nan("");
  for (const Case& it :
       {Case{"llama3-even", "llama3-uneven", "Llama3-70B TP4-PP4, 21/19", 4, -8},
        Case{"llama3-even-stored", "llama3-uneven-stored", "the same, no recomputation", none,
             none},
        Case{"llama3-even", "llama3-head", "Llama3-70B 21, 20, 20, 19", none, none},
        Case{"gpt3-even", "gpt3-uneven", "GPT3-175B TP4-PP8, 13/11", -7, -17},
        Case{"gpt3-even-stored", "gpt3-uneven-stored", "the same, no recomputation", none, none}}) {
    Basis basis = figures.basis();
    const Seen even = basis("stages", it.even), odd = basis("stages", it.uneven);
    if (!basis.complete()) continue;
    const auto x = static_cast<double>(figure.x.categories.size());
    figure.x.categories.push_back(it.name);
    put(speed, x, change(even.tokens_per_s(), odd.tokens_per_s()), odd);
    put(frugal, x, change(even.tokens_per_j(), odd.tokens_per_j()), odd);
    put(gap, x, change(even.row_gap(), odd.row_gap()), odd);
    put(reported, x, it.efficiency, {});
    put(reported_gap, x, it.gap, {});
  }
  figure.series = {speed, frugal, gap, reported, reported_gap};
  figures.add(std::move(figure));
}

void projection(Figures& figures, const char* panel, const char* unit,
                double (*value)(const Seen&)) {
  run::Figure figure =
      titled("22", "From 32 to 8,192 H200: weak scaling", panel, run::FigureKind::kLine);
  figure.caption =
      "Four sequences a GPU, more replicas of the same layouts, one switch and one port a node. At "
      "100 Gb/s gradients of eight GPUs share the port; 800 Gb/s is a port a GPU. Next: price the "
      "faster network against the GPUs that it saves. The study calibrated Astra-Sim in a way that "
      "is not told; every parameter of this curve stands in the catalog with its source.";
  figure.reported = "a projection to 8K GPUs, 100 Gb/s measured and 800 Gb/s projected";
  figure.x = log_axis("GPUs");
  figure.y = axis(panel, unit);
  for (const auto& [model, name] :
       {std::pair{"gpt3", "GPT3-175B TP8-PP4"}, {"llama3", "Llama3-70B TP4-PP4"}})
    for (const char* gbps : {"100", "800"}) {
      Basis basis = figures.basis();
      run::FigureSeries series = labelled(fmt::format("{}, {} Gb/s", name, gbps));
      for (const int gpus : kProjectionGpus) {
        const Seen seen = basis("projection", fmt::format("{}-{}-{}", model, gpus, gbps));
        put(series, gpus, value(seen), seen);
      }
      figure.series.push_back(std::move(series));
    }
  figures.add(std::move(figure));
}

}  // namespace

void thermal_figures(Figures& figures) {
  depth(figures);
  faults(figures);
  stages(figures);
  projection(figures, "Tokens per second and GPU", "tokens/s",
             [](const Seen& s) { return s.at("performance.tokens_per_s_per_gpu"); });
  projection(figures, "Tokens per joule", "tokens/J",
             [](const Seen& s) { return s.tokens_per_j(); });
  projection(figures, "Use of the port", "%",
             [](const Seen& s) { return 100 * s.at("links.nic.utilization"); });
}

}  // namespace ergometer::study::charllm
