#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "base/random.h"
#include "optimize/pipeline_frontier.h"

namespace ergometer::optimize {
namespace {

/// A GPU's pass at some clocks: c/f + rest seconds, energy with voltage squared falling to a knee.
std::vector<ClockChoice> pass(double seconds, double fixed_s, double watts, int clocks) {
  std::vector<ClockChoice> choices;
  for (int i = 0; i < clocks; ++i) {
    const double f = 1.0 - 0.06 * i, v = 0.7 + 0.3 * f;
    const double t = fixed_s + (seconds - fixed_s) / f;
    choices.push_back({f * 2e9, t, watts * seconds * v * v + 0.2 * watts * t});
  }
  return choices;
}

PipelineTables random_tables(uint64_t seed, int64_t stages, int64_t micro_batches, int clocks) {
  const base::Random random(seed, 0, "pipeline");
  PipelineTables tables;
  tables.micro_batches = micro_batches;
  tables.send_s = 0.01;
  tables.parallel.pp = stages;
  for (int64_t stage = 0; stage < stages; ++stage) {
    const auto n = static_cast<uint64_t>(8 * stage);
    const double forward = random.uniform(n, 0.5, 1.5), watts = random.uniform(n + 1, 300, 600);
    StageTable& table = tables.stages.emplace_back();
    ChunkTable& chunk = table.chunks.emplace_back();
    chunk.forward = pass(forward, 0.2 * forward, watts, clocks);
    chunk.backward = pass(2 * forward, 0.3 * forward, 1.1 * watts, clocks);
    chunk.input = pass(1.1 * forward, 0.2 * forward, watts, clocks);
    chunk.weight = pass(0.9 * forward, 0.1 * forward, 1.2 * watts, clocks);
    table.waiting_w = 0.25 * watts;
  }
  return tables;
}

/// The least energy of all assignments of clocks that are as quick as `length_s`, by trying all.
class BruteForce {
 public:
  BruteForce(const PipelineTables& tables, const TimeCostGraph& graph,
             const std::vector<PipelinePass>& passes)
      : tables_(tables), graph_(graph), passes_(passes) {
    std::vector<double> time_s(passes.size());
    try_all(0, 0, time_s);
  }
  double least_energy(double length_s) const {
    double waiting = 0, best = INFINITY;
    for (const StageTable& stage : tables_.stages) waiting += stage.waiting_w;
    for (const auto& [length, cost] : found_)
      if (length <= length_s + 1e-9) best = std::min(best, cost);
    return best + waiting * length_s;
  }

 private:
  void try_all(size_t i, double cost, std::vector<double>& time_s) {
    if (i == passes_.size()) {
      const double length = length_of(graph_, time_s);
      const auto at = found_.try_emplace(length, cost).first;
      at->second = std::min(at->second, cost);
      return;
    }
    const StageTable& stage = tables_.stages[static_cast<size_t>(passes_[i].stage)];
    const spec::ScheduleSlot& slot = passes_[i].slot;
    for (const ClockChoice& it : stage.chunks[static_cast<size_t>(slot.chunk)].of(slot.kind)) {
      time_s[i] = it.time_s;
      try_all(i + 1, cost + it.energy_j - stage.waiting_w * it.time_s, time_s);
    }
  }
  const PipelineTables& tables_;
  const TimeCostGraph& graph_;
  const std::vector<PipelinePass>& passes_;
  std::map<double, double> found_;
};

double lattice_cost(const PipelineTables& tables, const std::vector<PipelinePass>& passes,
                    const std::vector<double>& pass_s, double length_s) {
  std::vector<double> clocks;
  return lattice_energy(tables, passes, pass_s, length_s, clocks);
}

void expect_within_1_percent(const PipelineTables& tables) {
  std::vector<PipelinePass> passes;
  const TimeCostGraph graph = pipeline_graph(tables, tables.micro_batches, passes);
  const BruteForce exact(tables, graph, passes);
  const PipelineFrontier frontier = *pipeline_frontier(tables);
  ASSERT_GE(frontier.points.size(), 2u);
  for (const FrontierPoint& point : frontier.points) {
    const double length_s = point.time_s * (1 + 5e-4);  // times were rounded
    const double best = exact.least_energy(length_s);
    if (std::isinf(best)) continue;  // no clock of the lattice is as quick
    // Dividing passes between two clocks can only be better than whole passes.
    EXPECT_LE(point.energy_j, best * 1.001);
    const std::vector<double> whole = on_lattice(tables, graph, passes, point.pass_s, length_s);
    EXPECT_LE(length_of(graph, whole), length_s + 1e-9);
    EXPECT_LE(lattice_cost(tables, passes, whole, length_s), best * 1.01);
  }
}

TEST(PipelineFrontier, IsTheExactOneOfSmallPipelines) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    expect_within_1_percent(random_tables(seed, 2, 2, 4));  // 4^8 assignments
    expect_within_1_percent(random_tables(seed + 10, 3, 2, 2));
    expect_within_1_percent(random_tables(seed + 20, 2, 3, 2));
  }
}

