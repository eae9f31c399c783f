#include "cost/algorithm_play.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/collective/read_msccl.h"
#include "spec/collective/test_algorithms.h"

namespace ergometer::cost {
namespace {

constexpr double kFast = 1e15;

spec::Algorithm algorithm_of(const std::string& xml) {
  return base::value_of(spec::parse_msccl(xml, "a.xml"));
}

/// A port out of and one into every GPU.
AlgorithmRoutes switched(const spec::Algorithm& algorithm, double bytes_per_s, double hop_s) {
  AlgorithmRoutes routes{{}, kFast, {}};
  routes.port_bytes_per_s.assign(algorithm.gpus.size() * 2, bytes_per_s);
  for (size_t gpu = 0; gpu < algorithm.gpus.size(); ++gpu) {
    routes.out.emplace_back();
    for (const spec::ThreadBlock& block : algorithm.gpus[gpu].blocks)
      routes.out.back().push_back(
          {{gpu, algorithm.gpus.size() + static_cast<size_t>(block.send_to)}, hop_s});
  }
  return routes;
}

// Half of 2 GB each way, and the sums back.
TEST(AlgorithmPlay, TwoGpusAddUp) {
  const spec::Algorithm it = algorithm_of(spec::all_pairs_file(2));
  const auto done_s = play_algorithm(it, switched(it, 100e9, 1e-6), 1e9, 1, true);
  EXPECT_NEAR(done_s.front(), 20.002e-3, 1e-9);
  EXPECT_NEAR(play_algorithm(it, switched(it, 100e9, 1e-6), 1e9, 1, false).front(), 20e-3, 1e-9);
}

// A ring of n in 2 (n - 1) steps, each a chunk of 1/n: 2 (n - 1)/n of the buffer over every port.
TEST(AlgorithmPlay, ARingMovesItsClosedForm) {
  for (const int gpus : {2, 4, 8}) {
    const spec::Algorithm it = algorithm_of(spec::ring_file("allreduce", {spec::in_order(gpus)}));
    const double chunk = 8e9 / gpus;
    EXPECT_NEAR(play_algorithm(it, switched(it, 100e9, 0), chunk, 1, true).front(),
                2.0 * (gpus - 1) / gpus * 8e9 / 100e9, 1e-9);
    EXPECT_NEAR(play_algorithm(it, switched(it, 100e9, 5e-6), chunk, 1, true).front(),
                2.0 * (gpus - 1) * (chunk / 100e9 + 5e-6), 1e-9);
  }
}

// 7 chunks out of every port, and back in: as many bytes as a ring's, in two hops instead of 14.
TEST(AlgorithmPlay, AllPairsTakesTwoHops) {
  const spec::Algorithm it = algorithm_of(spec::all_pairs_file(8));
  EXPECT_NEAR(play_algorithm(it, switched(it, 70e9, 2e-6), 1e9, 1, true).front(),
              2 * (7 * 1e9 / 70e9 + 2e-6), 1e-6);
}

// Two channels share a port; a thread block that moves less than its part leaves the rest.
TEST(AlgorithmPlay, ChannelsShareAPortAndABlockHasItsOwnRate) {
  const spec::Algorithm it =
      algorithm_of(spec::ring_file("allgather", {spec::in_order(2), spec::in_order(2)}));
  AlgorithmRoutes routes = switched(it, 100e9, 0);
  EXPECT_NEAR(play_algorithm(it, routes, 1e9, 1, true).front(), 20e-3, 1e-9);
  routes.block_bytes_per_s = 25e9;
  EXPECT_NEAR(play_algorithm(it, routes, 1e9, 1, true).front(), 40e-3, 1e-9);
}

// Max-min: the flow over a slow port of its own takes 10 of 100, the other the 90 that are left.
TEST(AlgorithmPlay, WhatAFlowCannotUseOthersTake) {
  const spec::Algorithm it =
      algorithm_of(spec::ring_file("allgather", {spec::in_order(2), spec::in_order(2)}));
  AlgorithmRoutes routes = switched(it, 100e9, 0);
  routes.port_bytes_per_s.push_back(10e9);
  for (auto& blocks : routes.out) blocks[1].ports.push_back(4);
  routes.port_bytes_per_s[4] = 20e9;  // of both GPUs' second channels
  const auto done_s = play_algorithm(it, routes, 0.9e9, 1, true);
  EXPECT_NEAR(done_s.front(), 90e-3, 1e-9);
}

TEST(AlgorithmPlay, LoopsFollowEachOther) {
  const spec::Algorithm it = algorithm_of(spec::ring_file("allreduce", {spec::in_order(4)}));
  const auto done_s = play_algorithm(it, switched(it, 100e9, 0), 1e9, 3, false);
  ASSERT_EQ(done_s.size(), 3U);
  EXPECT_NEAR(done_s[2], 3 * 6 * 10e-3, 1e-9);
}

}  // namespace
}  // namespace ergometer::cost
