// 32 H200 against 64 H100, and what of a job is communication.
#include <fmt/format.h>

#include <cmath>

#include "study/charllm/findings/findings.h"

namespace ergometer::study::charllm {
namespace {

void gpt3(Findings& findings) {
  Basis basis = findings.basis();
  const Seen h200 = basis.sweep("h200", "gpt3-175b_1", "01000");
  const Seen stored = basis.sweep("h200", "gpt3-175b_1", "00000");
  const Seen h100 = basis.sweep("h100", "gpt3-175b_1", "01000");
  findings.add(basis,
               {"sign.gpt3-energy", "GPT3-175B TP2: 32 H200 against 64 H100, tokens per joule",
                "H200 better", kPaper,
                fmt::format("{:.3f} (without recomputation {:.3f}) against {:.3f}",
                            h200.tokens_per_j(), stored.tokens_per_j(), h100.tokens_per_j()),
                "half the stages, half the bubble; H100 fits with recomputation only",
                Measure{h200.tokens_per_j() / h100.tokens_per_j(), " times", 1, kAny}},
               h200.tokens_per_j() > h100.tokens_per_j());
  const double ratio = stored.tokens_per_s() / h100.tokens_per_s();
  findings.add(basis,
               {"sign.gpt3-speed", "GPT3-175B TP2: 32 H200 against 64 H100, tokens per second",
                "H200 ahead, or comparable (the two accounts differ)", kPaper,
                fmt::format("{:.2f} of the H100s' at best ({:.0f} against {:.0f} tokens/s)", ratio,
                            stored.tokens_per_s(), h100.tokens_per_s()),
                "a GPU of the H200s must then be 2 times as fast as an H100: bubble and "
                "recomputation give 1.5; no cause in clocks or heat that differs between the "
                "testbeds",
                Measure{ratio, " times", 0.95, kAny}},
               ratio > 0.95);
  const double energy = stored.tokens_per_j() / h100.tokens_per_j();
  findings.add(
      basis,
      {"sign.energy-where-slower",
       "H200 more frugal than H100 even in layouts with lower throughput", "more frugal", kPaper,
       fmt::format("GPT3-175B TP2: {:.2f} times the tokens per joule at {:.2f} of the "
                   "throughput",
                   energy, ratio),
       "half the GPUs", Measure{energy, " times", 1, kAny}},
      energy > 1 && ratio < 1);
  findings.add(basis,
               {"size.energy-multiple", "GPT3-175B TP2: H200 over H100 in tokens per joule",
                "a clear multiple", kPaper, fmt::format("{:.2f} times", energy),
                "no more than bubble and recomputation take from the H100s",
                Measure{energy, " times", 2, kAny}},
               energy >= 2    ? run::Agreement::kYes
               : energy > 1.2 ? run::Agreement::kInPart
                              : run::Agreement::kNo);
}

/// The layout of a testbed with most tokens per second, of those that fit.
Seen fastest(Basis& basis, const std::string& gpu, const std::string& model) {
  Seen best;
  for (const std::string& layout : layouts_of(gpu)) {
    if (model_of(layout) != model) continue;
    for (const char* variant : {"00000", "01000"}) {
      const Seen seen = basis.sweep(gpu, layout, variant);
      if (seen.fits() && (!best.known() || seen.tokens_per_s() > best.tokens_per_s())) best = seen;
    }
  }
  return best;
}

void other_models(Findings& findings) {
  Basis basis = findings.basis();
  const Seen moe = basis.sweep("h200", "mixtral-8x22b_1", "01000");
  const Seen moe_h100 = fastest(basis, "h100", "mixtral-8x22b");
  findings.add(
      basis,
      {"sign.mixtral-energy", "Mixtral-8x22B EP8-TP1-PP4: H200 more efficient", "H200 better",
       kPaper,
       fmt::format("{:.2f} tokens/J against {:.2f} at best ({}) on H100", moe.tokens_per_j(),
                   moe_h100.tokens_per_j(), moe_h100.layout()),
       "half the stages", Measure{moe.tokens_per_j() / moe_h100.tokens_per_j(), " times", 1, kAny}},
      moe.tokens_per_j() > moe_h100.tokens_per_j());
  for (const auto& [model, name] :
       {std::pair{"llama3-70b", "Llama3-70B"}, {"mixtral-8x7b", "Mixtral-8x7B"}}) {
    Basis pair = findings.basis();
    const Seen h200 = fastest(pair, "h200", model), h100 = fastest(pair, "h100", model);
    const double factor = h100.tokens_per_s() / h200.tokens_per_s();
    findings.add(
        pair,
        {fmt::format("sign.speed-{}", model),
         fmt::format("{}: 64 H100 clearly faster than 32 H200", name), "clearly faster", kPaper,
         fmt::format("{:.2f} times ({} against {})", factor, h100.layout(), h200.layout()),
         model == std::string("llama3-70b")
             ? "twice the GPUs of the same peak"
             : "twice the network ports, which is what this model waits for, and a layout "
               "with stages that sends less through them",
         Measure{factor, " times", 1.3, kAny}},
        factor > 1.3);
  }
}

void communication(Findings& findings) {
  Basis basis = findings.basis();
  const double moe = 100 * communication_share(basis.sweep("h200", "mixtral-8x22b_3", "00000"));
  const double dense = 100 * communication_share(basis.sweep("h200", "llama3-70b_2", "00000"));
  findings.add(
      basis,
      {"sign.communication",
       "H200: most kernel time is communication in Mixtral-8x22B EP8-TP4-PP1, compute in "
       "Llama3-70B",
       "above 50 %; below 50 %", kPaper, fmt::format("{:.0f} %; {:.0f} % (TP4-PP4)", moe, dense),
       "experts' tokens cross one port a node; their scripts add overlapped time twice, "
       "which raises both shares",
       Measure{moe, " %", 50, 100}},
      moe > 50 && dense < 50);
}

void sparse_transfers(Findings& findings) {
  Basis basis = findings.basis();
  const Seen mixed = basis.sweep("h200", "gpt3-175b_2", "01000");
  const double use = 100 * mixed.at("links.nic.utilization");
  const double waits = 100 * mixed.at("performance.breakdown_s.exposed_send_recv") / mixed.step_s();
  findings.add(basis,
               {"sign.sparse-send-recv",
                "TP with PP: sparse SendRecv leaves PCIe and network idle while GPUs wait",
                "underused", kPaper,
                fmt::format("GPT3-175B TP4-PP8: ports {:.1f} % used, {:.1f} % of the step waits "
                            "for transfers",
                            use, waits),
                "transfers are small and nothing runs beside them (batch_p2p_sync); overlap_p2p "
                "is what to try",
                Measure{use, " %", 0, 20}},
               use < 20 && waits > 1);
  Basis busy = findings.basis();
  const Seen fsdp = busy("microbatch-sweep-h200-fsdp", "gpt3-175b_5_mbs1");
  const double gbps = 8 * fsdp.at("links.nic.mean_gb_per_s");
  findings.add(busy,
               {"size.effective-port", "What a 100 Gb/s port delivers",
                "30 Gb/s (illustrative, unverified)", kPaper,
                fmt::format("{:.0f} Gb/s mean where nothing else is done (GPT3-175B TP8-FSDP), "
                            "{:.1f} Gb/s in GPT3-175B TP4-PP8",
                            gbps, 8 * mixed.at("links.nic.mean_gb_per_s")),
                "their FSDP runs ended in time only with 90 to 120 Gb/s a node; sparse transfers "
                "use less because they are sparse",
                Measure{gbps, " Gb/s", 30, 30}},
               std::fabs(gbps - 30) < 10);
}

}  // namespace

void testbed_findings(Findings& findings) {
  gpt3(findings);
  other_models(findings);
  communication(findings);
  sparse_transfers(findings);
}

}  // namespace ergometer::study::charllm