PipelineTables scheduled(PipelineTables tables, spec::Schedule schedule, int64_t chunks) {
  tables.parallel.schedule = schedule;
  tables.parallel.vpp = chunks;
  for (StageTable& stage : tables.stages)
    stage.chunks.resize(static_cast<size_t>(chunks), stage.chunks.front());
  return tables;
}

TEST(PipelineFrontier, IsTheExactOneOfOtherSchedules) {
  using enum spec::Schedule;
  expect_within_1_percent(scheduled(random_tables(1, 2, 3, 2), kGpipe, 1));
  expect_within_1_percent(scheduled(random_tables(2, 2, 3, 2), kZbH1, 1));
  expect_within_1_percent(scheduled(random_tables(3, 3, 2, 2), kZbH2, 1));
  expect_within_1_percent(scheduled(random_tables(4, 2, 2, 2), kInterleaved, 2));
  expect_within_1_percent(scheduled(random_tables(5, 2, 1, 2), kZbV, 2));
  expect_within_1_percent(scheduled(random_tables(6, 2, 1, 2), kVMin, 2));
}

/// Length of the step with passes of one length each, without transfers.
double step_length(spec::Schedule schedule, int64_t stages, int64_t chunks, int64_t micro_batches) {
  PipelineTables tables;
  tables.parallel.pp = stages;
  tables.parallel.vpp = chunks;
  tables.parallel.schedule = schedule;
  const std::vector<ClockChoice> one = {{1e9, 1, 1}}, two = {{1e9, 2, 1}};
  tables.stages.resize(static_cast<size_t>(stages));
  for (StageTable& stage : tables.stages)
    stage.chunks.resize(static_cast<size_t>(chunks), {one, two, one, one});
  std::vector<PipelinePass> passes;
  const TimeCostGraph graph = pipeline_graph(tables, micro_batches, passes);
  std::vector<double> seconds;
  for (const auto& work : graph.work()) seconds.push_back(work.choices.back().time_s);
  return length_of(graph, seconds);
}

// The bubbles of docs/models/schedules.md, for passes F = I = W of 1 through a chunk: beyond 3 m v.
TEST(PipelineGraph, HasEverySchedulesBubble) {
  using enum spec::Schedule;
  for (const int64_t p : {2, 4, 6}) {
    const int64_t m = 4 * p;
    const auto bubble = [&](spec::Schedule schedule, int64_t chunks) {
      return step_length(schedule, p, chunks, m) - static_cast<double>(3 * m * chunks);
    };
    const auto d = static_cast<double>(p);
    EXPECT_DOUBLE_EQ(bubble(kOneFOneB, 1), 3 * (d - 1));
    EXPECT_DOUBLE_EQ(bubble(kGpipe, 1), 3 * (d - 1));
    EXPECT_DOUBLE_EQ(bubble(kInterleaved, 2), 3 * (d - 1));
    EXPECT_DOUBLE_EQ(bubble(kLoopedBfs, 2), 3 * (d - 1));
    EXPECT_DOUBLE_EQ(bubble(kZbH1, 1), d - 1);
    EXPECT_DOUBLE_EQ(bubble(kZbH2, 1), d - 1);
    EXPECT_DOUBLE_EQ(bubble(kZbV, 2), d - 1);
    EXPECT_DOUBLE_EQ(bubble(kVHalf, 2), (7 * d - 8) / 2);
    EXPECT_DOUBLE_EQ(bubble(kVMin, 2), p % 3 == 0 ? 4 * d - 3 : 4 * d - 5);
    EXPECT_DOUBLE_EQ(bubble(kDualPipeV, 2), d - 1);
  }
}

/// Perseus' emulated stage profile of GPT-3 175B on A100 (tests/data/perseus), every `stride`-th
/// clock of `clocks`; `waiting_w` is not in it and assumed.
PipelineTables perseus_tables(int64_t stages, int64_t micro_batches, size_t stride, size_t clocks) {
  PipelineTables tables;
  tables.micro_batches = micro_batches;
  tables.parallel.pp = stages;
  tables.stages.resize(static_cast<size_t>(stages));
  for (StageTable& stage : tables.stages) {
    stage.waiting_w = 75;
    stage.chunks.resize(1);
  }
  std::ifstream in(ERGOMETER_SOURCE_DIR "/tests/data/perseus/gpt3-175b-a100.csv");
  std::map<std::pair<size_t, bool>, size_t> seen;
  for (std::string line; std::getline(in, line);) {
    size_t stage = 0;
    char name[16] = {};
    ClockChoice it;
    if (std::sscanf(line.c_str(), "%zu,%15[a-z],%lf,%lf,%lf", &stage, name, &it.clock_hz,
                    &it.time_s, &it.energy_j) != 5 ||
        stage >= tables.stages.size())
      continue;
    it.clock_hz *= 1e6;
    const bool backward = name[0] == 'b';
    std::vector<ClockChoice>& table =
        backward ? tables.stages[stage].chunks[0].backward : tables.stages[stage].chunks[0].forward;
    if (seen[{stage, backward}]++ % stride == 0 && table.size() < clocks) table.push_back(it);
  }
  return tables;
}

