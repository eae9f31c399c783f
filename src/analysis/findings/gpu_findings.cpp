#include "analysis/findings/gpu_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/findings/job_findings.h"
#include "analysis/telemetry/gpu_names.h"
#include "analysis/telemetry/moment.h"
#include "analysis/telemetry/throttling.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

/// GPUs by host: "node-1 8, node-2 8"; of many hosts the first, and how many more there are.
std::string by_host(const std::vector<std::string>& hosts) {
  constexpr size_t kHostsNamed = 12;
  std::vector<std::pair<std::string, size_t>> counts;
  for (const std::string& host : hosts) {
    const auto at =
        std::ranges::find_if(counts, [&](const auto& count) { return count.first == host; });
    if (at == counts.end())
      counts.emplace_back(host, 1);
    else
      ++at->second;
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(counts.size(), kHostsNamed); ++i)
    parts.push_back(fmt::format("{} {}", counts[i].first, counts[i].second));
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (counts.size() > kHostsNamed)
    text += fmt::format(" and {} more hosts", counts.size() - kHostsNamed);
  return text;
}

constexpr size_t kGpusNamed = 8;

std::string throttled_gpu(const HeatCost& cost) {
  return fmt::format("{} for {} of the time ({:.0f} MHz instead of {:.0f})", cost.gpu,
                     base::format_percent(cost.throttled_fraction), cost.throttled_clock_mhz,
                     cost.free_clock_mhz);
}

/// All GPUs that one reason holds, what loses most first.
Finding throttling(const std::vector<const HeatCost*>& gpus, double recorded_s) {
  const HeatCost& worst = *gpus.front();
  Finding f = priced("throttling", worst.lost_fraction * recorded_s, recorded_s);
  f.what = fmt::format("{} throttled by {}",
                       gpus.size() == 1 ? "One GPU is" : fmt::format("{} GPUs are", gpus.size()),
                       worst.reason);
  std::vector<std::string> parts, hosts;
  for (const HeatCost* gpu : gpus) {
    hosts.push_back(gpu->host_label);
    if (parts.size() < kGpusNamed) parts.push_back(throttled_gpu(*gpu));
  }
  if (gpus.size() > kGpusNamed) {
    const bool any_host =
        std::ranges::any_of(hosts, [](const auto& host) { return !host.empty(); });
    if (any_host) f.what += fmt::format(" ({})", by_host(hosts));
    f.what += ". Those that lose most";
    parts.push_back(
        fmt::format("and {} more (all of them: --json, throttling)", gpus.size() - kGpusNamed));
  }
  f.what += fmt::format(
      ": {}. A step that waits for {} takes up to {} longer.", fmt::join(parts, ", "),
      gpus.size() == 1 ? "it" : "the slowest",
      base::format_percent(worst.lost_fraction / std::max(1e-9, 1 - worst.lost_fraction)));
  const ReasonAdvice& advice = advice_for(worst.reason);
  f.try_next = advice.try_next;
  f.check = advice.check;
  f.confidence = "an upper bound: work that follows the clock";
  if (worst.free_clock_is_peers || worst.free_clock_is_capped)
    f.confidence += fmt::format("; the clock instead is {}{}",
                                worst.free_clock_is_peers ? "the fastest peer's" : "its own",
                                worst.free_clock_is_capped ? ", held by the power cap alone" : "");
  return f;
}

void add_throttling(const JobReport& report, std::vector<Finding>& findings) {
  std::map<std::string, std::vector<const HeatCost*>> reasons;
  for (const HeatCost& cost : report.heat) reasons[cost.reason].push_back(&cost);
  for (const auto& [reason, gpus] : reasons)
    findings.push_back(throttling(gpus, report.recorded_s));
}

/// Where one GPU differs from its peers: all that differs.
using GpuDeviation = std::vector<const PeerDeviation*>;

std::string deviation_text(const GpuDeviation& of_gpu) {
  std::vector<std::string> parts;
  for (const PeerDeviation* d : of_gpu)
    parts.push_back(
        fmt::format("{} {:.4g} beside their {:.4g}{}", d->what, d->own, d->peers,
                    d->kind == PeerDeviation::Kind::kDrift
                        ? fmt::format(" ({:+.4g} since {})", d->moved, format_moment(d->time_ns))
                        : ""));
  return fmt::format("{}", fmt::join(parts, ", "));
}

double lost_by_clock(const GpuDeviation& of_gpu) {
  double lost = 0;
  for (const PeerDeviation* d : of_gpu)
    if (d->what == "sm_clock" && d->peers > 0) lost = std::max(0.0, 1 - d->own / d->peers);
  return lost;
}

/// What else explains it: less work makes a GPU cooler, slower and thriftier, never hotter; more
/// work the hotter and thirstier.
std::string explained_too(const GpuDeviation& of_gpu) {
  bool less = true, more = true;
  for (const PeerDeviation* d : of_gpu) {
    const double way = d->kind == PeerDeviation::Kind::kDrift ? d->moved : d->own - d->peers;
    less = less && way < 0;
    more = more && way > 0;
  }
  const bool draws = std::ranges::any_of(
      of_gpu, [](const PeerDeviation* d) { return d->what.find("power") != std::string::npos; });
  return less ? "; less work explains it too" : more && draws ? "; more work explains it too" : "";
}

