#include "together/one_node.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::together {
namespace {

spec::Job tenant_job(int64_t gpus) {
  spec::Job job;
  job.gpus = gpus;
  job.cluster.node.gpus = 8;
  for (const char* part : {"cpu", "dram", "nic", "switch", "other", "supply_fixed"})
    job.cluster.node.parameters.set(std::string("power.") + part,
                                    {100, "W", "", base::Grade::kAssumed});
  job.cluster.node.parameters.set("power.supply_efficiency", {0.95, "", "", base::Grade::kAssumed});
  return job;
}

run::Run tenant_run(int64_t gpus, double gpu_w, double node_w) {
  run::Run run;
  run.power.cluster_mean_w = node_w;
  run.power.gpu_parts = {{"tensor", 200}, {"hbm", 60}};
  for (int64_t rank = 0; rank < gpus; ++rank)
    run.ranks.push_back({.rank = rank, .breakdown_s = {}, .mean_power_w = gpu_w});
  return run;
}

// one_node.cpp, "Worked".
TEST(OneNode, PartsOfJobsAddUpToTheNode) {
  const spec::Job four = tenant_job(4), two = tenant_job(2);
  const Place first{{0}, {0, 1, 2, 3}}, second{{0}, {4, 5}};
  const run::Run a = tenant_run(4, 500, 5000), b = tenant_run(2, 400, 5000);
  const std::vector<Tenant> tenants = {{&four, &first, &a}, {&two, &second, &b}};
  const double own_a = own_mean_w(tenants[0], others_work(tenants, {1}));
  const double own_b = own_mean_w(tenants[1], others_work(tenants, {0}));
  EXPECT_NEAR(own_a, (2000 + 1300) / 0.95, 1e-9);
  EXPECT_NEAR(own_b, (800 + 650) / 0.95, 1e-9);
  EXPECT_NEAR(own_a + own_b, 5000, 1e-9);
  EXPECT_EQ(own_mean_w(tenants[0], {}), 5000);
}

TEST(OneNode, OthersDrawOnTheirOwnGpus) {
  const spec::Job two = tenant_job(2);
  const Place place{{3}, {6, 7}};
  const run::Run run = tenant_run(2, 400, 3000);
  const auto work = others_work(std::vector<Tenant>{{&two, &place, &run}}, {0});
  ASSERT_EQ(work.size(), 2U);
  EXPECT_EQ(work[0].gpu, 6);
  EXPECT_EQ(work[1].gpu, 7);
  EXPECT_EQ(work[1].watts, 400);
  EXPECT_EQ(work[1].memory_w, 60);  // a GPU of which nothing else is known
}

TEST(OneNode, ARankMapSaysTheOrderOfTheJobsGpus) {
  spec::Job job = tenant_job(3);
  EXPECT_EQ(on_own_gpus(job, {{0}, {4, 5, 7}}).parallelism.rank_map,
            (std::vector<int64_t>{4, 5, 7}));
  job.parallelism.rank_map = {6, 0, 2};
  EXPECT_EQ(on_own_gpus(job, {{0}, {4, 5, 7}}).parallelism.rank_map,
            (std::vector<int64_t>{7, 4, 5}));
  EXPECT_EQ(on_own_gpus(job, {{0}}).parallelism.rank_map, (std::vector<int64_t>{6, 0, 2}));
}

TEST(OneNode, JobsAreInOneRoom) {
  spec::Job a = tenant_job(4), b = tenant_job(4);
  const std::vector<Place> places = {{{0}, {0, 1, 2, 3}}, {{0}, {4, 5, 6, 7}}};
  const auto check = [&] {
    return check_rooms(std::vector<Tenant>{{&a, &places[0]}, {&b, &places[1]}}, {"a", "b"}, places);
  };
  EXPECT_TRUE(check());
  b.conditions.fan = 0.5;
  EXPECT_TRUE(base::error_of(check()).starts_with("a and b share node 0 and say another cooling"));
  b = a;
  b.conditions.cluster_cap_w = 1e4;
  EXPECT_TRUE(base::error_of(check()).starts_with("b shares node 0 with a and has a cluster_cap"));
}

TEST(OneNode, AJobSaysNothingOfGpusThatItHasNot) {
  spec::Job a = tenant_job(4);
  const std::string name = "a";
  const std::vector<Place> places = {{{0}, {4, 5, 6, 7}}};
  a.conditions.overrides = {{.node = 0, .gpu = 5, .text = "node0.gpu5.power_cap=300W"}};
  EXPECT_TRUE(check_rooms(std::vector<Tenant>{{&a, &places[0]}}, {name}, places));
  a.conditions.overrides[0].gpu = 0;
  EXPECT_TRUE(base::error_of(check_rooms(std::vector<Tenant>{{&a, &places[0]}}, {name}, places))
                  .starts_with("a has an override of GPU 0 of its node"));
}

TEST(OneNode, OnlyTheNodesOwnGpusAreShared) {
  const std::vector<Place> places = {{{0}, {0}}, {{0}, {1}}, {{1}, {1}}, {{2}}};
  EXPECT_EQ(sharing_node(places, 0), std::vector<size_t>{1});
  EXPECT_TRUE(sharing_node(places, 2).empty());
  EXPECT_TRUE(sharing_node(places, 3).empty());
}

}  // namespace
}  // namespace ergometer::together
