#include "search/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/test_support.h"
#include "engine/prepared.h"
#include "engine/simulate.h"
#include "plan/memory.h"
#include "search/kept.h"
#include "search/space/random_candidates.h"
#include "search/space/test_space.h"

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
    const std::vector<Layout> layouts = space->layouts();
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
      EXPECT_EQ(estimator.fits(candidate->overlap, candidate->recomputation, candidate->data),
                memory.fits);
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

/// PyTorch FSDP adds no gradients up from ZeRO 2 on: estimates of all stages must know.
TEST(Search, EstimatesKnowTheKernelsOfEveryZeroStage) {
  const Space space = test::space_of({{"model", "llama3-8b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "16"},
                                      {"gbs", "128"},
                                      {"seq_length", "1024"},
                                      {"framework", "fsdp"},
                                      {"recompute", "none"},
                                      {"cp", "1"},
                                      {"tp", "2"},
                                      {"pp", "1"},
                                      {"mbs", "1"}});
  LegalityCheck legal(space);
  Estimator estimator(space);
  const Layout layout = space.layouts().back();
  const Options options = space.options(layout, legal);
  ASSERT_GT(options.data.size(), 5u);
  for (const DataOption& data : options.data) {
    const Candidate candidate{layout, options.recomputations[0], options.overlaps[0], data};
    const auto played = engine::estimate(space.job(candidate));
    const auto estimate = estimator.estimate(candidate);
    ASSERT_TRUE(played && estimate);
    EXPECT_NEAR(estimate->step_s / played->performance.step_time_s, 1, 0.01);
  }
}

/// Kernels that make gradients smaller are in line with the backward that their sums hide behind:
/// beside it, as the sums are, top-k's steps would be estimated 2 % too short.
TEST(Search, EstimatesKnowTheKernelsOfCompressedGradients) {
  for (const char* how : {"int8", "topk:0.01"})
    for (const char* zero : {"0", "1"})
      for (const char* stages : {"1", "2"}) {
        const Space space = test::space_of({{"model", "gpt3-1.3b"},
                                            {"cluster", "hgx-h100"},
                                            {"gpus", "16"},
                                            {"gbs", "64"},
                                            {"compress_gradients", how},
                                            {"zero", zero},
                                            {"overlap_grad_reduce", "true"},
                                            {"recompute", "none"},
                                            {"cp", "1"},
                                            {"tp", "1"},
                                            {"pp", stages},
                                            {"vpp", "1"},
                                            {"mbs", "1"}});
        LegalityCheck legal(space);
        Estimator estimator(space);
        const Layout layout = space.layouts().back();
        const Options options = space.options(layout, legal);
        ASSERT_FALSE(options.data.empty());
        for (const DataOption& data : options.data) {
          const Candidate candidate{layout, options.recomputations[0], options.overlaps[0], data};
          const auto played = engine::estimate(space.job(candidate));
          const auto estimate = estimator.estimate(candidate);
          ASSERT_TRUE(played && estimate);
          EXPECT_NEAR(estimate->step_s / played->performance.step_time_s, 1, 0.01)
              << how << ", ZeRO " << zero << ", " << stages << " stages";
        }
      }
}

/// A small space: any of several models on any of several clusters, with so much given that little
/// is left open.
std::optional<Space> drawn_space(Draws& draws) {
  constexpr std::array kModels = {"llama3-8b", "gpt3-6.7b", "deepseek-16b", "gpt3-13b"};
  constexpr std::array kClusters = {"hgx-h100", "hgx-b200", "mi300x", "selene"};
  SpaceOptions options;
  options.gpus = draws.pick(
      std::array{std::vector<int64_t>{4}, std::vector<int64_t>{8}, std::vector<int64_t>{4, 8}});
  if (draws.pick(std::array{0, 0, 1}) == 1) options.lock_clocks_mhz = {1200};
  test::Values values = {{"model", draws.pick(kModels)},
                         {"cluster", draws.pick(kClusters)},
                         {"gbs", draws.pick(std::array{"8", "16"})},
                         {"seq_length", draws.pick(std::array{"1024", "2048"})},
                         {"gpus", "8"},
                         {"cp", "1"}};
  using Given = std::array<std::pair<const char*, const char*>, 2>;
  constexpr std::array<Given, 5> kGiven = {{{{{"tp", "2"}, {"mbs", "1"}}},
                                            {{{"pp", "2"}, {"mbs", "2"}}},
                                            {{{"pp", "4"}, {"vpp", "1"}}},
                                            {{{"tp", "4"}, {"pp", "1"}}},
                                            {{{"mbs", "1"}, {"vpp", "1"}}}}};
  for (const auto& [name, value] : draws.pick(kGiven)) values.emplace_back(name, value);
  values.emplace_back("sp", draws.pick(std::array{"true", "false"}));
  if (std::string_view(values.front().second) == "deepseek-16b") values.emplace_back("ep", "2");
  values.emplace_back("recompute", draws.pick(std::array{"none", "none", "full"}));
  values.emplace_back("schedule", draws.pick(std::array{"1f1b", "interleaved", "zb-h1", "gpipe"}));
  constexpr std::array kAlsoGiven = {std::pair{"zero", "1"}, std::pair{"zero", "2"},
                                     std::pair{"fsdp", "true"}, std::pair{"framework", "fsdp"},
                                     std::pair{"overlap_grad_reduce", "true"}};
  const auto& [also, so] = draws.pick(kAlsoGiven);
  values.emplace_back(also, so);
  auto space = Space::make(test::settings_of(values), options);
  if (!space) return {};
  return *std::move(space);
}

std::vector<int64_t> numbers(const std::vector<Found>& found) {
  std::vector<int64_t> all;
  for (const Found& one : found) all.push_back(one.number);
  return all;
}

std::vector<int64_t> numbers(const SearchResult& result) {
  std::vector<int64_t> found;
  for (const Played& played : result.best) found.push_back(played.found.number);
  return found;
}

constexpr std::array kAllObjectives = {Objective::kTime,           Objective::kEnergy,
                                       Objective::kEnergyDelay,    Objective::kCost,
                                       Objective::kTokensPerJoule, Objective::kMemory};

/// Any objective, any limits, any front.
SearchOptions any_question(Draws& draws) {
  SearchOptions options;
  options.objective = draws.pick(kAllObjectives);
  options.top = draws.pick(std::array<size_t, 3>{1, 2, 5});
  options.play = false;
  const int limit = draws.pick(std::array{0, 0, 0, 1, 2, 3});
  if (limit > 0)
    options.limits.most[static_cast<size_t>(limit) - 1] =
        std::array{draws.pick(std::array{0.5, 1.0, 2.0}), draws.pick(std::array{300.0, 500.0}),
                   draws.pick(std::array{55.0, 70.0})}[static_cast<size_t>(limit) - 1];
  const int objectives = draws.pick(std::array{0, 0, 2, 3});
  for (int i = 0; i < objectives; ++i) options.pareto.push_back(draws.pick(kAllObjectives));
  return options;
}

TEST(Search, LeavingOutTheHopelessChangesNothing) {
  const int64_t wanted = base::random_cases(1000);
  Draws draws(5);
  std::map<Objective, int64_t> left_out;
  int64_t left_out_of_fronts = 0;
  for (int64_t spaces = 0; spaces < wanted;) {
    const auto space = drawn_space(draws);
    if (!space) continue;
    ++spaces;
    SearchOptions options = any_question(draws);
    const auto pruned = search(*space, options);
    options.prune = false;
    const auto whole = search(*space, options);
    ASSERT_EQ(pruned.has_value(), whole.has_value());
    if (!pruned) continue;
    ASSERT_EQ(numbers(*pruned), numbers(*whole)) << spaces;
    ASSERT_EQ(numbers(pruned->front), numbers(whole->front)) << spaces;
    EXPECT_EQ(pruned->feasible, whole->feasible);
    EXPECT_EQ(pruned->candidates, whole->candidates);
    const int64_t less = whole->estimated - pruned->estimated;
    (options.pareto.empty() ? left_out[options.objective] : left_out_of_fronts) += less;
  }
  for (const Objective objective : kAllObjectives) EXPECT_GT(left_out[objective], 0);
  EXPECT_GT(left_out_of_fronts, 0);
}

/// All variants of a layout, divided into what `Estimator::set_passes` takes.
std::vector<std::vector<PassVariant>> played_alike(const Options& options) {
  std::map<std::pair<bool, bool>, std::vector<PassVariant>> found;
  for (const Overlap& overlap : options.overlaps)
    for (const Recomputation& recomputation : options.recomputations)
      found[{overlap.expert, overlap.pipeline}].push_back({overlap, recomputation});
  std::vector<std::vector<PassVariant>> all;
  for (auto& [together, variants] : found) all.push_back(std::move(variants));
  return all;
}

/// A recomputation whose time lies between others' is about where it would be played.
TEST(Search, EstimatesAmongOthersAreNearThoseAlone) {
  Draws draws(33);
  std::vector<double> differences;
  for (int round = 0; round < 12; ++round) {
    const auto space = Space::make(random_settings(draws), {});
    if (!space) continue;
    const std::vector<Layout> layouts = space->layouts();
    if (layouts.empty()) continue;
    LegalityCheck legal(*space);
    Estimator estimator(*space), alone(*space);
    for (int i = 0; i < 6; ++i) {
      const Layout& layout = draws.pick(layouts);
      const Options options = space->options(layout, legal);
      if (options.candidates() == 0 || !estimator.set_layout(layout)) continue;
      for (const std::vector<PassVariant>& variants : played_alike(options)) {
        estimator.set_passes(variants);
        for (size_t v = 0; v < variants.size(); v += 3)
          for (const DataOption& data : options.data) {
            const auto single =
                alone.estimate({layout, variants[v].recomputation, variants[v].overlap, data});
            ASSERT_TRUE(single.has_value());
            const Estimate among = estimator.estimate(v, data);
            EXPECT_EQ(among.memory_bytes, single->memory_bytes);
            if (among.step_s != single->step_s)
              differences.push_back(std::abs(among.step_s / single->step_s - 1));
            EXPECT_NEAR(among.energy_j / single->energy_j, among.step_s / single->step_s, 0.03);
          }
      }
    }
  }
  ASSERT_GT(differences.size(), 1000u);
  std::sort(differences.begin(), differences.end());
  EXPECT_LT(differences[differences.size() / 2], 0.0005);
  EXPECT_LT(differences[differences.size() * 98 / 100], 0.01);
  EXPECT_LT(differences.back(), 0.06);
}

/// What no bound may pass: the estimate of every candidate of some spaces.
TEST(Search, BoundsAreBelowEveryEstimate) {
  Draws draws(21);
  int64_t compared = 0;
  double time_shares = 0, energy_shares = 0;
  for (int round = 0; round < 60; ++round) {
    const auto space = drawn_space(draws);
    if (!space) continue;
    LegalityCheck legal(*space);
    Estimator estimator(*space);
    for (const Layout& layout : space->layouts()) {
      const Options options = space->options(layout, legal);
      if (options.candidates() == 0 || !estimator.set_layout(layout)) continue;
      for (const std::vector<PassVariant>& variants : played_alike(options)) {
        estimator.set_passes(variants);
        for (size_t i = 0; i < variants.size(); ++i)
          for (const DataOption& data : options.data) {
            const LeastCost least = estimator.least(i, data.sharding);
            const Estimate estimate = estimator.estimate(i, data);
            ASSERT_LE(least.step_s, estimate.step_s * (1 + 1e-9));
            ASSERT_LE(least.energy_j, estimate.energy_j * (1 + 1e-9));
            time_shares += least.step_s / estimate.step_s;
            energy_shares += least.energy_j / estimate.energy_j;
            ++compared;
          }
      }
    }
  }
  // Near enough to be of use.
  ASSERT_GT(compared, 1000);
  EXPECT_GT(time_shares / static_cast<double>(compared), 0.6);
  EXPECT_GT(energy_shares / static_cast<double>(compared), 0.5);
}

/// Every candidate that fits, on the engine with physics.
double best_of_all(const Space& space, const SearchOptions& options) {
  LegalityCheck legal(space);
  double best = INFINITY;
  for (const Layout& layout : space.layouts()) {
    const Options choices = space.options(layout, legal);
    for (const Overlap& overlap : choices.overlaps)
      for (const Recomputation& recomputation : choices.recomputations)
        for (const DataOption& data : choices.data) {
          const Candidate candidate{layout, recomputation, overlap, data};
          const auto run = engine::simulate(space.job(candidate), {});
          if (!run || !run->memory.fits) continue;
          const auto [step_s, gpu_w, gpu_c] = Limits::of(*run);
          if (!options.limits.allow(step_s, gpu_w, gpu_c)) continue;
          const Estimate played{step_s, run->power.energy_j_per_step, gpu_w, gpu_c,
                                run->memory.peak_bytes};
          const int64_t gpus = space.base_of(layout).megatron.gpus;
          best = std::min(best, value_of(options.objective, {candidate, played, gpus, 0}));
        }
  }
  return best;
}

/// A search plays a few of its candidates. That the best of all is among them is proven by playing
/// all.
TEST(Search, TheFirstIsTheBestOfAllThatTheEngineCanPlay) {
  Draws draws(9);
  const int64_t wanted = base::random_cases(24);
  int64_t spaces = 0;
  while (spaces < wanted) {
    const auto space = drawn_space(draws);
    SearchOptions options = any_question(draws);
    if (!space || options.objective == Objective::kMemory) continue;
    options.play = true;
    options.pareto.clear();
    const auto found = search(*space, options);
    if (!found || found->feasible == 0 || found->feasible > 120) continue;
    ++spaces;
    const double best = best_of_all(*space, options);
    if (found->best.empty()) {
      EXPECT_EQ(best, INFINITY);
      continue;
    }
    const Played& first = found->best.front();
    const auto [step_s, gpu_w, gpu_c] = Limits::of(first.run);
    Found as_played = first.found;
    as_played.estimate = {step_s, first.run.power.energy_j_per_step, gpu_w, gpu_c, 0};
    EXPECT_EQ(value_of(options.objective, as_played), best) << spaces;
  }
}

/// One of one node's GPUs.
Space tiny_space(Draws& draws) {
  constexpr std::array kModels = {"llama3-8b", "gpt3-6.7b", "deepseek-16b"};
  return test::space_of({{"model", draws.pick(kModels)},
                         {"cluster", "hgx-h100"},
                         {"gpus", draws.pick(std::array{"4", "8"})},
                         {"gbs", draws.pick(std::array{"8", "16"})},
                         {"seq_length", draws.pick(std::array{"1024", "2048"})},
                         {"recompute", draws.pick(std::array{"none", "full"})},
                         {"schedule", "1f1b"},
                         {"tp", draws.pick(std::array{"1", "2"})}});
}

TEST(Search, ThreadsChangeNothing) {
  Draws draws(6);
  const Space space = tiny_space(draws);
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

TEST(Kept, BesideTheBestStandsWhatNeedsLess) {
  const Space space = test::space_of({{"model", "gpt3-175b"}, {"cluster", "hgx-h100"}});
  const double card = space.bases().front().megatron.cluster.node.gpu.memory_bytes;
  SearchOptions options;
  options.top = 1;
  Kept plain(space, options);
  options.simplest = true;
  Kept kept(space, options);
  int64_t number = 0;
  const auto offer = [&](double step_s, double share) {
    Found found;
    found.estimate.step_s = step_s;
    found.estimate.memory_bytes = share * card;
    found.number = number++;
    kept.offer(found);
    plain.offer(found);
  };
  offer(1.08, 0.6);
  for (int i = 0; i < 40; ++i) offer(1.005, 0.99);
  offer(1, 0.98);
  offer(1.1, 0.5);  // more than 5 % and two estimates' errors above the best
  offer(1.04, 0.8);
  EXPECT_EQ(kept.to_play().front().estimate.step_s, 1);
  std::vector<double> lean;
  for (const Found& found : kept.leaner()) lean.push_back(found.estimate.step_s);
  EXPECT_EQ(lean, (std::vector{1.04, 1.08}));
  EXPECT_TRUE(plain.leaner().empty());
  Found least;
  least.estimate.step_s = 1.085;
  EXPECT_FALSE(kept.hopeless(least));
  EXPECT_TRUE(plain.hopeless(least));
  least.estimate.step_s = 1.095;
  EXPECT_TRUE(kept.hopeless(least));
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
