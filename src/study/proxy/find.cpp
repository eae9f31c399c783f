#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "study/proxy/candidates.h"
#include "study/proxy/measures.h"
#include "study/proxy/proxy.h"

namespace ergometer::study::proxy {
namespace {

using base::input_error;
using base::Result;

constexpr size_t kPlayed = 6;

Result<spec::Job> training_job(const spec::Settings& settings) {
  ERGOMETER_ASSIGN(spec::Job job, spec::resolve(settings));
  if (!job.trains()) return input_error("proxy: the job answers requests; a proxy trains");
  job.conditions.run = {};
  return job;
}

Result<void> check_gpus(const spec::Job& job, int64_t gpus) {
  const int64_t least = job.parallelism.tp * job.parallelism.cp;
  if (gpus >= job.gpus)
    return input_error(
        fmt::format("--gpus: found {}; allowed: fewer than the large job's {}", gpus, job.gpus));
  if (gpus % least != 0)
    return input_error(fmt::format(
        "--gpus: found {}; allowed: multiples of {}, for tp {} x cp {} of the large job is kept",
        gpus, least, job.parallelism.tp, job.parallelism.cp));
  const int64_t node = job.cluster.node.gpus;
  if (gpus > node && gpus % node != 0)
    return input_error(fmt::format(
        "--gpus: found {}; allowed: whole nodes of {} GPUs, or a part of one", gpus, node));
  return {};
}

/// A candidate with its distance to the large job.
struct Judged {
  const Candidate* candidate = nullptr;
  double distance = 0;
  Side side;
  bool fits = false;
};

std::vector<Judged> judged(const Side& large, const std::vector<const Candidate*>& all,
                           bool constant_clocks, size_t threads) {
  std::vector<Judged> results(all.size());
  base::parallel_for(all.size(), threads, [&](size_t i) {
    auto side = measured(all[i]->job, constant_clocks);
    if (!side) return;
    const double distance = distance_of(rows_of(large, *side));
    const bool fits = side->run.memory.fits;
    results[i] = {all[i], distance, *std::move(side), fits};
  });
  std::erase_if(results, [](const Judged& each) { return !each.fits; });
  std::stable_sort(results.begin(), results.end(),
                   [](const Judged& a, const Judged& b) { return a.distance < b.distance; });
  return results;
}

std::vector<const Candidate*> pointers(const std::vector<Candidate>& all) {
  std::vector<const Candidate*> result;
  for (const Candidate& each : all) result.push_back(&each);
  return result;
}

std::vector<const Candidate*> best_of(const std::vector<Judged>& all) {
  std::vector<const Candidate*> result;
  for (size_t i = 0; i < std::min(kPlayed, all.size()); ++i) result.push_back(all[i].candidate);
  return result;
}

Proxy beside(Side large, Side small, spec::Settings settings) {
  Proxy proxy{.large = std::move(large),
              .small = std::move(small),
              .settings = {},
              .rows = {},
              .notes = {}};
  proxy.settings = std::move(settings);
  proxy.rows = rows_of(proxy.large, proxy.small);
  proxy.distance = distance_of(proxy.rows);
  return proxy;
}

/// The nearest at one width; nothing where none fits.
Result<std::optional<Proxy>> nearest(const spec::Settings& settings, const spec::Job& job,
                                     int64_t gpus, int eighths, size_t threads) {
  const std::vector<Candidate> all = candidates(settings, job, gpus, eighths);
  if (all.empty()) return std::optional<Proxy>();
  ERGOMETER_ASSIGN(const Side estimate, measured(job, true));
  const std::vector<Judged> estimated = judged(estimate, pointers(all), true, threads);
  if (estimated.empty()) return std::optional<Proxy>();
  ERGOMETER_ASSIGN(Side large, measured(job, false));
  std::vector<Judged> played = judged(large, best_of(estimated), false, threads);
  if (played.empty()) return std::optional<Proxy>();
  Judged& best = played.front();
  Proxy proxy = beside(std::move(large), std::move(best.side), best.candidate->settings);
  proxy.estimated = all.size();
  proxy.played = played.size();
  proxy.notes = left_out(settings, job);
  return std::optional<Proxy>(std::move(proxy));
}

}  // namespace

Result<Proxy> judge(const spec::Settings& large, const spec::Settings& small) {
  ERGOMETER_ASSIGN(const spec::Job large_job, training_job(large));
  ERGOMETER_ASSIGN(const spec::Job small_job, training_job(small));
  ERGOMETER_ASSIGN(Side large_side, measured(large_job, false));
  ERGOMETER_ASSIGN(Side small_side, measured(small_job, false));
  return beside(std::move(large_side), std::move(small_side), small);
}

Result<Proxy> find(const spec::Settings& large, int64_t gpus, size_t threads) {
  ERGOMETER_ASSIGN(const spec::Job job, training_job(large));
  ERGOMETER_TRY(check_gpus(job, gpus));
  for (int eighths = kWholeWidth; eighths >= 1; --eighths) {
    ERGOMETER_ASSIGN(std::optional<Proxy> found, nearest(large, job, gpus, eighths, threads));
    if (found) return *std::move(found);
  }
  return input_error(fmt::format(
      "proxy: no smaller job of this kind fits in the memory of {} GPUs with tp {} and cp {}", gpus,
      job.parallelism.tp, job.parallelism.cp));
}

}  // namespace ergometer::study::proxy
