#include "analysis/operations/operation_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace ergometer::analysis {
namespace {

using run::Operation;
using run::OperationRole;
using run::OperationTimeline;

struct RunningMean {
  double sum = 0, count = 0;
  void add(double value) {
    sum += value;
    count += 1;
  }
  double mean() const { return count > 0 ? sum / count : 0; }
};

/// Operations of one kind and chunk: of a stage, of a rank, of a stage in a step.
using StageKey = std::tuple<int32_t, int32_t, int32_t>;
struct StageMeans {
  RunningMean all;
  std::map<std::pair<int32_t, int32_t>, RunningMean> ranks;
  std::map<int32_t, RunningMean> steps;
};

/// Means of all stages; operations of one rank and step often stand side by side, and are found
/// without looking.
class AllMeans {
 public:
  struct Three {
    RunningMean *all = nullptr, *rank = nullptr, *step = nullptr;
  };
  const Three& of(const Operation& o);

 private:
  std::map<StageKey, StageMeans> stages_;
  std::tuple<int32_t, int32_t, int32_t, int32_t, int32_t, int32_t> last_{-1, 0, 0, 0, 0, 0};
  Three found_;
};

StageKey stage_key(const Operation& o) { return {o.kind, o.stage, o.chunk}; }

const AllMeans::Three& AllMeans::of(const Operation& o) {
  const std::tuple key(o.kind, o.stage, o.chunk, o.replica, o.lane, o.step);
  if (key == last_) return found_;
  last_ = key;
  StageMeans& means = stages_[stage_key(o)];
  found_ = {&means.all, &means.ranks[{o.replica, o.lane}], &means.steps[o.step]};
  return found_;
}

/// One micro batch on its way through the stages.
struct BatchKey {
  int32_t step, replica, lane, chunk, micro_batch;
  auto operator<=>(const BatchKey&) const = default;
};

struct Moments {
  double xx = 0, yy = 0, xy = 0;
  RunningMean square;
  void add(const std::vector<double>& off);
};

/// What a micro batch is off by on its stages.
void Moments::add(const std::vector<double>& off) {
  double sum = 0;
  for (const double d : off) {
    sum += d;
    square.add(d * d);
  }
  if (off.size() < 2) return;
  for (const double d : off) {
    const double others = (sum - d) / static_cast<double>(off.size() - 1);
    xx += d * d;
    yy += others * others;
    xy += d * others;
  }
}

}  // namespace

std::vector<double> even_batches_us(const OperationTimeline& timeline) {
  const auto counts = [&](const Operation& o) {
    const OperationRole role = timeline.kinds[o.kind].role;
    return role == OperationRole::kForward || role == OperationRole::kBackward;
  };
  AllMeans means;
  for (const Operation& o : timeline.operations) {
    if (!counts(o)) continue;
    const AllMeans::Three& of = means.of(o);
    of.all->add(o.duration_us);
    of.rank->add(o.duration_us);
    of.step->add(o.duration_us);
  }
  std::vector<double> even_us;
  even_us.reserve(timeline.operations.size());
  for (const Operation& o : timeline.operations) {
    even_us.push_back(-1);
    if (!counts(o)) continue;
    const AllMeans::Three& of = means.of(o);
    const double all = of.all->mean();
    even_us.back() = all > 0 ? of.rank->mean() * (of.step->mean() / all) : 0;
  }
  return even_us;
}

BatchVariation batch_variation(const OperationTimeline& timeline,
                               const std::vector<double>& even_us) {
  std::vector<std::pair<BatchKey, double>> off;
  for (size_t i = 0; i < timeline.operations.size(); ++i) {
    const Operation& o = timeline.operations[i];
    if (timeline.kinds[o.kind].role != OperationRole::kForward || o.micro_batch < 0) continue;
    off.push_back({{o.step, o.replica, o.lane, o.chunk, o.micro_batch},
                   even_us[i] > 1e-6 ? o.duration_us / even_us[i] - 1 : 0});
  }
  std::ranges::stable_sort(off, [](const auto& a, const auto& b) { return a.first < b.first; });
  Moments moments;
  for (size_t begin = 0, end = 0; begin < off.size(); begin = end) {
    std::vector<double> one;
    for (end = begin; end < off.size() && off[end].first == off[begin].first; ++end)
      one.push_back(off[end].second);
    moments.add(one);
  }
  BatchVariation variation{0, std::sqrt(moments.square.mean())};
  if (moments.xx > 1e-18 && moments.yy > 1e-18)
    variation.correlation = moments.xy / std::sqrt(moments.xx) / std::sqrt(moments.yy);
  return variation;
}

}  // namespace ergometer::analysis
