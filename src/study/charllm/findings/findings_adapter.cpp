// LoRA against full training.
#include <fmt/format.h>

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
    const double by_w = lora.mean_w() - full.mean_w(), by_c = lora.max_c() - full.max_c();
    if (by_w < 0 && by_c < 0) {
      ++lower;
      watts.push_back(by_w);
      hottest.push_back(by_c);
    } else {
      higher += fmt::format("{}{} {} {:+.0f} W", higher.empty() ? "; higher: " : ", ",
                            model_of(layout), lora.layout(), by_w);
    }
  }
  const size_t all = layouts_of("h200").size();
  findings.add(basis,
               {"sign.lora-power", "LoRA: lower power and temperature, H200", "lower", kPaper,
                fmt::format("{} of {} layouts lower, mean {:.0f} W a GPU and {:.1f} C (hottest){}",
                            lower, all, mean(watts), mean(hottest), higher),
                "higher where full training waits for its gradients on the network and LoRA does "
                "not"},
               of_cases(lower, all));
}

void frugal(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> per_token, per_sample, samples_per_s;
  for (const std::string& layout : layouts_of("h200")) {
    const Seen full = basis.sweep("h200", layout, "01000"), lora = basis("lora", layout + "_mbs1");
    const double shorter = static_cast<double>(full.setting("seq_length")) /
                           static_cast<double>(lora.setting("seq_length"));
    per_token.push_back(lora.tokens_per_j() / full.tokens_per_j());
    per_sample.push_back(shorter * per_token.back());
    samples_per_s.push_back(shorter * lora.tokens_per_s() / full.tokens_per_s());
  }
  const auto range = [](const std::vector<double>& values) {
    return fmt::format("{:.1f} to {:.1f} times", least(values), most(values));
  };
  const std::string said =
      fmt::format("tokens/J {}, samples/J {}, samples/s {}, {} layouts", range(per_token),
                  range(per_sample), range(samples_per_s), per_token.size());
  findings.add(basis,
               {"sign.lora-efficiency", "LoRA: more efficient than full training, H200", "higher",
                kPaper, said, "4 of 8 FLOPs a parameter are left"},
               least(per_token) > 1);
  findings.add(basis,
               {"size.lora-efficiency", "LoRA: how much more efficient, H200",
                "over 10 times (of what is not known)", kPaper, said,
                "2 times where compute is all; more than ten only by samples, which are a quarter "
                "to all as long, and where full training waits for the network"},
               least(per_token) > 10      ? run::Agreement::kYes
               : most(samples_per_s) > 10 ? run::Agreement::kInPart
                                          : run::Agreement::kNo);
}

}  // namespace

void adapter_findings(Findings& findings) {
  cooler(findings);
  frugal(findings);
}

}  // namespace ergometer::study::charllm
