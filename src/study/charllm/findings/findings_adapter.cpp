// LoRA against full training.
#include <fmt/format.h>

#include <algorithm>

#include "study/charllm/findings/findings.h"

namespace ergometer::study::charllm {
namespace {

void cooler(Findings& findings) {
  Basis basis = findings.basis();
  std::string higher;
  std::vector<double> watts, hottest;
  size_t lower = 0;
  for (const std::string& layout : layouts_of("h200")) {
    const Seen full = basis.sweep("h200", layout, "01000"), lora = basis("lora", layout + "_mbs1");
    watts.push_back(lora.mean_w() - full.mean_w());
    hottest.push_back(lora.max_c() - full.max_c());
    if (watts.back() < 0 && hottest.back() < 0)
      ++lower;
    else
      higher += fmt::format("{}{} {} {:+.0f} W, {:+.1f} C", higher.empty() ? "; higher: " : ", ",
                            model_of(layout), lora.layout(), watts.back(), hottest.back());
  }
  const size_t all = layouts_of("h200").size();
  findings.add(
      basis,
      {"sign.lora-power", "LoRA: lower power and temperature, H200", "lower", kPaper,
       fmt::format("{} of {} layouts lower; median {:.0f} W a GPU and {:.1f} C (hottest){}", lower,
                   all, median(watts), median(hottest), higher),
       "higher where full training waits for its gradients on the network and LoRA does not",
       Measure{median(watts), " W", -kAny, 0}},
      of_cases(lower, all));
}

void frugal(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> per_token, per_sample, samples_per_s, by_study;
  for (const std::string& layout : layouts_of("h200")) {
    const Seen full = basis.sweep("h200", layout, "01000"), lora = basis("lora", layout + "_mbs1");
    const double shorter = static_cast<double>(full.setting("seq_length")) /
                           static_cast<double>(lora.setting("seq_length"));
    const auto cost = [](const Seen& seen) {
      return seen.step_s() * seen.at("power.gpu_energy_j_per_step");
    };
    per_token.push_back(lora.tokens_per_j() / full.tokens_per_j());
    per_sample.push_back(shorter * per_token.back());
    samples_per_s.push_back(shorter * lora.tokens_per_s() / full.tokens_per_s());
    by_study.push_back(cost(full) / cost(lora));
  }
  const auto range = [](const std::vector<double>& values) {
    return fmt::format("{:.1f} to {:.1f} times", least(values), most(values));
  };
  const std::string said = fmt::format(
      "by the study's measure {}, median {:.0f}; tokens/J {}, samples/J {}, samples/s {}; {} "
      "layouts",
      range(by_study), median(by_study), range(per_token), range(per_sample), range(samples_per_s),
      per_token.size());
  findings.add(
      basis,
      {"sign.lora-efficiency", "LoRA: more efficient than full training, H200", "higher", kPaper,
       said, "4 of 8 FLOPs a parameter are left", Measure{least(by_study), " times", 1, kAny}},
      least(per_token) > 1 && least(by_study) > 1);
  findings.add(
      basis,
      {"size.lora-efficiency", "LoRA: how much more efficient, H200", "over 10 times", kPaper, said,
       "its measure divides 128 samples by time and by energy, whatever the batch: both are "
       "smaller, and sequences shorter. Tokens per joule are twice as many where compute is all",
       Measure{median(by_study), " times", 10, kAny}},
      of_cases(static_cast<size_t>(std::count_if(by_study.begin(), by_study.end(),
                                                 [](double times) { return times > 10; })),
               by_study.size()));
}

}  // namespace

void adapter_findings(Findings& findings) {
  cooler(findings);
  frugal(findings);
}

}  // namespace ergometer::study::charllm
