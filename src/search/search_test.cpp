#include "search/search.h"

#include <algorithm>
#include <cmath>

#include "engine/prepared.h"
#include "plan/memory.h"
#include "search/random_candidates.h"
#include "search/test_space.h"

namespace ergometer::search {
namespace {

/// Estimates against the engine over random jobs that fit. `bench/search_error` does the same for
/// many more.
TEST(Search, EstimatesAreNearTheEngineAndMemoryIsThePlans) {
  Draws draws(11);
  std::vector<double> errors;
  int memories = 0;
  while (errors.size() < 120) {
    const spec::Settings settings = random_settings(draws);
    const auto space = Space::make(settings, {});
    if (!space || space->bases().front().megatron.gpus > 64) continue;
    const std::vector<Layout> layouts = all_layouts(*space);
    LegalityCheck legal(*space);
    Estimator estimator(*space);
    for (int i = 0; i < 30; ++i) {
      const auto candidate = random_candidate(*space, layouts, legal, draws);
      if (!candidate) continue;
      const auto estimate = estimator.estimate(*candidate);
      ASSERT_TRUE(estimate.has_value());
      const spec::Job job = space->job(*candidate);
      const workload::Workload workload = workload::lower(job);
      const auto memory = plan::memory(job, workload, plan::divide(job, workload));
      EXPECT_NEAR(estimate->memory_bytes / memory.worst().total(), 1, 1e-12);
      EXPECT_EQ(estimator.fits(0, candidate->data), memory.fits);
      ++memories;
      if (!memory.fits) continue;
      const auto played = engine::estimate(job);
      ASSERT_TRUE(played.has_value());
      errors.push_back(std::abs(estimate->step_s / played->performance.step_time_s - 1));
    }
  }
  EXPECT_GT(memories, 300);
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.004);
  EXPECT_LT(errors[errors.size() * 85 / 100], 0.02);
  EXPECT_LT(errors[errors.size() * 9 / 10], 0.03);
}

/// Small spaces of different kinds.
Space small_space(Draws& draws) {
  constexpr std::array kModels = {"llama3-8b", "gpt3-6.7b", "deepseek-16b"};
  constexpr std::array kGpus = {"4", "8"};
  constexpr std::array kBatches = {"8", "16"};
  return test::space_of({{"model", draws.pick(kModels)},
                         {"cluster", "hgx-h100"},
                         {"gpus", draws.pick(kGpus)},
                         {"gbs", draws.pick(kBatches)},
                         {"seq_length", draws.pick(std::array{"1024", "2048"})},
                         {"recompute", draws.pick(std::array{"none", "full"})},
                         {"schedule", "1f1b"},
                         {"tp", draws.pick(std::array{"1", "2"})}});
}

std::vector<int64_t> numbers(const SearchResult& result) {
  std::vector<int64_t> found;
  for (const Played& played : result.best) found.push_back(played.found.number);
  return found;
}

TEST(Search, LeavingOutTheHopelessChangesNothing) {
  Draws draws(5);
  int64_t left_out = 0;
  for (int round = 0; round < 60; ++round) {
    const Space space = small_space(draws);
    SearchOptions options;
    options.top = 2;
    options.play = false;
    options.objective = round % 2 == 0 ? Objective::kTime : Objective::kCost;
    const auto pruned = search(space, options);
    options.prune = false;
    const auto whole = search(space, options);
    ASSERT_TRUE(pruned && whole);
    EXPECT_EQ(numbers(*pruned), numbers(*whole));
    EXPECT_EQ(pruned->feasible, whole->feasible);
    EXPECT_EQ(pruned->candidates, whole->candidates);
    left_out += whole->estimated - pruned->estimated;
  }
  EXPECT_GT(left_out, 0);
}

TEST(Search, ThreadsChangeNothing) {
  Draws draws(6);
  const Space space = small_space(draws);
  SearchOptions options;
  options.top = 3;
  options.pareto = {Objective::kTime, Objective::kMemory};
  const auto one = search(space, options);
  options.threads = 2;
  const auto two = search(space, options);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(numbers(*one), numbers(*two));
  ASSERT_EQ(one->front.size(), two->front.size());
  for (size_t i = 0; i < one->front.size(); ++i) {
    EXPECT_EQ(one->front[i].number, two->front[i].number);
    EXPECT_EQ(one->front[i].estimate.step_s, two->front[i].estimate.step_s);
  }
}

TEST(Search, ShardsAreThePartsOfTheWhole) {
  Draws draws(8);
  const Space space = small_space(draws);
  SearchOptions options;
  options.top = 1;
  const auto whole = search(space, options);
  ASSERT_TRUE(whole.has_value());
  int64_t candidates = 0;
  double best_s = INFINITY;
  options.shards = 3;
  for (options.shard = 0; options.shard < 3; ++options.shard) {
    const auto part = search(space, options);
    ASSERT_TRUE(part.has_value());
    candidates += part->candidates;
    if (!part->best.empty())
      best_s = std::min(best_s, part->best.front().run.performance.step_time_s);
  }
  EXPECT_EQ(candidates, whole->candidates);
  EXPECT_EQ(best_s, whole->best.front().run.performance.step_time_s);
}

TEST(Front, KeepsWhatNothingBeats) {
  Front front({Objective::kTime, Objective::kMemory});
  const auto offer = [&](double step_s, double bytes, int64_t number) {
    Found found;
    found.estimate.step_s = step_s;
    found.estimate.memory_bytes = bytes;
    found.number = number;
    front.offer(found);
  };
  offer(2, 2, 0);
  offer(1, 3, 1);
  offer(3, 3, 2);  // beaten by both
  offer(3, 1, 3);
  offer(2, 2, 4);  // equal to the first: the first stays
  ASSERT_EQ(front.found().size(), 3u);
  offer(1, 1, 5);  // beats all
  ASSERT_EQ(front.found().size(), 1u);
  EXPECT_EQ(front.found()[0].number, 5);
}

TEST(Best, TiesGoToTheFirst) {
  Best best(Objective::kTime, 1, 0.1, 4);
  for (const int64_t number : {3, 1, 2}) {
    Found found;
    found.estimate.step_s = 1;
    found.number = number;
    best.offer(found);
  }
  EXPECT_EQ(best.found().front().number, 1);
  EXPECT_DOUBLE_EQ(best.threshold(), 1.1);
}

}  // namespace
}  // namespace ergometer::search
