// Micro batch, recomputation and overlap: what they cost and bring.
#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "study/charllm/findings/findings.h"
#include "study/charllm/points.h"

namespace ergometer::study::charllm {
namespace {

void fsdp(Findings& findings) {
  Basis basis = findings.basis();
  const auto step_s = [&](int micro_batch) {
    return basis("microbatch-sweep-h200-fsdp", fmt::format("gpt3-175b_5_mbs{}", micro_batch))
        .step_s();
  };
  const double factor = step_s(1) / step_s(4);
  const std::string said = fmt::format("{:.1f} times", factor);
  const std::string why = "gathers through one port for eight GPUs are all there is";
  findings.add(basis,
               {"sign.fsdp-micro-batch", "GPT3-175B TP8-FSDP: micro batch 4 is faster than 1",
                "faster", kPaper, said, why, Measure{factor, " times", 1, kAny}},
               factor > 1);
  findings.add(
      basis,
      {"size.fsdp-micro-batch", "GPT3-175B TP8-FSDP: micro batch 4 against 1, how much faster",
       "more than 3 times", kPaper, said, why, Measure{factor, " times", 3, kAny}},
      factor > 3);
}

void deep_micro_batch(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> tokens;
  for (const char* mbs : {"mbs1", "mbs2", "mbs4", "mbs8"})
    tokens.push_back(
        basis("microbatch-sweep-h200", std::string("gpt3-175b_1_") + mbs).tokens_per_s());
  findings.add(basis,
               {"sign.deep-micro-batch", "TP2-PP16: larger micro batches stop helping or hurt",
                "stop helping or hurt", kPaper,
                fmt::format("{} tokens/s with 1, 2, 4, 8 (GPT3-175B)", text(tokens, "{:.0f}")),
                "the bubble: 128 samples are 128 micro batches of 1 but 16 of 8, for 16 stages",
                Measure{change(tokens[0], tokens[3]), " %", -kAny, 0}},
               tokens[3] < tokens[0]);
}

/// What a value does from micro batch 1 to the largest that runs, layout by layout.
void rises(Findings& findings, const std::string& id, const std::string& title,
           double (Seen::*value)() const, const char* unit, double visible,
           const std::string& why) {
  Basis basis = findings.basis();
  std::string said;
  std::vector<double> by;
  for (const std::string& layout : layouts_of("h200")) {
    const bool divides = layout != "mixtral-8x7b_1";  // DP 32: a batch of 128 has no 8 for each
    const Seen one = basis("microbatch-sweep-h200", layout + "_mbs1");
    const Seen most = basis("microbatch-sweep-h200", layout + (divides ? "_mbs8" : "_mbs4"));
    by.push_back((most.*value)() - (one.*value)());
    said += fmt::format("{}{} {} {:+.1f}{}", said.empty() ? "" : ", ", model_of(layout),
                        one.layout(), by.back(), unit);
  }
  const auto count = [&](auto&& is) {
    return static_cast<size_t>(std::count_if(by.begin(), by.end(), is));
  };
  const size_t rise = count([&](double it) { return it > visible; });
  const size_t fall = count([&](double it) { return it < -visible; });
  findings.add(basis,
               {id, title, "rises whatever throughput does", kPaper,
                fmt::format("rises in {}, falls in {} of {}: {}", rise, fall, by.size(), said), why,
                Measure{median(by), unit, 0, kAny}},
               of_cases(rise, by.size()));
}

struct Mi250 {
  std::string helped, hurt;
  size_t helps = 0, hurts = 0, clock_up = 0, clock_down = 0;
  size_t full = 0, last = 0;  ///< jobs whose largest useful micro batch ends by memory, all jobs
};

Mi250 mi250_layouts_by_micro_batch(Basis& basis) {
  Mi250 result;
  for (const auto& [model, name] :
       {std::pair{"gpt3-30b", "GPT3-30B"}, {"llama3-30b", "Llama3-30B"}})
    for (const auto& [tp, pp] : mi250_layouts()) {
      const std::string job = fmt::format("{}_tp{}-pp{}", model, tp, pp);
      const auto at = [&](int mbs) {
        return basis("mi250-layouts", fmt::format("{}_mbs{}", job, mbs));
      };
      const Seen one = at(1), two = at(2);
      const double gain = change(one.tokens_per_s(), two.tokens_per_s());
      const bool helps = gain > 0;
      std::string& list = helps ? result.helped : result.hurt;
      list += fmt::format("{}{} {} {:+.1f} %", list.empty() ? "" : ", ", name, one.layout(), gain);
      ++(helps ? result.helps : result.hurts);
      ++(two.clock_mhz() > one.clock_mhz() ? result.clock_up : result.clock_down);
      ++result.last;
      const Seen four = at(4), eight = at(8);
      result.full += !four.fits() || !eight.fits();
    }
  return result;
}

void mi250(Findings& findings) {
  Basis basis = findings.basis();
  const Mi250 found = mi250_layouts_by_micro_batch(basis);
  const size_t all = found.helps + found.hurts;
  const auto part = [&](size_t count) { return of_cases(count, all); };
  findings.add(basis,
               {"sign.mi250-micro-batch", "MI250: larger micro batches (1 to 2 samples) help",
                "generally", kPaper, fmt::format("help: {}; hurt: {}", found.helped, found.hurt),
                "wide layouts gain; with much data parallelism a batch of 128 leaves few micro "
                "batches, and the bubble grows; the study's MI250 layouts are not public"},
               part(found.helps));
  findings.add(basis,
               {"sign.mi250-memory", "MI250: memory ends it first", "memory binds first", kPaper,
                fmt::format("{} of {} layouts no longer fit at micro batch 8 or before", found.full,
                            found.last),
                "with all 30B parameters spread over 4 to 32 dies of 64 GB; larger models or wider "
                "data parallelism would end sooner"},
               part(found.full));
  findings.add(
      basis,
      {"sign.mi250-clock", "MI250: the clock rises with compute intensity", "rises", kPaper,
       fmt::format("mean clock higher at micro batch 2 than at 1 in {} of {} layouts",
                   found.clock_up, found.last),
       "a governor that asks for less when little is to be done is not modelled: clocks "
       "only fall from the top"},
      part(found.clock_up));
}

void recompute(Findings& findings) {
  Basis basis = findings.basis();
  const Seen stored = basis.sweep("h200", "mixtral-8x22b_1", "00000");
  const Seen full = basis.sweep("h200", "mixtral-8x22b_1", "01000");
  const Seen h100 = basis.sweep("h100", "mixtral-8x22b_4", "00000");
  constexpr double kGib = 1024.0 * 1024 * 1024;
  findings.add(
      basis,
      {"sign.recompute-fits", "Recomputation makes Mixtral-8x22B EP8-TP1-PP4 fit",
       "does not fit without", kPaper,
       fmt::format("H200: {:.0f} of {:.0f} GiB without it, {:.0f} with; H100 EP8-TP1-PP8: {:.0f} "
                   "of {:.0f} GiB without",
                   stored.at("memory.peak_bytes") / kGib, stored.at("memory.capacity_bytes") / kGib,
                   full.at("memory.peak_bytes") / kGib, h100.at("memory.peak_bytes") / kGib,
                   h100.at("memory.capacity_bytes") / kGib),
       "on H200 the tensors alone would fit, what the allocator loses to fragments does not"},
      !stored.fits() && full.fits() ? run::Agreement::kYes
      : !h100.fits()                ? run::Agreement::kInPart
                                    : run::Agreement::kNo);
  Basis rest = findings.basis();
  std::vector<double> cost;
  for (const std::string gpu : {"h200", "h100"})
    for (const std::string& layout : layouts_of(gpu)) {
      const Seen off = rest.sweep(gpu, layout, "00000"), on = rest.sweep(gpu, layout, "01000");
      if (off.fits()) cost.push_back(change(off.tokens_per_s(), on.tokens_per_s()));
    }
  findings.add(
      rest,
      {"sign.recompute-costs", "Where jobs fit without it, recomputation costs throughput", "costs",
       kPaper,
       fmt::format("{:.0f} to {:.0f} % in {} layouts", most(cost), least(cost), cost.size()),
       "a third more FLOPs, and more communication of experts",
       Measure{median(cost), " %", -kAny, 0}},
      most(cost) < 0);
}

void overlap_gain(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> wide, deep;
  for (const std::string gpu : {"h200", "h100"})
    for (const std::string& layout : layouts_of(gpu)) {
      const Seen off = basis.sweep(gpu, layout, "00000"), on = basis.sweep(gpu, layout, "10000");
      if (off.step_s() == on.step_s()) continue;
      const bool dense = layout.starts_with("gpt3") || layout.starts_with("llama3");
      const bool is_deep = off.stages() >= 16;
      if (!dense) continue;
      (is_deep ? deep : wide).push_back(change(off.tokens_per_s(), on.tokens_per_s()));
    }
  findings.add(
      basis,
      {"sign.overlap-gain",
       "Overlap helps where communication weighs, and is useless or harmful in deep pipelines",
       "helps; useless or harmful", kPaper,
       fmt::format("TP 4 and 8, up to 8 stages: {} %; 16 stages and more: {} %",
                   text(wide, "{:+.1f}"), text(deep, "{:+.1f}")),
       "more for wide layouts on average, but neither always nor nothing for deep ones: "
       "tensor-parallel collectives are what these flags hide, pipeline transfers are never hidden "
       "in the study. The loss is Llama3-70B TP8-PP4 on H100: with overlap each stage gathers its "
       "parameters in its own first forward, one stage after the other, instead of all at once",
       Measure{base::mean(wide) - base::mean(deep), " points", 0, kAny}},
      least(wide) > 0 && most(deep) < 1.5   ? run::Agreement::kYes
      : base::mean(wide) > base::mean(deep) ? run::Agreement::kInPart
                                            : run::Agreement::kNo);
}

}  // namespace

void tuning_findings(Findings& findings) {
  fsdp(findings);
  deep_micro_batch(findings);
  rises(findings, "sign.micro-batch-peak", "Micro batch 1 to 8: peak power, H200", &Seen::peak_w,
        " W", 0.5,
        "up to 4 stages longer kernels fill more of the 25 ms that count as a peak. In deep "
        "pipelines peaks are weight gradients, which add to FP32 sums in HBM: 0.18 pJ/FLOP at 2048 "
        "tokens a micro batch, 0.02 at 16384; with HBM at a tenth of its energy peaks still fall, "
        "by 1 to 5 %: products of 2048 tokens fill the GPU already");
  rises(findings, "sign.micro-batch-heat", "Micro batch 1 to 8: peak temperature, H200",
        &Seen::max_c, " C", 0.05,
        "a heat sink follows mean power, and mean power falls with the share of time that GPUs "
        "work: larger micro batches are fewer, and the bubble grows");
  mi250(findings);
  recompute(findings);
  overlap_gain(findings);
}

}  // namespace ergometer::study::charllm