TEST(PipelineFrontier, IsTheExactOneOnPerseusProfile) {
  const PipelineTables tables = perseus_tables(2, 2, 2, 4);
  ASSERT_EQ(tables.stages[1].chunks[0].backward.size(), 4u);
  expect_within_1_percent(tables);
}

TEST(PipelineFrontier, OfPerseusWholeProfileSavesEnergyAtNoTime) {
  // Eight equal stages, 16 micro batches, 38 clocks: bubbles alone are what there is to save.
  const PipelineTables tables = perseus_tables(8, 16, 1, 100);
  const PipelineFrontier frontier = *pipeline_frontier(tables);
  std::vector<PipelinePass> passes;
  const TimeCostGraph graph = pipeline_graph(tables, 16, passes);
  std::vector<double> quickest, clocks;
  for (const auto& work : graph.work()) quickest.push_back(work.choices.back().time_s);
  const double length_s = length_of(graph, quickest);
  const double all_top_j = lattice_energy(tables, passes, quickest, length_s, clocks);
  const double saved = 1 - frontier.points.back().energy_j / all_top_j;
  EXPECT_NEAR(frontier.points.back().time_s, length_s, 1e-3 * length_s);
  EXPECT_GT(saved, 0.02);
  EXPECT_LT(saved, 0.3);
  std::printf("Perseus' profile, 8 stages, 16 micro batches: %.1f %% of energy at no time\n",
              100 * saved);
}

TEST(PipelineFrontier, RunsFromLeastEnergyToTheQuickest) {
  const PipelineTables tables = random_tables(3, 4, 8, 12);
  std::vector<PipelinePass> passes;
  const TimeCostGraph graph = pipeline_graph(tables, 8, passes);
  std::vector<double> quickest;
  for (const auto& work : graph.work()) quickest.push_back(work.choices.back().time_s);
  const PipelineFrontier frontier = *pipeline_frontier(tables);
  EXPECT_NEAR(frontier.points.back().time_s, length_of(graph, quickest), 0.01);
  for (size_t i = 1; i < frontier.points.size(); ++i) {
    EXPECT_LT(frontier.points[i].time_s, frontier.points[i - 1].time_s);
    EXPECT_GT(frontier.points[i].energy_j, frontier.points[i - 1].energy_j * (1 - 1e-4));
  }
}

void expect_told_from_shorter(const PipelineTables& tables) {
  const PipelineFrontier told = *pipeline_frontier(tables);
  EXPECT_LT(told.micro_batches, tables.micro_batches);
  std::vector<PipelinePass> passes;
  const TimeCostGraph graph = pipeline_graph(tables, tables.micro_batches, passes);
  std::vector<double> quickest;
  for (const auto& work : graph.work()) quickest.push_back(work.choices.back().time_s);
  const double length_s = length_of(graph, quickest);
  EXPECT_NEAR(told.points.back().time_s, length_s, 0.005 * length_s);
}

TEST(PipelineFrontier, OfALongStepFollowsFromShorterOnes) {
  // 2 x 4 x 256 passes are more than are looked at; 1536 of them are.
  expect_told_from_shorter(random_tables(5, 4, 256, 8));
  expect_told_from_shorter(scheduled(random_tables(6, 4, 258, 3), spec::Schedule::kZbH1, 1));
  expect_told_from_shorter(scheduled(random_tables(7, 4, 160, 3), spec::Schedule::kInterleaved, 2));
  expect_told_from_shorter(scheduled(random_tables(8, 4, 103, 3), spec::Schedule::kZbV, 2));
  expect_told_from_shorter(scheduled(random_tables(9, 4, 256, 3), spec::Schedule::kGpipe, 1));
}

TEST(PipelineFrontier, RefusesStepsThatWouldTakeHours) {
  // 2 x 4 stages x 2 chunks x 1,024 micro batches, one chunk of all before the next.
  const auto frontier =
      pipeline_frontier(scheduled(random_tables(10, 4, 1024, 3), spec::Schedule::kLoopedBfs, 2));
  ASSERT_FALSE(frontier);
  EXPECT_EQ(frontier.error().message,
            "a step of this schedule has 16,384 passes to look at; at most 12,288 can be solved");
}

}  // namespace
}  // namespace ergometer::optimize
