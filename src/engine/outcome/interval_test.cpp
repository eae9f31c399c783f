#include "engine/outcome/interval.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/outcome/evidence_tables.h"
#include "plan/test_job.h"
#include "spec/job/compression.h"

namespace ergometer::engine {
namespace {

constexpr const char* kEvidenceHead =
    "gpu,architecture,software,precision,kind,nodes,groups,rows,most_gpus\n";

TEST(Evidence, IsWrittenAsItIsRead) {
  const std::string text = std::string(kEvidenceHead) +
                           "H100-SXM5-80GB,hopper,megatron-core-25,fp8,dense,several,12,40,1024\n"
                           "MI300X,cdna3,primus,bf16,moe lora,one,1,3,8\n";
  const auto evidence = parse_evidence(text, "evidence.csv");
  ASSERT_TRUE(evidence.has_value());
  ASSERT_EQ(evidence->size(), 2u);
  EXPECT_TRUE((*evidence)[0].key.several_nodes);
  EXPECT_EQ((*evidence)[0].most_gpus, 1024);
  EXPECT_EQ((*evidence)[1].key.kind, "moe lora");
  EXPECT_EQ(evidence_csv(*evidence), text);
}

TEST(Evidence, RefusesWhatIsNoCount) {
  const auto bad = parse_evidence(std::string(kEvidenceHead) + "a,b,c,d,e,one,0,3,8\n", "e.csv");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().message, "e.csv:2: groups is '0', not a number from 1");
  const auto nodes = parse_evidence(std::string(kEvidenceHead) + "a,b,c,d,e,two,1,3,8\n", "e.csv");
  ASSERT_FALSE(nodes.has_value());
  EXPECT_EQ(nodes.error().message, "e.csv:2: nodes is 'two'; it is one or several");
}

TEST(Uncertainty, NamesTheTermThatIsMissing) {
  const auto bad = parse_uncertainty("term,value,source,grade\nbase,0.05,x,assumed\n", "u.csv");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().message, "u.csv: the term gpu_unseen is missing");
}

TEST(Uncertainty, TheCatalogsTablesCanBeRead) {
  EXPECT_GT(catalog_uncertainty().base, 0);
  catalog_evidence();
}

/// Eight GPUs of one node.
spec::Job one_node() {
  spec::Job job = plan::test::make_job({.dp = 8});
  job.cluster.node.gpu.name = "H100-SXM5-80GB";
  job.cluster.node.gpu.measured_as = job.cluster.node.gpu.name;
  job.cluster.node.gpu.architecture = "hopper";
  job.software.name = "megatron-core-25";
  return job;
}

run::Performance ten_seconds() {
  run::Performance p;
  p.step_time_s = 10;
  return p;
}

/// One node with the job's GPU, everything about it seen in ten groups.
std::vector<Evidence> seen(const spec::Job& job) { return {{evidence_key(job), 10, 30, job.gpus}}; }

constexpr Uncertainty kTerms = {.base = 0.05,
                                .gpu_unseen = 0.12,
                                .nodes_unseen = 0.1,
                                .precision_unseen = 0.08,
                                .kind_unseen = 0.12,
                                .per_doubling = 0.02,
                                .host = 0.4,
                                .communication = 0.3};

// Everything seen: sigma = 0.05, so 10 exp(-+ 1.6449 x 0.05) = 9.2106 and 10.8571.
TEST(Interval, IsNarrowWhereEverythingWasSeen) {
  const spec::Job job = one_node();
  const Interval i = step_time_interval(job, ten_seconds(), 0, seen(job), kTerms);
  EXPECT_NEAR(i.sigma, 0.05, 1e-12);
  EXPECT_NEAR(i.low_s, 9.2105, 1e-4);
  EXPECT_NEAR(i.high_s, 10.8571, 1e-4);
  EXPECT_TRUE(i.reasons.empty());
}

