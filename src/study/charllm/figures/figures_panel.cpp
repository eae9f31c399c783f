// Heat, power, clocks and efficiency of many jobs side by side: figures 4, 8, 9, 11 to 14, 18.
#include <fmt/format.h>

#include <utility>

#include "study/charllm/figures/figures.h"
#include "study/charllm/points.h"

namespace ergometer::study::charllm {
namespace {

/// One figure of four panels: a group of bars for every layout, a bar for every variant.
struct Panels {
  std::string number, title, caption, reported;
  std::vector<std::string> groups, variants;
  std::vector<std::vector<Seen>> seen;  ///< [variant][group]
  bool steps_are_short = false;         ///< joules and not megajoules a step
};

/// The study's "efficiency": samples per second and joule, batch over time and energy.
double samples_per_s_j(const Seen& seen) {
  const auto batch = static_cast<double>(seen.setting("global_batch_size"));
  return batch / seen.step_s() / seen.at("power.gpu_energy_j_per_step");
}
double samples_per_s_mj(const Seen& seen) { return 1e6 * samples_per_s_j(seen); }

void panel(Figures& figures, const Panels& panels, const std::string& name, const char* unit,
           const std::vector<std::pair<std::string, double (*)(const Seen&)>>& values) {
  run::Figure figure = titled(panels.number, panels.title, name, run::FigureKind::kBar);
  figure.caption = panels.caption;
  figure.reported = panels.reported;
  figure.x.title = "layout";
  figure.x.categories = panels.groups;
  figure.y = axis(name, unit);
  for (size_t v = 0; v < panels.variants.size(); ++v)
    for (const auto& [word, value] : values) {
      run::FigureSeries series = labelled(panels.variants[v]);
      if (!word.empty()) series.label += (series.label.empty() ? "" : ", ") + word;
      for (size_t g = 0; g < panels.groups.size(); ++g) {
        const Seen& seen = panels.seen[v][g];
        put(series, static_cast<double>(g), seen.fits() ? value(seen) : std::nan(""), seen);
      }
      figure.series.push_back(std::move(series));
    }
  figures.add(std::move(figure));
}

void all_panels(Figures& figures, const Panels& panels) {
  panel(figures, panels, "GPU temperature", "C",
        {{"mean", [](const Seen& s) { return s.at("thermal.mean_gpu_c"); }},
         {"peak", [](const Seen& s) { return s.max_c(); }}});
  panel(figures, panels, "GPU power", "W",
        {{"mean", [](const Seen& s) { return s.mean_w(); }},
         {"peak", [](const Seen& s) { return s.peak_w(); }}});
  panel(figures, panels, "SM clock", "MHz",
        {{"mean", [](const Seen& s) { return s.clock_mhz(); }}});
  if (panels.steps_are_short)
    panel(figures, panels, "Efficiency", "samples/(s J)", {{"", samples_per_s_j}});
  else
    panel(figures, panels, "Efficiency", "samples/(s MJ)", {{"", samples_per_s_mj}});
  panel(figures, panels, "Tokens per joule", "tokens/J",
        {{"", [](const Seen& s) { return s.tokens_per_j(); }}});
}

constexpr const char* kEfficiency =
    " Efficiency is the study's: batch over time and GPU energy, an inverse energy-delay product; "
    "tokens per joule of the whole cluster stand beside it. A missing bar does not fit in memory.";

/// Rows of an optimization sweep, FSDP first and then by growing depth, as the study sorts them.
void sweep_panels(Figures& figures, Panels panels, const std::string& gpu,
                  const std::vector<std::pair<std::string, std::string>>& variants) {
  Basis basis = figures.basis();
  for (const char* row : {"gpt3-175b_5", "llama3-70b_5"})
    if (gpu == "h200") panels.groups.push_back(model_name(model_of(row)) + " TP8-FSDP");
  for (const std::string& layout : layouts_of(gpu))
    panels.groups.push_back(model_name(model_of(layout)) + " " +
                            basis.sweep(gpu, layout, variants.front().second).layout());
  for (const auto& [word, variant] : variants) {
    panels.variants.push_back(word);
    std::vector<Seen>& seen = panels.seen.emplace_back();
    for (const char* row : {"gpt3-175b_5", "llama3-70b_5"})
      if (gpu == "h200")
        seen.push_back(basis("optimization-sweep-h200-fsdp", std::string(row) + "_" + variant));
    for (const std::string& layout : layouts_of(gpu))
      seen.push_back(basis.sweep(gpu, layout, variant));
  }
  panels.caption += kEfficiency;
  all_panels(figures, panels);
}

const std::vector<std::pair<std::string, std::string>> kVariants = {
    {"base", "00000"}, {"cc", "10000"}, {"act", "01000"}, {"cc+act", "11000"}};

void parallelism(Figures& figures) {
  sweep_panels(figures,
               {"4",
                "Layouts on 32 H200, with recomputation",
                "Power and heat are highest where a pipeline keeps GPUs busy; clocks are lowest "
                "there, because the cap holds them. Next: among layouts within a few per cent in "
                "time, take the one with most tokens per joule. Labels of Mixtral-8x7B are as its "
                "jobs were configured, not swapped.",
                "deep pipelines throttle most, TP-heavy layouts least",
                {},
                {},
                {}},
               "h200", {{"", "01000"}});
}

void optimizations(Figures& figures) {
  sweep_panels(figures,
               {"8",
                "Overlap (cc) and recomputation (act) on 32 H200",
                "Overlap pays with TP 4 and 8; where bars of base and cc are the same, its flags "
                "do nothing (FSDP, Mixtral with TP 1, one replica with TP 1: 20 of the study's 64 "
                "cc runs). Next: turn overlap on for wide tensor parallelism, recomputation off "
                "wherever the job fits without.",
                "overlap raises peak temperature and throttling consistently; recomputation costs "
                "performance except where it lets Mixtral-8x22B EP8-TP1-PP4 fit",
                {},
                {},
                {}},
               "h200", kVariants);
  sweep_panels(figures,
               {"9",
                "Overlap (cc) and recomputation (act) on 64 H100",
                std::string(kNotKnown) +
                    "With half the memory, deep layouts fit only with recomputation. Overlap can "
                    "cost: gradients of Llama3-70B TP8-PP4 then share the port with pipeline "
                    "transfers. Next: read it against figure 8, layout by layout.",
                "throttling grows with pipeline depth, 16 to 32 stages worst",
                {},
                {},
                {}},
               "h100", kVariants);
}

void micro_batches(Figures& figures) {
  Basis basis = figures.basis();
  Panels panels{
      "13",
      "Micro batch 1 to 8 on 32 H200, with recomputation",
      std::string("Larger micro batches help FSDP, whose gathers become fewer, and hurt deep "
                  "pipelines, whose bubble grows. Next: raise the micro batch only while "
                  "replicas keep four times as many micro batches as stages.") +
          kEfficiency,
      "peak power and temperature rise with the micro batch whatever throughput does; "
      "TP2-PP16 stops gaining; GPT3-175B TP8-FSDP gains over 3 times from 1 to 4",
      {},
      {},
      {}};
  const auto family = [](const std::string& layout) {
    return layout.ends_with("_5") ? "microbatch-sweep-h200-fsdp" : "microbatch-sweep-h200";
  };
  std::vector<std::string> layouts = {"gpt3-175b_5", "llama3-70b_5"};
  layouts.insert(layouts.end(), layouts_of("h200").begin(), layouts_of("h200").end());
  for (const std::string& layout : layouts)
    panels.groups.push_back(model_name(model_of(layout)) + " " +
                            basis(family(layout), layout + "_mbs1").layout());
  for (const char* mbs : {"1", "2", "4", "8"}) {
    panels.variants.push_back(fmt::format("micro batch {}", mbs));
    std::vector<Seen>& seen = panels.seen.emplace_back();
    for (const std::string& layout : layouts)
      seen.push_back(basis(family(layout), layout + "_mbs" + mbs));
  }
  all_panels(figures, panels);
}

void mi250(Figures& figures, const char* number, const std::string& title,
           const std::string& caption, const std::string& reported,
           const std::vector<std::string>& sizes) {
  Basis basis = figures.basis();
  Panels panels{number, title, kNotKnown + caption + kEfficiency, reported, {}, {}, {}};
  for (const char* model : {"gpt3-30b", "llama3-30b"})
    for (const auto& [tp, pp] : mi250_layouts())
      panels.groups.push_back(fmt::format("{} TP{}-PP{}", model_name(model), tp, pp));
  for (const std::string& mbs : sizes) {
    panels.variants.push_back("micro batch " + mbs);
    std::vector<Seen>& seen = panels.seen.emplace_back();
    for (const char* model : {"gpt3-30b", "llama3-30b"})
      for (const auto& [tp, pp] : mi250_layouts())
        seen.push_back(
            basis("mi250-layouts", fmt::format("{}_tp{}-pp{}_mbs{}", model, tp, pp, mbs)));
  }
  all_panels(figures, panels);
}

void adapters(Figures& figures) {
  Basis basis = figures.basis();
  Panels panels{"12",
                "LoRA against full training on 32 H200",
                std::string(kNotKnown) +
                    "Adapters halve the FLOPs of a token and send almost no gradients: cooler "
                    "where compute was all, hotter where full training waited for the network. "
                    "Next: the same layout is seldom the best for both; search again." +
                    kEfficiency,
                "lower power and temperature, over 10 times the training efficiency",
                {},
                {},
                {}};
  for (const std::string& layout : layouts_of("h200"))
    panels.groups.push_back(model_name(model_of(layout)) + " " +
                            basis.sweep("h200", layout, "01000").layout());
  panels.variants = {"full", "LoRA"};
  panels.seen.resize(2);
  for (const std::string& layout : layouts_of("h200")) {
    panels.seen[0].push_back(basis.sweep("h200", layout, "01000"));
    panels.seen[1].push_back(basis("lora", layout + "_mbs1"));
  }
  all_panels(figures, panels);
}

void inference(Figures& figures) {
  Basis basis = figures.basis();
  Panels panels{"18",
                "Inference on 32 H200: 2048-token prompts, 32 tokens generated",
                std::string(kNotKnown) +
                    "Small micro batches leave GPUs waiting for weights to come from HBM and for "
                    "stages before them. Next: for answers, prefer tensor over pipeline "
                    "parallelism. Mixtral's inference rows are left out: their scripts start LoRA "
                    "jobs." +
                    kEfficiency,
                "inference draws less power and stays cooler than training",
                {},
                {},
                {}};
  std::vector<std::string> layouts;
  for (const std::string& layout : layouts_of("h200"))
    if (!layout.starts_with("mixtral")) layouts.push_back(layout);
  for (const std::string& layout : layouts)
    panels.groups.push_back(model_name(model_of(layout)) + " " +
                            basis("inference", layout + "_mbs1").layout());
  for (const char* mbs : {"1", "8", "64"}) {
    panels.variants.push_back(fmt::format("micro batch {}", mbs));
    std::vector<Seen>& seen = panels.seen.emplace_back();
    for (const std::string& layout : layouts)
      seen.push_back(basis("inference", layout + "_mbs" + mbs));
  }
  panels.steps_are_short = true;
  all_panels(figures, panels);
}

}  // namespace

void panel_figures(Figures& figures) {
  parallelism(figures);
  optimizations(figures);
  mi250(figures, "11", "30B models on 32 dies of MI250",
        "The study's MI250 layouts are not public either; these are ours. Dies behind another on "
        "their module are hotter. Next: compare layouts at micro batch 1 before raising it.",
        "5 to 10 C between the dies of a module; the clock rises with compute intensity", {"1"});
  adapters(figures);
  micro_batches(figures);
  mi250(figures, "14", "Micro batch 1 to 8 on 32 dies of MI250",
        "Wide layouts gain; with much data parallelism few micro batches are left and the bubble "
        "grows. Next: stop at the first size that brings less than the noise of two runs.",
        "larger micro batches generally help; memory ends it first", {"1", "2", "4", "8"});
  inference(figures);
}

}  // namespace ergometer::study::charllm
