// Faults, and stages that follow the heat.
#include <fmt/format.h>

#include <cmath>

#include "study/charllm/findings/findings.h"

namespace ergometer::study::charllm {
namespace {

void power_fault(Findings& findings) {
  Basis basis = findings.basis();
  const Seen well = basis.sweep("h200", "llama3-70b_2", "01000");
  const Seen ill = basis("faults", "llama3-70b_2-node-brake");
  const double factor = ill.step_s() / well.step_s();
  const std::string said = fmt::format("{:.1f} times; \"{}\"", factor, ill.limit());
  const std::string why = "the brake's clock is the lowest of the lattice";
  findings.add(basis,
               {"sign.power-fault", "A node with a power fault slows its job", "slower", kPaper,
                said, why, Measure{factor, " times", 1, kAny}},
               factor > 1.05);
  findings.add(basis,
               {"size.power-fault", "A node with a power fault: how much slower",
                "more than 4 times", kPaper, said, why, Measure{factor, " times", 4, kAny}},
               factor >= 4 && factor < 8);
}

struct Split {
  const char *id, *even, *uneven, *title, *layers;
  double reported_efficiency, reported_gap;
  const char *why_efficiency, *why_gap;
};

void uneven(Findings& findings, const Split& split) {
  Basis basis = findings.basis();
  const std::string id = split.id;
  const Seen even = basis("stages", split.even), odd = basis("stages", split.uneven);
  const double efficiency = change(even.efficiency(), odd.efficiency());
  const double gap = change(even.row_gap(), odd.row_gap());
  const std::string said =
      fmt::format("efficiency {:+.1f} % (tokens/s {:+.1f} %, tokens/J {:+.1f} %)", efficiency,
                  change(even.tokens_per_s(), odd.tokens_per_s()),
                  change(even.tokens_per_j(), odd.tokens_per_j()));
  const std::string gap_said = fmt::format("row gap {:+.0f} %", gap);
  const bool up = split.reported_efficiency > 0;
  findings.add(basis,
               {"sign.split-" + id, fmt::format("{}, {}: efficiency", split.title, split.layers),
                up ? "higher" : "lower", kPaper, said, split.why_efficiency,
                Measure{efficiency, " %", up ? 0 : -kAny, up ? kAny : 0}},
               up ? efficiency > 0 : efficiency < 0);
  findings.add(
      basis,
      {"sign.split-gap-" + id, fmt::format("{}, {}: temperature gap", split.title, split.layers),
       "smaller", kPaper, gap_said, split.why_gap, Measure{gap, " %", -kAny, 0}},
      gap < 0);
  const double reported = split.reported_efficiency;
  findings.add(
      basis,
      {"size.split-" + id, fmt::format("{}, {}: by how much", split.title, split.layers),
       fmt::format("efficiency {:+.0f} %, temperature gap {:+.0f} %", reported, split.reported_gap),
       kPaper, said + ", " + gap_said, "single runs, without repeats",
       Measure{efficiency, " %", reported, reported}},
      of_cases((std::fabs(efficiency - reported) < 3) + (std::fabs(gap - split.reported_gap) < 6),
               2));
}

/// The front GPUs of all nodes in the early stages.
void cold_first(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> gains;
  for (const char* name : {"gpt3", "llama3"})
    gains.push_back(change(basis("stages", std::string(name) + "-even").efficiency(),
                           basis("stages", std::string(name) + "-even-cold-first").efficiency()));
  findings.add(basis,
               {"size.cold-first", "Even stages, cold GPUs in the early ones",
                "efficiency up to +2 %", kPaper,
                fmt::format("efficiency {} % (GPT3-175B TP4-PP8, Llama3-70B TP4-PP4)",
                            text(gains, "{:+.1f}")),
                "early stages have no more to do than late ones; in Llama-3 the replicas of a "
                "stage then sum their gradients over the network instead of in their node",
                Measure{most(gains), " %", 0, 2}},
               most(gains) > 0 && most(gains) <= 2.5);
}

}  // namespace

void stage_findings(Findings& findings) {
  power_fault(findings);
  uneven(findings, {"gpt3", "gpt3-even", "gpt3-uneven", "GPT3-175B TP4-PP8", "13 and 11 layers", -7,
                    -17, "the stages of 13 set the pace; the others regain their clock for nothing",
                    "the rear row has the 11"});
  uneven(
      findings,
      {"llama3", "llama3-even-placed", "llama3-uneven-placed", "Llama3-70B TP4-PP4",
       "21 and 19 layers", 4, -8,
       "both on the same GPUs, every other stage on the front rows of two nodes: layers cost less "
       "than cooler GPUs bring where a warm room or the boards make rear GPUs slower by more than "
       "5 %. As ranks come a stage fills a node, and no layer moves from hot to cool GPUs",
       "the rear row has the 19"});
  cold_first(findings);
}

}  // namespace ergometer::study::charllm
