// What the paper left open, answered by counterfactual jobs.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "study/charllm/attribution.h"
#include "study/charllm/findings/findings.h"
#include "study/charllm/open.h"
#include "study/charllm/points.h"

namespace ergometer::study::charllm {

namespace {
constexpr int kMostGbps = kNicGbps[std::size(kNicGbps) - 1];
}  // namespace

Saturation saturation(Basis& basis, const NicJob& job) {
  Saturation result;
  const auto at = [&](int gbps) { return basis("nic", fmt::format("{} {}", job.id, gbps)); };
  const double best = at(kMostGbps).tokens_per_s();
  for (const int gbps : kNicGbps) {
    const Seen seen = at(gbps);
    result.share_of_best.push_back(seen.tokens_per_s() / best);
    result.nic_use.push_back(seen.at("links.nic.utilization"));
    result.nvlink_use.push_back(seen.at("links.nvlink.utilization"));
    if (result.knee_gbps == 0 && result.share_of_best.back() >= kKneeShare) result.knee_gbps = gbps;
  }
  return result;
}

Waits waits(Basis& basis, const std::string& layout) {
  const Seen nominal = basis.sweep("h200", layout, "01000");
  const Seen boards = basis("boards", layout), free = basis("free-network", layout);
  return {nominal.step_s(), (boards.step_s() - nominal.step_s()) / nominal.step_s(),
          (nominal.step_s() - free.step_s()) / nominal.step_s()};
}

std::vector<double> split_gains(Basis& basis, const std::string& name) {
  std::vector<double> gains;
  for (const int percent : kSpeeds) {
    const auto at = [&](const char* which) {
      return percent == 100 ? basis("stages", name + which)
                            : basis("slow-hot", fmt::format("{}{}-{}", name, which, percent));
    };
    gains.push_back(change(at("-even").tokens_per_s(), at("-uneven").tokens_per_s()));
  }
  return gains;
}

double slowness_for(const std::vector<double>& gains, double level) {
  for (size_t i = 1; i < gains.size(); ++i)
    if (gains[i - 1] < level && gains[i] >= level) {
      const double part = (level - gains[i - 1]) / (gains[i] - gains[i - 1]);
      return 100 - (kSpeeds[i - 1] + part * (kSpeeds[i] - kSpeeds[i - 1]));
    }
  return std::nan("");
}

namespace {

constexpr const char* kAsked = "asked of the paper, not answered";
constexpr const char* kReviews = "peer reviews";

void fabric(Findings& findings) {
  Basis basis = findings.basis();
  std::string said;
  for (const NicJob& job : nic_jobs()) {
    const Saturation s = saturation(basis, job);
    const std::string knee =
        s.knee_gbps == kMostGbps     ? fmt::format("still gains at {} Gb/s", kMostGbps)
        : s.knee_gbps == kNicGbps[0] ? fmt::format("no knee down to {} Gb/s", kNicGbps[0])
                                     : fmt::format("knee at {} Gb/s a node", s.knee_gbps);
    said += fmt::format("{}{}: ports {:.0f} %, NVLink {:.1f} % used at 100 Gb/s, {}",
                        said.empty() ? "" : "; ", job.id, 100 * s.nic_use[1], 100 * s.nvlink_use[1],
                        knee);
  }
  findings.add(
      basis,
      {"open.fabric", "Which fabric saturates, and where is the knee?", kAsked, kReviews, said,
       fmt::format(
           "the knee is the least rate with {:.0f} % of the tokens per second of 1600 Gb/s. Only "
           "the port between nodes saturates, in FSDP and wherever experts span nodes; pipelines "
           "with TP in the node are near their knee at 100 Gb/s, and NVLink is never the limit",
           100 * kKneeShare)},
      true);
}

void micro_batch_knee(Findings& findings) {
  Basis basis = findings.basis();
  std::string said;
  for (const char* row : {"gpt3-175b_5", "llama3-70b_5"}) {
    std::vector<double> tokens, use;
    for (const char* mbs : {"_mbs1", "_mbs2", "_mbs4", "_mbs8"}) {
      const Seen seen = basis("microbatch-sweep-h200-fsdp", std::string(row) + mbs);
      tokens.push_back(seen.tokens_per_s());
      use.push_back(100 * seen.at("links.nic.utilization"));
    }
    said += fmt::format("{}{} TP8-FSDP, micro batch 1, 2, 4, 8: {} tokens/s, ports {} % used",
                        said.empty() ? "" : "; ", model_of(row), text(tokens, "{:.0f}"),
                        text(use, "{:.0f}"));
  }
  findings.add(
      basis,
      {"open.micro-batch", "What saturates as the micro batch grows?", kAsked, kReviews, said,
       "FSDP gathers all parameters for every micro batch: half as many micro batches, "
       "half the bytes. Throughput follows as long as the port is full, here up to 8; with "
       "pipelines the bubble bends it instead, and no link does"},
      true);
}

void stragglers(Findings& findings) {
  Basis basis = findings.basis();
  std::string said;
  std::vector<double> by_boards, by_network;
  for (const std::string& layout : layouts_of("h200")) {
    const Waits w = waits(basis, layout);
    by_boards.push_back(100 * w.stragglers);
    by_network.push_back(100 * w.network);
    said += fmt::format("{}{} {} {:.1f} and {:.1f} %", said.empty() ? "" : ", ", model_of(layout),
                        basis.sweep("h200", layout, "01000").layout(), by_boards.back(),
                        by_network.back());
  }
  findings.add(
      basis,
      {"open.stragglers", "Stragglers or congestion?", kAsked, kReviews,
       fmt::format("step time by boards that differ, and by the network between nodes: {}", said),
       "the first is a step with one draw of unequal boards less one with equal boards, "
       "the second a step less one with a network of which only latency is left. "
       "Stragglers cost a few per cent where GPUs compute without pause, nothing where "
       "they wait for the network; sharing of one port by eight GPUs is the congestion"},
      true);
}

std::string percent(double log_factor) {
  return fmt::format("{:+.1f} %", 100 * (std::exp(log_factor) - 1));
}

void h200(Findings& findings, const Pair& pair) {
  Basis basis = findings.basis();
  const Attribution speed = attribute(basis, pair, "performance.tokens_per_s_per_gpu");
  const Attribution frugal = attribute(basis, pair, "power.tokens_per_j");
  const auto said = [](const Attribution& a) {
    std::string list;
    for (const Attribution::Part& part : a.parts)
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", part.name, percent(part.log_factor));
    return percent(a.log_whole) + ": " + list;
  };
  findings.add(
      basis,
      {fmt::format("open.h200-{}", pair.name),
       fmt::format("What of H200's advantage is memory, network, NVLink, clocks: {}, {} against {}",
                   pair.model, basis("h200-" + std::string(pair.name), "h200-real").layout(),
                   basis("h200-" + std::string(pair.name), "h100-real").layout()),
       kAsked, kReviews,
       fmt::format(
           "tokens/s a GPU {}; tokens/J {}; with half the NVLink in both the advantage were {}",
           said(speed), said(frugal), percent(speed.log_whole_half_nvlink)),
       "factors multiply to the whole (Shapley values of sixteen counterfactual jobs). Layout and "
       "recomputation are what the larger memory buys; the network's part is what fewer nodes save "
       "between them; NVLink is the same in both and gives nothing"},
      true);
}

std::string slowness_text(const std::vector<double>& gains, double level) {
  const double percent = slowness_for(gains, level);
  return std::isnan(percent) ? fmt::format("more than {} %", 100 - kSpeeds[std::size(kSpeeds) - 1])
                             : fmt::format("{:.1f} %", percent);
}

void splits(Findings& findings) {
  Basis basis = findings.basis();
  const std::vector<double> gpt = split_gains(basis, "gpt3"), llama = split_gains(basis, "llama3");
  const Seen even = basis("stages", "llama3-even"), head = basis("stages", "llama3-head");
  std::vector<double> slower;
  for (const int speed : kSpeeds) slower.push_back(100 - speed);
  findings.add(
      basis,
      {"open.splits", "Why did uneven stages gain 4 % on Llama-3 and lose 7 % on GPT-3?", kAsked,
       kReviews,
       fmt::format("were the hot GPUs {} % slower, 21/19 gave Llama3-70B {} %, 13/11 GPT3-175B {} "
                   "%; break-even at {} and {}; +4 % needs {}, -7 % none",
                   text(slower, "{:.0f}"), text(llama, "{:+.1f}"), text(gpt, "{:+.1f}"),
                   slowness_text(llama, 0), slowness_text(gpt, 0), slowness_text(llama, 4)),
       fmt::format(
           "a split pays when the hot GPUs are slower by more than the layers it takes from them: "
           "21/19 moves 10 %, 13/11 moves 18 %. GPUs that heat slows by an amount between the two "
           "break-evens gain from the first and lose by the second, which are the signs that were "
           "seen. Predicted is less than either, because power and not heat limits, and all rows "
           "share that; so both lose here. In Llama-3 the head makes the last stage the slowest: "
           "21, 20, 20, 19 moves a layer for {:+.1f} %",
           change(even.tokens_per_s(), head.tokens_per_s()))},
      true);
}

}  // namespace

void open_findings(Findings& findings) {
  fabric(findings);
  micro_batch_knee(findings);
  stragglers(findings);
  for (const Pair& pair : pairs()) h200(findings, pair);
  splits(findings);
}

}  // namespace ergometer::study::charllm
