#include "together/together.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/test_support.h"
#include "engine/simulate.h"
#include "spec/settings/settings.h"

namespace ergometer::together {
namespace {

/// Data parallelism over nodes that this fabric joins.
NamedJob job_on(const std::string& fabric, const std::string& name, const std::string& gpus,
                const std::string& sequences = "64") {
  spec::Settings settings;
  const auto set = [&](const char* setting, const std::string& value) {
    settings.set(setting, value, {"test", setting});
  };
  set("model", "gpt2");
  set("cluster", "{extends: hgx-h100, name: pod, fabric: {collectives: ib-400g, " + fabric + "}}");
  set("gpus", gpus);
  set("global_batch_size", sequences);
  return {name, base::value_of(spec::resolve(settings))};
}

/// On a pod whose leaves join four nodes and pass a fourth of it on. `planes`: more keys of its
/// fabric.
NamedJob job_on_pod(const std::string& name, const std::string& gpus,
                    const std::string& planes = "") {
  return job_on(
      "kind: fat-tree, tiers: [{name: leaf, nodes_below: 4, oversubscription: 4}, "
      "{name: spine, nodes_below: 0, oversubscription: 1}]" +
          planes,
      name, gpus);
}

TEST(Together, JobsThatShareNothingLoseNothing) {
  const std::vector<NamedJob> jobs = {job_on_pod("a", "32"), job_on_pod("b", "32")};
  const Together of = base::value_of(play_together(jobs, {}));
  const run::Run alone =
      base::value_of(engine::simulate(jobs[0].job, {.kernels = false, .intervals = false}));
  for (const JobBeside& job : of.jobs) {
    EXPECT_EQ(job.alone_step_s, alone.performance.step_time_s);
    EXPECT_EQ(job.step_s, job.alone_step_s);
    EXPECT_EQ(job.mean_w, alone.power.cluster_mean_w);
    EXPECT_EQ(job.slowed_by(), nullptr);
  }
  EXPECT_EQ(of.mean_w, 2 * alone.power.cluster_mean_w);
  EXPECT_LE(of.mean_w, of.likely_peak_w);
  EXPECT_LE(of.likely_peak_w, of.worst_peak_w);
}

// 64 ranks in a ring over 8 nodes: 63 / 8 / 7 = 1.125 nodes from one to the next, so that of four
// nodes under a leaf 1.125 send up, over links for one.
TEST(Together, LoadsAreThoseOfTheBytesThatTheJobSends) {
  const Together of =
      base::value_of(play_together({job_on_pod("a", "64"), job_on_pod("b", "64")}, {}));
  const run::Run alone = base::value_of(
      engine::simulate(job_on_pod("a", "64").job, {.kernels = false, .intervals = false}));
  ASSERT_EQ(alone.links.back().kind, "nic");
  ASSERT_EQ(of.jobs[0].tiers.size(), 1U);
  const TierUse& leaf = of.jobs[0].tiers.front();
  EXPECT_NEAR(leaf.load, 1.125, 1e-9);
  // A node's eight cards send 400 GB/s, and take 1.125 times as long as that.
  EXPECT_NEAR(leaf.busy_s, 1.125 * alone.links.back().bytes_per_step / 8 / 400e9,
              1e-6 * leaf.busy_s);
}

// Three planes of four have three quarters of the cards and of the links above the leaves: links
// are as full, for 4/3 of the time.
TEST(Together, APlaneThatIsDownTakesItsPartOfCardsAndLinks) {
  const auto leaf_of = [](const std::string& planes) {
    const std::vector<NamedJob> jobs = {job_on_pod("a", "64", planes),
                                        job_on_pod("b", "64", planes)};
    return base::value_of(play_together(jobs, {})).jobs[0].tiers.at(0);
  };
  const TierUse all = leaf_of(", planes: 4"), down = leaf_of(", planes: 4, planes_down: 1");
  EXPECT_NEAR(all.load, 1.125, 1e-9);
  EXPECT_NEAR(down.load, 1.125, 1e-9);
  EXPECT_NEAR(down.busy_s, 4.0 / 3 * all.busy_s, 1e-6 * all.busy_s);
}

// A ring over 16 nodes, 127 / 8 / 15 = 1.058 nodes from one to the next: leaves of four pass an
// eighth on and hold it up 8 x 1.058 / 4 = 2.12 times, pods of eight a fourth of that and 32
// x 1.058 / 8 = 4.23 times. What climbs a leaf for a pod to hold up fills half of its links, and
// twice those of the pod.
TEST(Together, OfAnUpperTierOnlyWhatClimbsIsAsked) {
  const NamedJob job = job_on(
      "kind: fat-tree, tiers: [{name: leaf, nodes_below: 4, oversubscription: 8}, {name: "
      "pod, nodes_below: 8, oversubscription: 4}, {name: spine, nodes_below: 0, "
      "oversubscription: 1}]",
      "a", "128", "128");
  const std::vector<TierUse> tiers =
      base::value_of(play_together({job, {"b", job.job}}, {})).jobs[0].tiers;
  ASSERT_EQ(tiers.size(), 2U);
  EXPECT_NEAR(tiers[0].load, 0.5, 1e-9);
  EXPECT_NEAR(tiers[1].load, 2, 1e-9);
}

// No tree of switches: which links jobs share is not known, and at most all of them are.
TEST(Together, StepsOnATorusHaveAnUpperEnd) {
  const NamedJob job = job_on("kind: torus, dims: [4, 4], link_bandwidth: 100 Gb/s", "a", "64");
  const Together of = base::value_of(play_together({job, {"b", job.job}}, {}));
  EXPECT_FALSE(of.meets_on_switches);
  EXPECT_EQ(of.jobs[0].step_s, of.jobs[0].alone_step_s);
  EXPECT_GT(of.jobs[0].most_step_s, 1.05 * of.jobs[0].step_s);
  EXPECT_EQ(of.jobs[0].slower_at_most(), of.jobs[0].most_step_s / of.jobs[0].alone_step_s - 1);
  const NamedJob light = job_on("kind: optical, degree: 4, link_bandwidth: 100 Gb/s", "a", "64");
  EXPECT_EQ(base::value_of(play_together({light, {"b", light.job}}, {})).jobs[0].most_step_s,
            base::value_of(play_together({light, {"b", light.job}}, {})).jobs[0].step_s);
}

TEST(Together, JobsOfOneNameOfClusterAreOnOne) {
  const auto refused =
      play_together({job_on_pod("a", "64"), job_on_pod("b", "64", ", planes: 4")}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "a and b are on clusters that are both named pod and whose nodes or networks are not "
            "the same; --cluster names one for all");
}

TEST(Together, ATorusOfOneNameHasOneForm) {
  const auto on = [](const std::string& name, const std::string& dims) {
    return job_on("kind: torus, link_bandwidth: 100 Gb/s, dims: " + dims, name, "64");
  };
  EXPECT_TRUE(play_together({on("a", "[4, 4]"), on("b", "[4, 4]")}, {}));
  EXPECT_FALSE(play_together({on("a", "[4, 4]"), on("b", "[8, 2]")}, {}));
  EXPECT_FALSE(play_together({on("a", "[4, 4]"), on("b", "[2, 2, 4]")}, {}));
}

TEST(Together, JobsInTurnsShareTheLeavesLinks) {
  const std::vector<NamedJob> jobs = {job_on_pod("a", "32"), job_on_pod("b", "32")};
  const Together of =
      base::value_of(play_together(jobs, {.placement = Placement::kInterleaved, .feed_w = 1.0}));
  for (const JobBeside& job : of.jobs) {
    EXPECT_GT(job.placed_step_s, job.alone_step_s);
    EXPECT_GT(job.step_s, job.placed_step_s);
    ASSERT_NE(job.slowed_by(), nullptr);
    EXPECT_EQ(job.slowed_by()->tier, "leaf");
  }
  EXPECT_EQ(of.jobs[0].step_s, of.jobs[1].step_s);
  EXPECT_FALSE(of.feed->holds());
  EXPECT_DOUBLE_EQ(of.feed->exceeded_fraction, 1);
  EXPECT_DOUBLE_EQ(of.feed->excess_w_per_gpu, (of.worst_peak_w - 1) / 64);
  // A node's host and fans alone draw more than a watt: no caps of GPUs make up for that.
  EXPECT_FALSE(of.feed->caps_can_hold);
}

NamedJob job_on_node(const std::string& name, const std::string& gpus,
                     const std::string& cluster = "hgx-h100") {
  spec::Settings settings;
  const std::pair<const char*, std::string> values[] = {
      {"model", "gpt2"}, {"cluster", cluster}, {"gpus", gpus}, {"global_batch_size", "64"}};
  for (const auto& [setting, value] : values) settings.set(setting, value, {"test", setting});
  return {name, base::value_of(spec::resolve(settings))};
}

// Four GPUs and two of a node whose other two idle: the node as its jobs' parts, and as a run of
// its own has it that differs by the GPUs.
TEST(Together, JobsOnGpusOfOneNodeShareItsPowerAndAir) {
  const std::vector<NamedJob> jobs = {job_on_node("a", "4"), job_on_node("b", "2")};
  const Together of = base::value_of(play_together(jobs, {}));
  EXPECT_EQ(of.nodes(), 1);
  EXPECT_EQ(of.jobs[1].place, (Place{{0}, {4, 5}}));
  EXPECT_EQ(of.jobs[0].on_node, std::vector<size_t>{1});
  const run::Run alone =
      base::value_of(engine::simulate(jobs[0].job, {.kernels = false, .intervals = false}));
  EXPECT_EQ(of.jobs[0].alone_step_s, alone.performance.step_time_s);
  EXPECT_EQ(of.jobs[0].alone_max_c, alone.thermal.max_gpu_c);
  // The first job lies where it does alone; the other one's slots are others than it has alone.
  EXPECT_NEAR(of.jobs[0].placed_max_c, of.jobs[0].alone_max_c, 0.1);
  EXPECT_NE(of.jobs[1].placed_max_c, of.jobs[1].alone_max_c);
  for (const JobBeside& job : of.jobs) EXPECT_GT(job.max_c, job.placed_max_c - 0.1);
  // More than alone, by less than the whole of another node.
  EXPECT_GT(of.mean_w, alone.power.cluster_mean_w);
  const Together apart =
      base::value_of(play_together(jobs, {.placement = Placement::kInterleaved}));
  EXPECT_EQ(apart.nodes(), 2);
  EXPECT_LT(of.mean_w, apart.mean_w);
  EXPECT_NEAR(of.mean_w, of.jobs[0].mean_w + of.jobs[1].mean_w, 1e-9);
  EXPECT_LE(of.mean_w, of.likely_peak_w);
}

// A job that has all GPUs of its switch loses nothing to who has those of the other; both below
// both share the links upward.
TEST(Together, JobsOnGpusOfOneNodeShareItsPcieLinks) {
  const std::string node =
      "{extends: rtx-4090, name: tree, pcie: {socket_link: 10 GB/s, peer_to_peer: false, sockets: "
      "[{nics: [0], switches: [{uplink: gen3 x16, gpus: [0, 1, 2, 3]}]}, {switches: [{uplink: gen3 "
      "x16, gpus: [4, 5, 6, 7]}]}]}}";
  const std::vector<NamedJob> jobs = {job_on_node("a", "4", node), job_on_node("b", "4", node)};
  const Together apart = base::value_of(play_together(jobs, {}));
  const Together mixed =
      base::value_of(play_together(jobs, {.places = {{{0}, {0, 1, 4, 5}}, {{0}, {2, 3, 6, 7}}}}));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(apart.jobs[i].slowed_by(), nullptr);
    ASSERT_NE(mixed.jobs[i].slowed_by(), nullptr);
    EXPECT_TRUE(mixed.jobs[i].slowed_by()->is_pcie);
    EXPECT_GT(mixed.jobs[i].step_s, mixed.jobs[i].warmed_step_s);
  }
  EXPECT_NEAR(mixed.jobs[0].step_s, mixed.jobs[1].step_s, 5e-3 * mixed.jobs[0].step_s);
}

TEST(Together, NodesOfOneNameHaveOnePcieTree) {
  const auto on = [](const std::string& name, const std::string& tree) {
    return job_on_node(name, "4", "{extends: rtx-4090, name: tree" + tree + "}");
  };
  const std::vector<NamedJob> jobs = {
      on("a", ", pcie: {sockets: [{nics: [0], gpus: [0, 1, 2, 3, 4, 5, 6, 7]}]}"), on("b", "")};
  EXPECT_FALSE(play_together(jobs, {}));
}

}  // namespace
}  // namespace ergometer::together