Finding deviation(double lost, const GpuDeviation& told, PeerDeviation::Kind kind,
                  const JobReport& report) {
  const bool drift = kind == PeerDeviation::Kind::kDrift;
  Finding f =
      priced(drift ? "gpu_drifts" : "gpu_deviates", lost * report.recorded_s, report.recorded_s);
  f.try_next =
      "its cooling, power limit and links; exchange its rank with another's and look again.";
  f.check = "ergometer analyze TELEMETRY --json: anomalies.deviations";
  f.confidence = "a robust comparison with the GPUs of the same name" + explained_too(told);
  return f;
}

/// One finding a GPU; of more than kGpusNamed one for all.
void add_deviations_of(PeerDeviation::Kind kind, const std::vector<GpuDeviation>& gpus,
                       const JobReport& report, std::vector<Finding>& findings) {
  const bool drift = kind == PeerDeviation::Kind::kDrift;
  double lost = 0;
  GpuDeviation all;
  std::vector<std::string> hosts;
  for (const GpuDeviation& of_gpu : gpus) {
    all.insert(all.end(), of_gpu.begin(), of_gpu.end());
    lost = std::max(lost, lost_by_clock(of_gpu));
    hosts.push_back(of_gpu.front()->host_label);
    if (gpus.size() > kGpusNamed) continue;
    findings.push_back(deviation(lost_by_clock(of_gpu), of_gpu, kind, report));
    findings.back().what =
        fmt::format("{} {} its peers: {}.", begin_sentence(of_gpu.front()->gpu),
                    drift ? "moves away from" : "differs from", deviation_text(of_gpu));
  }
  if (gpus.size() <= kGpusNamed) return;
  Finding f = deviation(lost, all, kind, report);
  std::vector<std::string> parts;
  for (size_t i = 0; i < kGpusNamed; ++i)
    parts.push_back(fmt::format("{}: {}", gpus[i].front()->gpu, deviation_text(gpus[i])));
  f.what = fmt::format(
      "{} GPUs {} their peers ({}): {}; and {} more (all of them: --json, anomalies.deviations).",
      gpus.size(), drift ? "move away from" : "differ from", by_host(hosts), fmt::join(parts, "; "),
      gpus.size() - kGpusNamed);
  findings.push_back(f);
}

/// Told of already, with its reason: but not that it became hot.
bool told_by_throttling(const JobReport& report, const PeerDeviation& deviation) {
  const bool hotter = deviation.kind == PeerDeviation::Kind::kDrift && deviation.moved > 0 &&
                      deviation.what.ends_with("temperature");
  return !hotter && std::ranges::any_of(report.heat, [&](const HeatCost& cost) {
    return cost.rank == deviation.rank && cost.host == deviation.host &&
           cost.lost_fraction >= kWorthTelling;
  });
}

void add_deviations(const JobReport& report, std::vector<Finding>& findings) {
  for (const auto kind : {PeerDeviation::Kind::kOutlier, PeerDeviation::Kind::kDrift}) {
    std::map<std::pair<std::string, int64_t>, size_t> known;
    std::vector<GpuDeviation> gpus;
    for (const PeerDeviation& d : report.anomalies.deviations) {
      if (d.kind != kind || told_by_throttling(report, d)) continue;
      const auto [at, is_new] = known.emplace(std::pair(d.host, d.rank), gpus.size());
      if (is_new) gpus.emplace_back();
      gpus[at->second].push_back(&d);
    }
    if (!gpus.empty()) add_deviations_of(kind, gpus, report, findings);
  }
}

}  // namespace

void add_gpu_findings(const JobReport& report, std::vector<Finding>& findings) {
  add_throttling(report, findings);
  add_deviations(report, findings);
}

/// Ranks that come last, by NCCL's own timings of every rank.
void add_late_ranks(const CollectiveTimings& timings, std::vector<Finding>& findings) {
  for (const CommunicatorRank& rank : timings.ranks) {
    if (!rank.late) continue;
    Finding f = priced("late_rank", rank.others_waited_s, rank.all_time_s);
    f.what = fmt::format(
        "Rank {}{} of communicator {} comes last in {} of {} collectives that ranks join apart; "
        "the others wait {} for it in all, {} of their time in collectives.",
        rank.rank, rank.host.empty() ? "" : " (" + rank.host + ")", rank.communicator, rank.last,
        rank.apart, base::format_seconds(rank.others_waited_s), base::format_percent(f.fraction));
    f.try_next =
        "what that rank does before its collectives: clock and temperature of its GPU, more work "
        "than the others', its data loader; links are not the cause of time before it arrives.";
    f.check = "ergometer analyze TRACES TELEMETRY of the same time, of this rank and another";
    f.confidence = "kernel times of the same collective on several ranks, which end together";
    findings.push_back(std::move(f));
  }
}

}  // namespace ergometer::analysis