// On one GPU nothing is seen of collectives: another eight GPUs are as unsure as without it,
// sigma = hypot(0.05, 0.08), one GPU is not.
TEST(Interval, CountsSoftwareSeenOnOneGpuForOneGpu) {
  spec::Job job = one_node();
  std::vector<Evidence> evidence = seen(job);
  evidence[0].key.software = "another";
  evidence.push_back(seen(job)[0]);
  evidence[1].most_gpus = 1;
  Uncertainty terms = kTerms;
  terms.software_unseen = 0.08;
  Interval i = step_time_interval(job, ten_seconds(), 0, evidence, terms);
  EXPECT_NEAR(i.sigma, std::hypot(0.05, 0.08), 1e-12);
  ASSERT_EQ(i.reasons.size(), 1u);
  EXPECT_EQ(i.reasons[0], "no run of megatron-core-25 on more than one GPU was ever seen");
  job.gpus = 1;
  i = step_time_interval(job, ten_seconds(), 0, evidence, terms);
  EXPECT_NEAR(i.sigma, 0.05, 1e-12);
  EXPECT_EQ(software_seen(job, evidence), SoftwareSeen::kYes);
  job.software.name = "a third";
  EXPECT_EQ(software_seen(job, evidence), SoftwareSeen::kNo);
}

// tests/data/trainer: Hugging Face's Trainer on single H100 and H200.
TEST(Evidence, CountsOurOwnRuns) {
  spec::Job job = one_node();
  job.gpus = 1;
  job.software.name = "transformers-2026";
  EXPECT_EQ(software_seen(job, catalog_evidence()), SoftwareSeen::kYes);
  job.gpus = 8;
  EXPECT_EQ(software_seen(job, catalog_evidence()), SoftwareSeen::kOnOneGpu);
}

// ln(12.5 / 10) = 0.22314, with ln 1.2 = 0.18232 beside it 0.28815: 10 exp 0.28815 = 13.3396; with
// ln 0.9 = -0.10536, 0.24677: 10 / exp 0.24677 = 7.8133.
TEST(Interval, WidensByWhatElseMovesTheStep) {
  run::Performance p = ten_seconds();
  p.step_time_s_low = 8;
  p.step_time_s_high = 12.5;
  widen({.low = 0.9, .high = 1.2}, "clocks", p);
  EXPECT_NEAR(p.step_time_s_low, 7.8133, 1e-3);
  EXPECT_NEAR(p.step_time_s_high, 13.3396, 1e-3);
  ASSERT_EQ(p.interval_reasons.size(), 1u);
  EXPECT_EQ(p.interval_reasons[0], "clocks: -10 to +20 % of the step");
  // To one side alone, and nothing at all.
  p.step_time_s_low = 8;
  p.step_time_s_high = 12.5;
  widen({.low = 1, .high = 1}, "clocks", p);
  EXPECT_NEAR(p.step_time_s_low, 8, 1e-12);
  EXPECT_NEAR(p.step_time_s_high, 12.5, 1e-12);
  EXPECT_EQ(p.interval_reasons.size(), 1u);
}

// The GPU was never seen, nor, therefore, its architecture in this precision:
// sigma^2 = 0.05^2 + 0.12^2 + 0.08^2 = 0.0233.
TEST(Interval, WidensForAnUnseenGpuAndSaysSo) {
  const spec::Job job = one_node();
  std::vector<Evidence> other = seen(job);
  other[0].key.gpu = "another";
  other[0].key.architecture = "another";
  const Interval i = step_time_interval(job, ten_seconds(), 0, other, kTerms);
  EXPECT_NEAR(i.sigma, std::sqrt(0.0233), 1e-12);
  ASSERT_GE(i.reasons.size(), 2u);
  EXPECT_EQ(i.reasons[0], "no " + job.cluster.node.gpu.name + " run was ever seen");
}

TEST(Interval, KnowsAGpuByItsNumbersNotByItsName) {
  spec::Job job = one_node();
  const std::vector<Evidence> evidence = seen(job);
  job.cluster.node.gpu.name = "mine";
  EXPECT_NEAR(step_time_interval(job, ten_seconds(), 0, evidence, kTerms).sigma, 0.05, 1e-12);
  // Numbers of its own, under its own name and under that of a GPU of the catalog.
  job.cluster.node.gpu.measured_as = "";
  Interval i = step_time_interval(job, ten_seconds(), 0, evidence, kTerms);
  EXPECT_NEAR(i.sigma, std::hypot(0.05, 0.12), 1e-12);
  EXPECT_EQ(i.reasons[0], "no mine run was ever seen");
  job.cluster.node.gpu.name = "H100-SXM5-80GB";
  i = step_time_interval(job, ten_seconds(), 0, evidence, kTerms);
  EXPECT_NEAR(i.sigma, std::hypot(0.05, 0.12), 1e-12);
  EXPECT_EQ(i.reasons[0], "no such H100-SXM5-80GB run was ever seen");
}

