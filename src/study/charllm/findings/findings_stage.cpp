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
  findings.add(
      basis,
      {"sign.power-fault", "A node with a power fault slows its job", "slower", kPaper, said, why},
      factor > 1.05);
  findings.add(basis,
               {"size.power-fault", "A node with a power fault: how much slower",
                "more than 4 times", kPaper, said, why},
               factor >= 4 && factor < 8);
}

struct Split {
  const char *id, *title, *layers;
  double reported_efficiency, reported_gap;
  const char *why_efficiency, *why_gap;
};

void uneven(Findings& findings, const Split& split) {
  Basis basis = findings.basis();
  const std::string id = split.id;
  const Seen even = basis("stages", id + "-even"), odd = basis("stages", id + "-uneven");
  const double speed = change(even.tokens_per_s(), odd.tokens_per_s());
  const double frugal = change(even.tokens_per_j(), odd.tokens_per_j());
  const double gap = change(even.row_gap(), odd.row_gap());
  const std::string said = fmt::format("tokens/s {:+.1f} %, tokens/J {:+.1f} %", speed, frugal);
  const std::string gap_said = fmt::format("row gap {:+.0f} %", gap);
  const bool up = split.reported_efficiency > 0;
  findings.add(basis,
               {"sign.split-" + id, fmt::format("{}, {}: efficiency", split.title, split.layers),
                up ? "higher" : "lower", kPaper, said, split.why_efficiency},
               up ? speed > 0 && frugal > 0 : speed < 0 && frugal < 0);
  findings.add(
      basis,
      {"sign.split-gap-" + id, fmt::format("{}, {}: temperature gap", split.title, split.layers),
       "smaller", kPaper, gap_said, split.why_gap},
      gap < 0);
  findings.add(basis,
               {"size.split-" + id, fmt::format("{}, {}: by how much", split.title, split.layers),
                fmt::format("efficiency {:+.0f} %, temperature gap {:+.0f} %",
                            split.reported_efficiency, split.reported_gap),
                kPaper, said + ", " + gap_said, "single runs, without repeats"},
               of_cases((std::fabs(speed - split.reported_efficiency) < 3) +
                            (std::fabs(gap - split.reported_gap) < 6),
                        2));
}

/// Cold GPUs in early stages needs a map of ranks; whatever it does, it cannot gain more than cold
/// GPUs everywhere.
void cold_first(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> bound;
  for (const char* name : {"gpt3", "llama3"})
    bound.push_back(change(basis("stages", std::string(name) + "-even").tokens_per_s(),
                           basis("stages", std::string(name) + "-even-liquid").tokens_per_s()));
  findings.add(basis,
               {"size.cold-first", "Even stages, cold GPUs in the early ones", "up to +2 %", kPaper,
                fmt::format("at most {} % (GPT3-175B TP4-PP8, Llama3-70B TP4-PP4): with every GPU "
                            "as cool as liquid makes it",
                            text(bound, "{:+.1f}")),
                "a bound, not the placement itself, which needs a map of ranks to GPUs"},
               most(bound) > 0 && most(bound) < 4 ? run::Agreement::kInPart : run::Agreement::kNo);
}

}  // namespace

void stage_findings(Findings& findings) {
  power_fault(findings);
  uneven(findings, {"gpt3", "GPT3-175B TP4-PP8", "13 and 11 layers", -7, -17,
                    "the stages of 13 set the pace; the others regain their clock for nothing",
                    "the rear row has the 11"});
  uneven(findings,
         {"llama3", "Llama3-70B TP4-PP4", "21 and 19 layers", 4, -8,
          "the stages of 21 set the pace, and with DP 2 a stage fills a node, so that no layer "
          "moves from hot to cool GPUs of it; see what hot nodes would have to be like",
          "the nodes of 19 wait more and are cooler in both rows"});
  cold_first(findings);
}

}  // namespace ergometer::study::charllm
