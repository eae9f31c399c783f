
#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/parallel.h"
#include "spec/job/job_words.h"
#include "spec/job/node_groups.h"
#include "study/proxy/candidates.h"
#include "study/proxy/measures.h"
#include "study/proxy/proxy.h"

namespace ergometer::study::proxy {
namespace {

constexpr size_t kRefined = 2, kPlayed = 4;

Result<spec::Job> training_job(const spec::Settings& settings) {
  ERGOMETER_ASSIGN(spec::Job job, spec::resolve(settings));
  if (const auto alike = spec::refuse_groups(job.cluster, "proxy"); !alike)
    return input_error(
        "{}: what a small job keeps of a large one are shares of GPUs that are alike; make a proxy "
        "of each kind's stages, with their layers",
        alike.error().message);
  if (!job.trains())
    return input_error("proxy: mode: found {}; allowed: pretrain, lora",
                       spec::to_word(job.training.mode));
  if (job.model.vision != nullptr)
    return input_error(
        "proxy: model: found {}, which has a vision tower; allowed: models of text alone",
        job.model.name);
  job.conditions.run = {};
  return job;
}

Result<void> check_gpus(const spec::Job& job, int64_t gpus) {
  const int64_t least = job.parallelism.tp * job.parallelism.cp;
  if (gpus > job.gpus)
    return input_error("--gpus: found {}; allowed: at most the large job's {}", gpus, job.gpus);
  if (gpus % least != 0)
    return input_error(
        "--gpus: found {}; allowed: multiples of {}, for tp {} x cp {} of the large job is kept",
        gpus, least, job.parallelism.tp, job.parallelism.cp);
  const int64_t node = job.cluster.node.gpus;
  if (gpus > node && gpus % node != 0)
    return input_error("--gpus: found {}; allowed: whole nodes of {} GPUs, or a part of one", gpus,
                       node);
  return {};
}

/// A candidate with its distance to the large job.
struct Judged {
  Candidate candidate;
  Side side;
  size_t lost = 0;
  double distance = 0;

  bool operator<(const Judged& other) const {
    return std::tie(lost, distance) < std::tie(other.lost, other.distance);
  }
};

/// Those that run and fit, nearest first.
std::vector<Judged> judged(const Side& large, const std::vector<Candidate>& all,
                           bool constant_clocks, size_t threads) {
  std::vector<std::optional<Judged>> results(all.size());
  base::parallel_for(all.size(), threads, [&](size_t i) {
    auto side = measured(all[i].job, constant_clocks);
    if (!side || !side->run.memory.fits) return;
    const std::vector<Row> rows = rows_of(large, *side);
    results[i] = Judged{all[i], *std::move(side), lost_shares(rows), distance_of(rows)};
  });
  std::vector<Judged> good;
  for (auto& each : results)
    if (each) good.push_back(*std::move(each));
  std::stable_sort(good.begin(), good.end());
  return good;
}

/// The search for one large job on so many GPUs.
class Search {
 public:
  Search(const spec::Settings& settings, const spec::Job& job, int64_t gpus, size_t threads)
      : settings_(settings), job_(job), gpus_(gpus), threads_(threads) {}

  /// Estimates those of the shapes that are new; the nearest first of all so far.
  void estimate(const Side& large, const std::set<Shape>& shapes) {
    std::vector<Candidate> fresh;
    for (const Shape& shape : shapes)
      if (seen_.insert(shape).second)
        if (auto one = candidate(settings_, job_, gpus_, shape)) fresh.push_back(*std::move(one));
    estimated += fresh.size();
    for (Judged& each : judged(large, fresh, true, threads_)) best.push_back(std::move(each));
    std::stable_sort(best.begin(), best.end());
  }

  std::vector<Judged> best;
  size_t estimated = 0;

 private:
  const spec::Settings& settings_;
  const spec::Job& job_;
  int64_t gpus_;
  size_t threads_;
  std::set<Shape> seen_;
};

/// The sizes around which finer steps are worth it: of the best, and of the nearest.
std::vector<Shape> promising(const std::vector<Judged>& all) {
  std::vector<const Judged*> near;
  for (const Judged& each : all) near.push_back(&each);
  std::stable_sort(near.begin(), near.end(),
                   [](const Judged* a, const Judged* b) { return a->distance < b->distance; });
  std::vector<Shape> shapes;
  for (size_t i = 0; i < std::min(kRefined, all.size()); ++i) {
    shapes.push_back(all[i].candidate.shape);
    shapes.push_back(near[i]->candidate.shape);
  }
  return shapes;
}

std::vector<Candidate> first(const std::vector<Judged>& all, size_t count) {
  std::vector<Candidate> result;
  for (size_t i = 0; i < std::min(count, all.size()); ++i) result.push_back(all[i].candidate);
  return result;
}

Proxy beside(Side large, Side small, spec::Settings settings) {
  Proxy proxy;
  proxy.large = std::move(large);
  proxy.small = std::move(small);
  proxy.settings = std::move(settings);
  proxy.rows = rows_of(proxy.large, proxy.small);
  proxy.distance = distance_of(proxy.rows);
  return proxy;
}

/// The nearest; nothing where no job fits at this width.
Result<std::optional<Proxy>> nearest(const spec::Settings& settings, const spec::Job& job,
                                     int64_t gpus, int eighths, size_t threads) {
  ERGOMETER_ASSIGN(const Side estimate, measured(job, true));
  Search search(settings, job, gpus, threads);
  search.estimate(estimate, shapes(job, gpus, eighths, false));
  if (search.best.empty()) search.estimate(estimate, shapes(job, gpus, eighths, true));
  for (const Shape& each : promising(search.best))
    search.estimate(estimate, shapes_around(job, each));
  if (search.best.empty()) return std::optional<Proxy>();
  ERGOMETER_ASSIGN(Side large, measured(job, false));
  std::vector<Judged> played = judged(large, first(search.best, kPlayed), false, threads);
  if (played.empty()) return std::optional<Proxy>();
  Proxy proxy =
      beside(std::move(large), std::move(played.front().side), played.front().candidate.settings);
  proxy.estimated = search.estimated;
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
  return input_error(
      "proxy: no smaller job of this kind fits in the memory of {} GPUs with tp {} and cp {}", gpus,
      job.parallelism.tp, job.parallelism.cp);
}

}  // namespace ergometer::study::proxy
