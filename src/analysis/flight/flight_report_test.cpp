#include "analysis/flight/flight_report.h"

#include <gtest/gtest.h>

namespace ergometer::analysis {
namespace {

using run::FlightCall;
using run::FlightDump;
using State = FlightCall::State;

FlightDump dump_of(int64_t rank, std::vector<run::FlightGroup> groups) {
  return {.rank = rank, .file = "f", .version = "2.10", .groups = std::move(groups), .calls = {}};
}

FlightDump world_dump(int64_t rank, int64_t ranks) {
  std::vector<int64_t> all;
  for (int64_t r = 0; r < ranks; ++r) all.push_back(r);
  return dump_of(rank, {{"0", "world", all}});
}

FlightCall& add_call(FlightDump& dump, size_t group, int64_t sequence, State state,
                     const std::string& name = "nccl:all_reduce", int64_t elements = 64) {
  FlightCall call;
  call.group = group;
  call.record = static_cast<int64_t>(dump.calls.size());
  call.sequence = sequence;
  call.name = name;
  call.elements = elements;
  call.state = state;
  dump.calls.push_back(call);
  return dump.calls.back();
}

std::vector<FlightDump> world_of(int64_t ranks, int64_t ended) {
  std::vector<FlightDump> dumps;
  for (int64_t r = 0; r < ranks; ++r) {
    dumps.push_back(world_dump(r, ranks));
    for (int64_t s = 1; s <= ended; ++s) add_call(dumps.back(), 0, s, State::kCompleted);
  }
  return dumps;
}

TEST(FlightReport, EverythingEnded) {
  const FlightReport report = report_flight(world_of(3, 2));
  EXPECT_TRUE(report.all_ended());
  EXPECT_EQ(report.groups.at(0).last_completed, 2);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_TRUE(report.culprits.empty());
}

TEST(FlightReport, ARankDidNotCall) {
  auto dumps = world_of(3, 2);
  add_call(dumps[0], 0, 3, State::kStarted);
  add_call(dumps[2], 0, 3, State::kStarted);
  const FlightReport report = report_flight(dumps);
  const FlightGroupReport& group = report.groups.at(0);
  EXPECT_EQ(group.fault, FlightFault::kNotCalled);
  EXPECT_EQ(group.last_completed, 2);
  EXPECT_EQ(group.sequence, 3);
  ASSERT_EQ(group.callers.size(), 2u);
  EXPECT_EQ(group.callers[0].ranks, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(group.callers[1].did, FlightDid::kNotCalled);
  EXPECT_EQ(report.culprits, std::vector<int64_t>{1});
  EXPECT_EQ(report.findings.at(0).name, "collective_not_called");
}

TEST(FlightReport, AMismatchGoesBeforeWhatDidNotEnd) {
  auto dumps = world_of(3, 1);
  for (FlightDump& dump : dumps)
    add_call(dump, 0, 2, State::kStarted, "nccl:all_reduce", dump.rank == 2 ? 63 : 64);
  const FlightReport report = report_flight(dumps);
  EXPECT_EQ(report.groups.at(0).fault, FlightFault::kMismatch);
  EXPECT_EQ(report.culprits, std::vector<int64_t>{2});
}

TEST(FlightReport, UnevenExchangesAreNoMismatch) {
  auto dumps = world_of(2, 0);
  for (FlightDump& dump : dumps)
    add_call(dump, 0, 1, State::kCompleted, "nccl:all_to_all", 64 + dump.rank);
  EXPECT_TRUE(report_flight(dumps).all_ended());
  for (FlightDump& dump : dumps) dump.calls[0].name = "nccl:_reduce_scatter_base";
  EXPECT_FALSE(report_flight(dumps).all_ended());
}

TEST(FlightReport, WhatIsNoLongerKeptEnded) {
  auto dumps = world_of(2, 4);
  dumps[1].calls.erase(dumps[1].calls.begin(), dumps[1].calls.begin() + 2);
  EXPECT_TRUE(report_flight(dumps).all_ended());
  dumps[1].calls.clear();  // of a rank that never called anything
  const FlightReport report = report_flight(dumps);
  EXPECT_EQ(report.groups.at(0).fault, FlightFault::kNotCalled);
  EXPECT_EQ(report.groups.at(0).sequence, 1);
}

TEST(FlightReport, WhoWaitsElsewhereIsNoCulprit) {
  // Rank 1 waits for rank 2 in group "b", and 0 for rank 1 in "a"; 2 waits for nobody.
  const run::FlightGroup a{"a", "", {0, 1}}, b{"b", "", {1, 2}};
  std::vector<FlightDump> dumps{dump_of(0, {a}), dump_of(1, {a, b}), dump_of(2, {b})};
  add_call(dumps[0], 0, 1, State::kStarted);
  add_call(dumps[1], 1, 1, State::kStarted);
  const FlightReport report = report_flight(dumps);
  EXPECT_EQ(report.culprits, std::vector<int64_t>{2});
  EXPECT_EQ(report.groups.at(0).name, "b");
  EXPECT_EQ(report.findings.size(), 1u);
  EXPECT_FALSE(report.in_a_circle);
}

TEST(FlightReport, ACircle) {
  const run::FlightGroup a{"a", "", {0, 1}}, b{"b", "", {0, 1}};
  std::vector<FlightDump> dumps{dump_of(0, {a, b}), dump_of(1, {a, b})};
  add_call(dumps[0], 0, 1, State::kStarted);
  add_call(dumps[1], 1, 1, State::kStarted);
  const FlightReport report = report_flight(dumps);
  EXPECT_TRUE(report.in_a_circle);
  EXPECT_TRUE(report.culprits.empty());
  EXPECT_EQ(report.findings.back().name, "circular_wait");
}

TEST(FlightReport, ARankWithoutADump) {
  auto dumps = world_of(3, 1);
  dumps.erase(dumps.begin());
  for (FlightDump& dump : dumps) add_call(dump, 0, 2, State::kStarted);
  const FlightReport report = report_flight(dumps);
  EXPECT_EQ(report.without_dump, std::vector<int64_t>{0});
  EXPECT_EQ(report.groups.at(0).fault, FlightFault::kNotCompleted);
  EXPECT_EQ(report.culprits, std::vector<int64_t>{0});
}

TEST(FlightReport, SendsAndReceives) {
  auto dumps = world_of(2, 0);
  FlightCall& receive = add_call(dumps[1], 0, 1, State::kStarted, "nccl:recv 1<-0");
  receive.p2p = true;
  FlightReport report = report_flight(dumps);
  ASSERT_EQ(report.pending.size(), 1u);
  EXPECT_EQ(report.pending[0].peer, 0);
  EXPECT_FALSE(report.pending[0].answered);
  EXPECT_EQ(report.culprits, std::vector<int64_t>{0});
  add_call(dumps[0], 0, 1, State::kStarted, "nccl:send 0->1").p2p = true;
  report = report_flight(dumps);
  EXPECT_TRUE(report.pending[0].answered);
  EXPECT_TRUE(report.culprits.empty());
}

TEST(FlightReport, TimesAndArrivals) {
  auto dumps = world_of(2, 2);
  for (FlightDump& dump : dumps)
    for (FlightCall& call : dump.calls) {
      call.created_ns = 1'000'000'000 * call.sequence + (dump.rank == 1 ? 2'000'000 : 0);
      call.duration_ms = 2 + 2 * static_cast<double>(dump.rank);
    }
  const FlightReport report = report_flight(dumps);
  ASSERT_EQ(report.times.size(), 1u);
  EXPECT_EQ(report.times[0].count, 4);
  EXPECT_DOUBLE_EQ(report.times[0].mean_s, 3e-3);
  EXPECT_DOUBLE_EQ(report.times[0].longest_s, 4e-3);
  ASSERT_EQ(report.arrivals.size(), 2u);
  EXPECT_EQ(report.arrivals[0].rank, 1);
  EXPECT_EQ(report.arrivals[0].last, 2);
  EXPECT_EQ(report.arrivals[0].median_ns, 2'000'000);
  EXPECT_EQ(report.arrivals[1].median_ns, 0);
}

TEST(FlightReport, ListsOfRanks) {
  EXPECT_EQ(rank_list({3, 0, 1, 2, 7}), "0-3, 7");
  EXPECT_EQ(rank_list({0, 1, 5}), "0, 1, 5");
  EXPECT_EQ(rank_list({0, 2, 4, 6, 8, 10, 12, 13}), "0, 2, 4, 6, 8, 10 and 2 more");
}

}  // namespace
}  // namespace ergometer::analysis
