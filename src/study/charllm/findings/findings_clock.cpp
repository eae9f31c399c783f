// Which clocks GPUs are held to. The study read no throttle reasons: what it calls throttling is
// the SM clock, of which its figures show the mean over the GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "study/charllm/findings/findings.h"

namespace ergometer::study::charllm {

run::Agreement of_cases(size_t agree, size_t cases) {
  if (agree == cases) return run::Agreement::kYes;
  return 2 * agree >= cases ? run::Agreement::kInPart : run::Agreement::kNo;
}

namespace {

void deep_against_tensor(Findings& findings) {
  struct Case {
    const char *gpu, *model;
    std::vector<std::string> deep;  ///< 16 stages and more
    std::string tensor;             ///< TP 8
  };
  const std::vector<Case> cases = {
      {"h200", "GPT3-175B, H200", {"gpt3-175b_4", "gpt3-175b_1"}, "gpt3-175b_3"},
      {"h100", "GPT3-175B, H100", {"gpt3-175b_1", "gpt3-175b_2"}, "gpt3-175b_3"},
      {"h200", "Llama3-70B, H200", {"llama3-70b_4"}, "llama3-70b_1"},
      {"h100", "Llama3-70B, H100", {"llama3-70b_3"}, "llama3-70b_1"}};
  Basis basis = findings.basis();
  size_t agree = 0, all = 0;
  std::string clocks;
  std::vector<double> higher;  // the clock of TP 8
  for (const Case& it : cases) {
    const Seen tensor = basis.sweep(it.gpu, it.tensor, "01000");
    clocks += fmt::format("{}{}: ", clocks.empty() ? "" : "; ", it.model);
    for (const std::string& layout : it.deep) {
      const Seen deep = basis.sweep(it.gpu, layout, "01000");
      clocks += fmt::format("{} {:.0f} ({:.0f}) MHz, ", deep.layout(), deep.clock_mhz(),
                            deep.lowest_mhz());
      higher.push_back(tensor.clock_mhz() - deep.clock_mhz());
      agree += higher.back() > 0;
      ++all;
    }
    clocks += fmt::format("{} {:.0f} ({:.0f}) MHz", tensor.layout(), tensor.clock_mhz(),
                          tensor.lowest_mhz());
  }
  findings.add(basis,
               {"sign.deep-pipelines", "Pipelines of 16 and 32 stages throttle more than TP 8",
                "PP 16 to 32 worst, TP-heavy less", kPaper, clocks,
                "mean clock (slowest GPU's); a deep stage computes without pause and the cap holds "
                "it, collectives of TP 8 keep mean power below the cap",
                Measure{median(higher), " MHz", 0, kAny}},
               of_cases(agree, all));
}

void depth(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> slowest, share, clock;
  for (const char* layout : {"gpt3-175b_3", "gpt3-175b_2", "gpt3-175b_1", "gpt3-175b_4"}) {
    const Seen seen = basis.sweep("h200", layout, "01000");
    slowest.push_back(seen.lowest_mhz());
    share.push_back(100 * seen.throttled());
    clock.push_back(seen.clock_mhz());
  }
  size_t deeper = 0;
  for (size_t i = 1; i < clock.size(); ++i) deeper += clock[i] < clock[i - 1];
  findings.add(
      basis,
      {"sign.throttling-by-depth",
       "Throttling grows with depth: GPT3-175B on H200, PP 4, 8, 16, 32", "grows", kPaper,
       fmt::format("mean clock {} MHz; slowest GPU {} MHz; {} % of time below the top clock",
                   text(clock, "{:.0f}"), text(slowest, "{:.0f}"), text(share, "{:.0f}")),
       "the slowest GPU's clock falls with every doubling; bubbles are time at the top clock, and "
       "with 32 stages they weigh as much as what the cap takes",
       Measure{clock.front() - clock.back(), " MHz", 0, kAny}},
      of_cases(deeper, clock.size() - 1));
}

void hot_gpus(Findings& findings) {
  Basis basis = findings.basis();
  const Seen seen = basis.sweep("h200", "gpt3-175b_1", "00000");
  const Seen boards = basis("boards", "gpt3-175b_1-base");
  const double front = seen.row(0, &run::SlotRow::mean_clock_mhz),
               rear = seen.row(1, &run::SlotRow::mean_clock_mhz);
  const std::string limit = seen.limit().substr(0, seen.limit().find(':'));
  findings.add(basis,
               {"sign.rear-clocks", "Hot GPUs lose clock: GPT3-175B TP2-PP16, H200",
                "clocks of hot GPUs lower", kPaper,
                fmt::format("front row {:.0f}, rear row {:.0f} MHz", front, rear),
                fmt::format("limit: {}; {}", limit,
                            limit == "temperature" ? "GPUs are held at their limit"
                                                   : "heat acts by leakage, no thermal limit is "
                                                     "reached"),
                Measure{front - rear, " MHz", 0, kAny}},
               rear < front);
  findings.add(basis,
               {"size.hot-clocks", "Clocks of hot GPUs under load: GPT3-175B TP2-PP16, H200",
                "1980 to about 1700 MHz or lower", kPaper,
                fmt::format("slowest {:.0f} MHz, {:.0f} MHz with boards that differ",
                            seen.lowest_mhz(), boards.lowest_mhz()),
                "the power cap; heat alone makes the difference between the rows",
                Measure{seen.lowest_mhz(), " MHz", 0, 1720}},
               seen.lowest_mhz() < 1780 && boards.lowest_mhz() > 1550);
}

void overlap(Findings& findings) {
  Basis basis = findings.basis();
  std::vector<double> hotter_c, slower_mhz;
  for (const std::string gpu : {"h200", "h100"})
    for (const std::string& layout : layouts_of(gpu))
      for (const auto& [off, on] : {std::pair{"00000", "10000"}, {"01000", "11000"}}) {
        const Seen before = basis.sweep(gpu, layout, off), after = basis.sweep(gpu, layout, on);
        if (after.step_s() == before.step_s()) continue;  // the flags do nothing there
        hotter_c.push_back(after.max_c() - before.max_c());
        slower_mhz.push_back(before.clock_mhz() - after.clock_mhz());
      }
  const auto count = [](const std::vector<double>& values, auto&& is) {
    return static_cast<size_t>(std::count_if(values.begin(), values.end(), is));
  };
  constexpr double kVisibleC = 0.05, kVisibleMhz = 0.5;
  const size_t hotter = count(hotter_c, [](double c) { return c > kVisibleC; });
  const size_t cooler = count(hotter_c, [](double c) { return c < -kVisibleC; });
  const size_t slower = count(slower_mhz, [](double mhz) { return mhz > kVisibleMhz; });
  const size_t faster = count(slower_mhz, [](double mhz) { return mhz < -kVisibleMhz; });
  findings.add(basis,
               {"sign.overlap-clocks", "Overlap raises throttling", "consistently", kPaper,
                fmt::format("of {} pairs the mean clock is lower in {}, higher in {}, the same in "
                            "{}; mean {:+.0f} MHz",
                            slower_mhz.size(), slower, faster, slower_mhz.size() - slower - faster,
                            -base::mean(slower_mhz)),
                "communication that no longer interrupts compute leaves the cap less idle time to "
                "average over; no change where the network holds the Mixtrals up",
                Measure{base::mean(slower_mhz), " MHz", 0, kAny}},
               slower > 4 * faster && faster < slower_mhz.size() / 10 ? run::Agreement::kYes
                                                                      : run::Agreement::kInPart);
  findings.add(basis,
               {"sign.overlap-heat", "Overlap raises peak temperature", "consistently", kPaper,
                fmt::format("of {} pairs {} hotter (by up to {:.1f} C), {} cooler (by up to {:.1f} "
                            "C), {} the same; mean {:+.2f} C",
                            hotter_c.size(), hotter, most(hotter_c), cooler, -least(hotter_c),
                            hotter_c.size() - hotter - cooler, base::mean(hotter_c)),
                "heat follows mean power, which the cap already holds in deep pipelines and the "
                "network in the Mixtrals: visible with TP 4 and 8",
                Measure{base::mean(hotter_c), " C", 0, kAny}},
               cooler == 0 && 2 * hotter > hotter_c.size() ? run::Agreement::kYes
               : base::mean(hotter_c) > 0                  ? run::Agreement::kInPart
                                                           : run::Agreement::kNo);
}

void recomputation(Findings& findings, const std::string& id, const std::string& title,
                   const std::vector<std::pair<std::string, std::string>>& layouts, bool raises,
                   const std::string& why) {
  Basis basis = findings.basis();
  std::vector<double> share[2], lowest[2], mean_mhz[2];
  for (const auto& [gpu, layout] : layouts)
    for (const int on : {0, 1}) {
      const Seen seen = basis.sweep(gpu, layout, on == 0 ? "00000" : "01000");
      share[on].push_back(100 * seen.throttled());
      lowest[on].push_back(seen.lowest_mhz());
      mean_mhz[on].push_back(seen.clock_mhz());
    }
  constexpr double kVisibleMhz = 0.5;
  std::vector<double> lost;
  size_t agree = 0;
  for (size_t i = 0; i < layouts.size(); ++i) {
    lost.push_back(mean_mhz[0][i] - mean_mhz[1][i]);
    agree += (raises ? lost.back() : -lost.back()) > kVisibleMhz;
  }
  findings.add(
      basis,
      {id, title, raises ? "higher" : "lower", kPaper,
       fmt::format("slowest GPU {} to {} MHz; mean clock {} to {} MHz; time below the top clock {} "
                   "to {} %",
                   text(lowest[0], "{:.0f}"), text(lowest[1], "{:.0f}"),
                   text(mean_mhz[0], "{:.0f}"), text(mean_mhz[1], "{:.0f}"),
                   text(share[0], "{:.0f}"), text(share[1], "{:.0f}")),
       why, Measure{base::mean(lost), " MHz", raises ? 0 : -kAny, raises ? kAny : 0}},
      of_cases(agree, layouts.size()));
}

void locks(Findings& findings) {
  Basis basis = findings.basis();
  const Seen free = basis("boards", "gpt3-175b_1"), held = basis("locks", "gpt3-175b_1-1700");
  const double time = change(free.step_s(), held.step_s());
  const double energy =
      change(free.at("power.gpu_energy_j_per_step"), held.at("power.gpu_energy_j_per_step"));
  findings.add(basis,
               {"size.clock-lock", "A lower clock saves energy at little time under the cap",
                "up to 30 % without slowdown, by stage", "Perseus, arXiv 2312.06902",
                fmt::format("one lock of 1700 MHz, GPT3-175B TP2-PP16, boards that differ: GPU "
                            "energy {:+.1f} %, time {:+.1f} %",
                            energy, time),
                "GPUs faster than the slowest only wait; locks by stage would save more",
                Measure{-energy, " %", 3, 30}},
               energy < -3 && time < 2 && -energy > 3 * time);
}

}  // namespace

void clock_findings(Findings& findings) {
  deep_against_tensor(findings);
  depth(findings);
  hot_gpus(findings);
  overlap(findings);
  recomputation(
      findings, "sign.recompute-gpt3",
      "Recomputation lowers throttling in deep GPT3-175B pipelines",
      {{"h200", "gpt3-175b_1"},
       {"h200", "gpt3-175b_4"},
       {"h100", "gpt3-175b_1"},
       {"h100", "gpt3-175b_2"}},
      false,
      "the slowest GPU gains clock in all of them: forward passes draw less than backward "
      "ones, which add to FP32 gradients in HBM; but the share of busy time grows, and "
      "with it the time at the cap");
  recomputation(findings, "sign.recompute-llama3",
                "Recomputation raises throttling in data-parallel Llama3-70B",
                {{"h200", "llama3-70b_1"},
                 {"h200", "llama3-70b_2"},
                 {"h200", "llama3-70b_3"},
                 {"h200", "llama3-70b_4"}},
                true, "longer with 4 to 16 stages, but less deep, for the same reason");
  locks(findings);
}

}  // namespace ergometer::study::charllm
