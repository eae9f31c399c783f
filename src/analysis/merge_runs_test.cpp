#include "analysis/merge_runs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/trace/test_traces.h"

namespace ergometer::analysis {
namespace {

constexpr int64_t kStart = 1'700'000'000 * kSecond;

/// A clock that is `offset_ns` ahead of the true one at kStart and gains `ppm`.
struct Skew {
  int64_t offset_ns = 0;
  double ppm = 0;
  int64_t shows(int64_t true_ns) const {
    return true_ns + offset_ns + std::llround(static_cast<double>(true_ns - kStart) * ppm * 1e-6);
  }
};

/// A host with one GPU that draws more from kStart + 50 s on, by its own clock.
run::Run recorded(const std::string& host, const Skew& skew) {
  run::Run run;
  run.source = "recorded";
  run.facts["host"] = host;
  run::Device gpu;
  gpu.rank = gpu.index = 0;
  gpu.host = host;
  gpu.uuid = "GPU-" + host;
  run::Series power{.metric = run::Metric::kInstantPower, .samples = {}};
  run::HostClock clock{.host = host, .readings = {}, .probes = {}};
  for (int64_t s = 0; s < 100; ++s) {
    const int64_t time_ns = kStart + s * kSecond;
    power.samples.push_back({skew.shows(time_ns), s < 50 ? 100.0 : 600.0});
    clock.readings.push_back({skew.shows(time_ns), time_ns - kStart, 0});
  }
  gpu.series.push_back(std::move(power));
  run.log.devices.push_back(std::move(gpu));
  run.clocks.push_back(std::move(clock));
  return run;
}

/// One question a second, answered after 200 us on the way there and 100 us back.
void ask(run::Run& run, const Skew& own, const std::string& peer, const Skew& others) {
  for (int64_t s = 0; s < 100; ++s) {
    const int64_t sent = kStart + s * kSecond, there = sent + 200'000, back = there + 10'000;
    run.clocks.front().probes.push_back({peer, own.shows(sent), others.shows(there),
                                         others.shows(back), own.shows(back + 100'000)});
  }
}

const run::Device* device_of(const run::Run& run, const std::string& host) {
  for (const run::Device& device : run.log.devices)
    if (device.host == host) return &device;
  return nullptr;
}

TEST(MergeRuns, ProbesBringAClockThatDriftsToTheReference) {
  const Skew a{}, b{300 * kMs, 40};
  run::Run first = recorded("a", a), second = recorded("b", b);
  ask(second, b, "a.cluster.local", a);
  const auto merged = merge_runs({{"a.run", first}, {"b.run", second}}, "");
  ASSERT_TRUE(merged) << merged.error().message;
  ASSERT_EQ(merged->hosts.size(), 2U);
  EXPECT_EQ(merged->hosts[0].method, "reference");
  EXPECT_EQ(merged->hosts[1].method, "probes");
  EXPECT_EQ(merged->hosts[1].against, "a");
  EXPECT_LE(merged->hosts[1].model.uncertainty_ns, kMs);
  const run::Device* gpu = device_of(merged->run, "b");
  ASSERT_NE(gpu, nullptr);
  const auto& samples = gpu->series.front().samples;
  ASSERT_EQ(samples.size(), 100U);
  // 50 us is half of what the ways there and back differ by: no protocol can tell.
  for (size_t i = 0; i < samples.size(); ++i)
    EXPECT_NEAR(static_cast<double>(samples[i].time_ns - (kStart + int64_t(i) * kSecond)), 0, 6e4);
  EXPECT_EQ(device_of(merged->run, "a")->series.front().samples.front().time_ns, kStart);
  // Two GPUs of rank 0 are two ranks.
  EXPECT_EQ(device_of(merged->run, "a")->rank, 0);
  EXPECT_EQ(gpu->rank, 1);
}

TEST(MergeRuns, TheReferenceMayBeAnyHostAndAChainOfProbesReachesIt) {
  const Skew a{}, b{-20 * kMs, -15}, c{5 * kSecond, 10};
  run::Run first = recorded("a", a), second = recorded("b", b), third = recorded("c", c);
  ask(first, a, "b", b);
  ask(third, c, "b", b);
  const auto merged = merge_runs({{"a.run", first}, {"b.run", second}, {"c.run", third}}, "c");
  ASSERT_TRUE(merged) << merged.error().message;
  for (const char* host : {"a", "b", "c"}) {
    const auto& samples = device_of(merged->run, host)->series.front().samples;
    for (size_t i = 0; i < samples.size(); ++i) {
      const int64_t wanted = c.shows(kStart + int64_t(i) * kSecond);
      EXPECT_NEAR(static_cast<double>(samples[i].time_ns - wanted), 0, 2e5) << host;
    }
  }
  EXPECT_GT(merged->hosts[0].model.uncertainty_ns, merged->hosts[1].model.uncertainty_ns);
}

TEST(MergeRuns, WithoutProbesTheKernelsWordCountsAndWithoutItNothingIsClaimed) {
  const Skew none{};
  run::Run first = recorded("a", none), second = recorded("b", none);
  for (run::Run* run : {&first, &second})
    for (run::ClockReading& reading : run->clocks.front().readings) reading.max_error_ns = kMs;
  const auto held = merge_runs({{"a.run", first}, {"b.run", second}}, "");
  ASSERT_TRUE(held);
  EXPECT_EQ(held->hosts[1].method, "synchronized");
  EXPECT_DOUBLE_EQ(held->hosts[1].model.uncertainty_ns, 2e6);
  second.clocks.front().readings.back().max_error_ns = 0;
  const auto free = merge_runs({{"a.run", first}, {"b.run", second}}, "");
  ASSERT_TRUE(free);
  EXPECT_EQ(free->hosts[1].method, "unknown");
  EXPECT_FALSE(free->hosts[1].bounded);
}

TEST(MergeRuns, NodesAreNumberedByTheJobsOwnNumbers) {
  run::Run first = recorded("x", {}), second = recorded("y", {});
  first.facts["SLURM_NODEID"] = "1";
  second.facts["SLURM_NODEID"] = "0";
  const auto merged = merge_runs({{"x.run", first}, {"y.run", second}}, "x");
  ASSERT_TRUE(merged);
  EXPECT_EQ(device_of(merged->run, "y")->rank, 0);
  EXPECT_EQ(device_of(merged->run, "x")->rank, 1);
}

TEST(MergeRuns, GpusWithoutRanksAreCountedAndNothingIsSaidOfIt) {
  run::Run first = recorded("a", {}), second = recorded("b", {});
  for (run::Run* run : {&first, &second}) run->log.devices.front().rank = -1;
  const auto merged = merge_runs({{"a.run", first}, {"b.run", second}}, "");
  ASSERT_TRUE(merged);
  EXPECT_EQ(device_of(merged->run, "a")->rank, 0);
  EXPECT_EQ(device_of(merged->run, "b")->rank, 1);
  for (const std::string& note : merged->notes)
    EXPECT_EQ(note.find("ranks"), std::string::npos) << note;
}

TEST(MergeRuns, ATraceMovesWithTheHostThatHasItsRank) {
  const Skew a{}, b{300 * kMs, 0};
  run::Run first = recorded("a", a), second = recorded("b", b), traces;
  ask(second, b, "a", a);
  traces.source = "imported";
  for (int64_t rank = 0; rank < 2; ++rank) {
    run::RankTrace trace;
    trace.rank = rank;
    trace.base_time_ns = (rank == 0 ? a : b).shows(kStart);
    trace.names = {"gemm"};
    trace.events.push_back({.start_ns = 10 * kSecond, .duration_ns = 5});
    traces.traces.push_back(trace);
  }
  const auto merged = merge_runs({{"a.run", first}, {"b.run", second}, {"traces", traces}}, "");
  ASSERT_TRUE(merged) << merged.error().message;
  ASSERT_EQ(merged->run.traces.size(), 2U);
  for (const run::RankTrace& trace : merged->run.traces)
    EXPECT_NEAR(static_cast<double>(trace.base_time_ns + trace.events[0].start_ns -
                                    (kStart + 10 * kSecond)),
                0, 1e5);
}

TEST(MergeRuns, ARankOfTwoTracesIsToldOf) {
  const auto traces = [](const char* file) {
    run::Run run;
    run.source = "imported";
    TestTrace trace(3);
    trace.kernel(0, 10).trace.file = file;
    run.traces.push_back(trace.trace);
    return run;
  };
  const auto merged = merge_runs({{"a", traces("a.json")}, {"b", traces("b.json")}}, "");
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->run.traces.size(), 2U);
  ASSERT_FALSE(merged->notes.empty());
  EXPECT_TRUE(merged->notes.back().starts_with("rank 3 is there more than once (a.json, b.json)"))
      << merged->notes.back();
}

TEST(MergeRuns, WhatCannotBeJoinedIsRefused) {
  run::Run simulated;
  EXPECT_FALSE(merge_runs({{"a.run", recorded("a", {})}, {"s.run", simulated}}, ""));
  EXPECT_FALSE(merge_runs({{"a.run", recorded("a", {})}, {"a2.run", recorded("a", {})}}, ""));
  const auto unknown =
      merge_runs({{"a.run", recorded("a", {})}, {"b.run", recorded("b", {})}}, "nowhere");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("there are a, b"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::analysis
