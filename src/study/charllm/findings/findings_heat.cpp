// How hot GPUs get and where.
#include <fmt/format.h>

#include <cmath>

#include "base/collection.h"
#include "study/charllm/findings/findings.h"
#include "study/charllm/points.h"
#include "study/charllm/ranked.h"

namespace ergometer::study::charllm {
namespace {

void rear_row(Findings& findings) {
  Basis both = findings.basis();
  std::vector<double> all_gaps;
  for (const std::string gpu : {"h200", "h100"}) {
    Basis basis = findings.basis();
    std::vector<double> excess;  // of the rear row over the front row, in % of C
    for (const std::string& layout : layouts_of(gpu)) {
      const Seen seen = basis.sweep(gpu, layout, "01000");
      both.sweep(gpu, layout, "01000");
      excess.push_back(100 * seen.row_gap() / seen.row(0, &run::SlotRow::mean_gpu_c));
      all_gaps.push_back(seen.row_gap());
    }
    findings.add(
        basis,
        {"size.rear-hotter-" + gpu,
         fmt::format("How much hotter: HGX {}, air, four models", gpu == "h200" ? "H200" : "H100"),
         "15 to 27 %", kPaper,
         fmt::format("{:.1f} to {:.1f} %, mean {:.1f} %, {} layouts", least(excess), most(excess),
                     base::mean(excess), excess.size()),
         "preheat is set to the 18 C of an H100 board (2507.16781); that it scales with load and "
         "stays in the range (told in whole per cent) from 200 to 680 W is predicted",
         Measure{base::mean(excess), " %", 15, 27}},
        least(excess) >= 15 && std::round(most(excess)) <= 27);
  }
  findings.add(
      both,
      {"sign.rear-hotter", "Rear GPUs are hotter than front GPUs, HGX in air", "hotter", kPaper,
       fmt::format("in all {} layouts, by {:.1f} to {:.1f} C", all_gaps.size(), least(all_gaps),
                   most(all_gaps)),
       "the front row's heat is in the rear row's air", Measure{least(all_gaps), " C", 0, kAny}},
      least(all_gaps) > 0);
}

void no_cool_down(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> swing;
  for (const char* layout : {"gpt3-175b_3", "gpt3-175b_1", "llama3-70b_2"}) {
    const Seen seen = basis.sweep("h200", layout, "01000");
    swing.push_back(seen.row(1, &run::SlotRow::max_gpu_c) - seen.row(1, &run::SlotRow::mean_gpu_c));
  }
  constexpr double kClearC = 5;
  findings.add(
      basis,
      {"sign.no-cool-down", "Rear GPUs show no clear cool-down within a step", "none", kPaper,
       fmt::format("the rear row's hottest moment is {} C above its mean (GPT3-175B "
                   "TP8-PP4, TP2-PP16, Llama3-70B TP4-PP4)",
                   text(swing, "{:.1f}")),
       "a heat sink's minute averages over steps of half a minute; what is left is the "
       "chip itself, and the front row swings as little",
       Measure{most(swing), " C", 0, kClearC}},
      most(swing) < kClearC);
}

void dies_of_a_module(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> gaps;  // of every module; its dies are ranks 2 i and 2 i + 1
  for (const char* model : {"gpt3-30b", "llama3-30b"})
    for (const auto& [tp, pp] : mi250_layouts()) {
      if (tp == "2") continue;
      const auto run =
          ranked(basis("mi250-layouts", fmt::format("{}_tp{}-pp{}_mbs1", model, tp, pp)).point);
      if (!run) continue;
      for (size_t i = 0; i + 1 < run->ranks.size(); i += 2)
        gaps.push_back(run->ranks[i + 1].mean_gpu_c - run->ranks[i].mean_gpu_c);
    }
  findings.add(basis,
               {"size.mi250-dies", "MI250: dies of one module", "5 to 10 C apart", kPaper,
                fmt::format("{:.1f} to {:.1f} C, {} modules in 8 jobs", least(gaps), most(gaps),
                            gaps.size()),
                "preheat is set to it; which die is downstream is assumed",
                Measure{base::mean(gaps), " C", 5, 10}},
               least(gaps) >= 5 && most(gaps) <= 10);
}

}  // namespace

void liquid_findings(Findings& findings) {
  for (const auto& [layout, name] :
       {std::pair{"gpt3-175b_1", "GPT3-175B TP2-PP16"}, {"llama3-70b_2", "Llama3-70B TP4-PP4"}}) {
    Basis basis = findings.basis();
    const Seen air = basis.sweep("h200", layout, "01000"), cold = basis("liquid", layout);
    findings.add(
        basis,
        {fmt::format("open.liquid-{}", model_of(layout)),
         fmt::format("Does liquid move the bottleneck: {}, H200", name),
         "asked of the paper, not answered", "peer reviews",
         fmt::format("row gap {:.1f} to {:.1f} C, hottest {:.1f} to {:.1f} C, tokens/J {:+.0f} %, "
                     "tokens/s {:+.1f} %; then \"{}\"",
                     air.row_gap(), cold.row_gap(), air.max_c(), cold.max_c(),
                     change(air.tokens_per_j(), cold.tokens_per_j()),
                     change(air.tokens_per_s(), cold.tokens_per_s()), cold.limit()),
         "no: fans and leakage are saved, the power cap stays; what is left of the gap are two "
         "plates in series"},
        true);
  }
}

void heat_findings(Findings& findings) {
  rear_row(findings);
  no_cool_down(findings);
  dies_of_a_module(findings);
}

}  // namespace ergometer::study::charllm