// Four times the largest run: two doublings, sigma^2 = 0.05^2 + 0.04^2.
TEST(Interval, WidensBeyondTheLargestRun) {
  const spec::Job job = one_node();
  std::vector<Evidence> small = seen(job);
  small[0].most_gpus = job.gpus / 4;
  ASSERT_EQ(small[0].most_gpus * 4, job.gpus);
  const Interval i = step_time_interval(job, ten_seconds(), 0, small, kTerms);
  EXPECT_NEAR(i.sigma, std::hypot(0.05, 0.04), 1e-12);
  ASSERT_EQ(i.reasons.size(), 1u);
}

// Half of the step waits for the host, a tenth for an all-reduce: 0.4 x 0.5 and 0.3 x 0.1.
TEST(Interval, WidensWithWhatTheStepWaitsFor) {
  const spec::Job job = one_node();
  run::Performance p = ten_seconds();
  p.breakdown_s.exposed_all_reduce = 1;
  const Interval i = step_time_interval(job, p, 0.5, seen(job), kTerms);
  EXPECT_NEAR(i.sigma, std::sqrt(0.05 * 0.05 + 0.2 * 0.2 + 0.03 * 0.03), 1e-12);
  ASSERT_EQ(i.reasons.size(), 2u);
  EXPECT_EQ(i.reasons[0], "50 % of the step waits for the host to launch kernels");
}

// As the header works it; 0.9 s each way hide on half the link too.
TEST(Interval, WidensForTheLinkToTheHost) {
  const auto expect = [](const run::Interval& spread, double low, double high) {
    EXPECT_NEAR(spread.low, low, 1e-12);
    EXPECT_NEAR(spread.high, high, 1e-12);
  };
  expect(host_copies_spread(1.9, 6, 10), 1, 1.18);
  expect(host_copies_spread(3, 6, 11), 10 / 11.0, 16 / 11.0);
  expect(host_copies_spread(0.9, 6, 10), 1, 1);
  expect(host_optimizer_spread(2, 10), 0.9, 1.2);
}

// A recording leaves 3 % of form and 4 % of the cluster open: sigma = 0.05, whatever waits.
TEST(Interval, OfARecordedClusterIsWhatTheRecordingLeavesOpen) {
  spec::Job job = one_node();
  const EvidenceKey key = evidence_key(job);
  spec::ClusterEvidence& told = job.cluster.measured.emplace();
  told.software = key.software;
  told.precision = key.precision;
  told.kind = key.kind;
  told.nodes = job.nodes();
  told.form = 0.03;
  told.step_deviation = 0.04;
  told.mostly = "rate of attention";
  const Interval i = step_time_interval(job, ten_seconds(), 0.5, seen(job), kTerms);
  EXPECT_NEAR(i.sigma, 0.05, 1e-12);
  ASSERT_EQ(i.reasons.size(), 1u);
  EXPECT_EQ(i.reasons[0], "the recording leaves 4.0 % open, mostly the rate of attention");
  job.cluster.measured->precision = "another";
  EXPECT_NEAR(step_time_interval(job, ten_seconds(), 0, seen(job), kTerms).sigma,
              std::hypot(0.05, 0.08), 1e-12);
}

TEST(Interval, ConnectionsThatLosePacketsMayPassOnHalfOrTwiceAsMuch) {
  const run::Interval bound = lossy_network_spread(50, 100, 6, 10);
  EXPECT_DOUBLE_EQ(bound.low, 0.7);
  EXPECT_DOUBLE_EQ(bound.high, 1.6);
  const run::Interval line = lossy_network_spread(150, 100, 6, 10);
  EXPECT_DOUBLE_EQ(line.low, 1);
  EXPECT_DOUBLE_EQ(line.high, 1.2);
  EXPECT_EQ(lossy_network_spread(300, 100, 6, 10).high, 1);
}

TEST(Interval, CompressionAndDistanceWereNeverSeen) {
  spec::Job job = one_node();
  spec::compress_gradients(job, {spec::Compression::Kind::kInt8, 1});
  const Interval packed = step_time_interval(job, ten_seconds(), 0, seen(job), kTerms);
  ASSERT_FALSE(packed.reasons.empty());
  EXPECT_EQ(packed.reasons.back(), "no job that compresses what it sends was ever seen");
}

}  // namespace
}  // namespace ergometer::engine
