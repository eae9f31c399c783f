// What others saw on machines like these.
#include <fmt/format.h>

#include <cmath>

#include "base/collection.h"
#include "study/charllm/findings/findings.h"
#include "study/charllm/points.h"
#include "study/charllm/ranked.h"

namespace ergometer::study::charllm {
namespace {

void braked_gpu(Findings& findings) {
  Basis basis = findings.basis();
  const double factor =
      basis("neighbours", "fsdp-16-brake").step_s() / basis("neighbours", "fsdp-16").step_s();
  findings.add(basis,
               {"size.braked-gpu", "One braked GPU of 16 H100, FSDP", "5 times slower",
                "jingchaozhang.github.io", fmt::format("{:.1f} times", factor),
                "the model they trained is not known"},
               factor > 4 && factor < 6);
}

std::vector<double> temperatures(const Seen& seen) {
  std::vector<double> values;
  if (const auto run = ranked(seen.point))
    for (const run::Rank& rank : run->ranks) values.push_back(rank.mean_gpu_c);
  return values;
}

void one_board(Findings& findings) {
  Basis basis = findings.basis();
  const Seen air = basis("neighbours", "board-air"), liquid = basis("neighbours", "board-liquid");
  const std::vector<double> air_c = temperatures(air), liquid_c = temperatures(liquid);
  findings.add(basis,
               {"size.board-heat", "8 x H100 training in air and in liquid",
                "54 to 72 C; 41 to 50 C", "arXiv 2507.16781",
                fmt::format("{:.1f} to {:.1f} C; {:.1f} to {:.1f} C", least(air_c), most(air_c),
                            least(liquid_c), most(liquid_c)),
                "resistances are set to it at 650 W; the job's power is predicted"},
               std::fabs(least(air_c) - 54) < 4 && std::fabs(most(air_c) - 72) < 4 &&
                   least(liquid_c) >= 41 && most(liquid_c) <= 50);
  const double gain = change(liquid.step_s(), air.step_s());
  findings.add(basis,
               {"size.board-speed", "8 x H100: liquid is faster than air",
                "17 % (54 against 46 TFLOP/s a GPU)", "arXiv 2507.16781",
                fmt::format("{:+.1f} %; {:.0f} W a GPU in air, {:.0f} W in liquid", gain,
                            air.mean_w(), liquid.mean_w()),
                "72 C is far from the limit of 87 C and 20 W of leakage cost at most 2 % of clock; "
                "at a twentieth of the peak something else than the clock made the difference"},
               std::fabs(gain - 17) < 7);
}

void lit_silicon(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> heat, clocks;
  for (int seed = 1; seed <= kMi300xBoards; ++seed) {
    const auto run = ranked(basis("neighbours", fmt::format("mi300x-{}", seed)).point);
    if (!run) continue;
    const auto ratio = [&](double run::Rank::* value) {
      std::vector<double> values;
      for (const run::Rank& rank : run->ranks) values.push_back(rank.*value);
      return most(values) / least(values);
    };
    heat.push_back(ratio(&run::Rank::mean_gpu_c));
    clocks.push_back(ratio(&run::Rank::mean_clock_mhz));
  }
  const auto range = [](const std::vector<double>& values) {
    return fmt::format("median {:.3f} ({:.3f} to {:.3f}) over {} sets of boards", median(values),
                       least(values), most(values), values.size());
  };
  findings.add(
      basis,
      {"size.mi300x-heat", "MI300X node: hottest over coolest GPU", "1.155", "arXiv 2511.09861",
       range(heat), "preheat is set to it; the boards' spread is assumed"},
      std::fabs(median(heat) - 1.155) < 0.025);
  findings.add(basis,
               {"size.mi300x-clocks", "MI300X node: fastest over slowest clock", "1.062",
                "arXiv 2511.09861", range(clocks),
                "GPUs that wait for the slowest have watts to spare in the governor's window and "
                "clock up; if the window were shorter than those waits (milliseconds), so that "
                "clocks are what each can hold while it computes, the median were 1.063"},
               std::fabs(median(clocks) - 1.062) < 0.02);
}

void warm_air(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> percent_per_k;
  for (const char* seed : {"1", "2", "3"}) {
    const auto tokens = [&](const char* inlet) {
      return basis("neighbours", fmt::format("llama-405b-{}-{}C", seed, inlet)).tokens_per_s();
    };
    percent_per_k.push_back(10 * (1 - tokens("30") / tokens("20")));
  }
  const double slope = base::mean(percent_per_k);
  findings.add(
      basis,
      {"size.warm-air", "Throughput over the day, Llama 3 on 16,384 H100", "1 to 2 %",
       "arXiv 2407.21783",
       fmt::format("{:.2f} % a kelvin of inlet (three sets of boards: {}), Llama-3.1-405B in air: "
                   "1 to 2 % are {:.0f} to {:.0f} K",
                   slope, text(percent_per_k, "{:.2f}"), 1 / slope, 2 / slope),
       "their swing of inlet is not public; leakage under the power cap"},
      slope > 0.05 && slope < 0.2);
}

}  // namespace

void neighbour_findings(Findings& findings) {
  braked_gpu(findings);
  one_board(findings);
  lit_silicon(findings);
  warm_air(findings);
}

}  // namespace ergometer::study::charllm
