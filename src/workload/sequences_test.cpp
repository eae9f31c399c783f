#include "workload/sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "spec/job/sequence_lengths.h"
#include "workload/sequence_loads.h"
#include "workload/test_lines.h"

// Documents of unlike length, drawn and put into micro batches.

namespace ergometer::workload {
namespace {

using namespace test;
using spec::SequenceBatching;
using Lengths = std::vector<int64_t>;

spec::Job job_with(const std::string& lengths, SequenceBatching batching, int64_t sequence,
                   int64_t samples) {
  spec::Job job = job_of(dense_model(2, 256, 512, 4, 4, 1024), sequence);
  job.training.global_batch = samples;
  job.training.sequence_lengths = *spec::parse_sequence_lengths(lengths);
  job.training.sequence_batching = batching;
  return job;
}

// What is cut off a document begins the next sequence.
TEST(Sequences, PackedOnesAreFull) {
  const spec::Job job = job_with("uniform:3000-3000", SequenceBatching::kPacked, 4096, 3);
  const std::vector<MicroBatch> batches = draw_step(job, 0);
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[0].lengths, (Lengths{3000, 1096}));
  EXPECT_EQ(batches[1].lengths, (Lengths{1904, 2192}));
  EXPECT_EQ(batches[2].lengths, (Lengths{808, 3000, 288}));
  for (const MicroBatch& batch : batches) {
    EXPECT_EQ(batch.tokens, 4096);
    EXPECT_EQ(batch.real_tokens, 4096);
  }
  EXPECT_EQ(batches[0].pairs(), (3000.0 * 3000 + 1096.0 * 1096) / 2);
}

TEST(Sequences, PaddedOnesAreAsLongAsTheLongest) {
  spec::Job job = job_with("uniform:1-9000", SequenceBatching::kPadded, 4096, 8);
  job.training.micro_batch = 4;
  for (const MicroBatch& batch : draw_step(job, 3)) {
    ASSERT_EQ(batch.lengths.size(), 4u);
    EXPECT_LE(batch.lengths[0], 4096);
    EXPECT_EQ(batch.lengths, Lengths(4, batch.lengths[0]));
    EXPECT_EQ(batch.tokens, 4 * batch.lengths[0]);
    EXPECT_LT(batch.real_tokens, batch.tokens);
  }
  job.training.sequence_batching = SequenceBatching::kPaddedToSeq;
  for (const MicroBatch& batch : draw_step(job, 3)) EXPECT_EQ(batch.tokens, 4 * 4096);
  // The same documents without padding, but to what divides over 2 x 2 context-parallel pieces.
  job.training.sequence_batching = SequenceBatching::kVariable;
  job.parallelism.cp = 2;
  for (const MicroBatch& batch : draw_step(job, 3)) {
    EXPECT_EQ(batch.tokens % 4, 0);
    EXPECT_LT(batch.tokens - batch.real_tokens, 4);
  }
}

TEST(Sequences, AreDrawnAsTheirDistribution) {
  const spec::Job job = job_with("lognormal:500,1", SequenceBatching::kVariable, 1'000'000, 20'000);
  std::vector<int64_t> lengths;
  double logs = 0;
  for (const MicroBatch& batch : draw_step(job, 0)) {
    lengths.push_back(batch.real_tokens);
    logs += std::log(static_cast<double>(batch.real_tokens));
  }
  std::sort(lengths.begin(), lengths.end());
  EXPECT_NEAR(static_cast<double>(lengths[10'000]), 500, 15);
  EXPECT_NEAR(logs / 20'000, std::log(500.0), 0.03);
  const spec::Job counted = job_with("counts:10x3,40x1", SequenceBatching::kVariable, 64, 20'000);
  double tens = 0;
  for (const MicroBatch& batch : draw_step(counted, 0)) tens += batch.real_tokens == 10;
  EXPECT_NEAR(tens / 20'000, 0.75, 0.015);
}

// A seed and a step are other documents; the same are the same.
TEST(Sequences, FollowTheirSeed) {
  spec::Job job = job_with("uniform:1-4000", SequenceBatching::kVariable, 4096, 8);
  const auto lengths = [&](int64_t step) {
    Lengths all;
    for (const MicroBatch& batch : draw_step(job, step)) all.push_back(batch.real_tokens);
    return all;
  };
  const Lengths first = lengths(0);
  EXPECT_EQ(first, lengths(0));
  EXPECT_NE(first, lengths(1));
  job.training.sequence_seed = 2;
  EXPECT_NE(first, lengths(0));
}

TEST(Sequences, BalancedOnesHoldTheSameDocuments) {
  spec::Job job = job_with("lognormal:600,1.2", SequenceBatching::kVariable, 8192, 512);
  job.parallelism.dp = 4;
  job.training.micro_batch = 2;
  const auto tokens = [](const std::vector<MicroBatch>& batches) {
    int64_t sum = 0;
    for (const MicroBatch& batch : batches) sum += batch.real_tokens;
    return sum;
  };
  const std::vector<MicroBatch> random = draw_step(job, 0);
  job.training.sequence_order = spec::SequenceOrder::kLengthBalanced;
  const std::vector<MicroBatch> balanced = draw_step(job, 0);
  EXPECT_EQ(tokens(random), tokens(balanced));
  EXPECT_EQ(random.size(), balanced.size());
  // Micro batches that run at a time are alike, and so are the replicas' sums.
  EXPECT_LT(sequence_loads(job).slowest_load, 1.05);
  job.training.sequence_order = spec::SequenceOrder::kRandom;
  EXPECT_GT(sequence_loads(job).slowest_load, 1.1);
}

// 4096 tokens, one document or 1024 and 3072: 0.625 of the pairs.
TEST(Sequences, AttendWithinDocuments) {
  MicroBatch one, two;
  one.lengths = {4096};
  two.lengths = {1024, 3072};
  EXPECT_EQ(one.pairs(), 8388608);
  EXPECT_EQ(two.pairs(), 0.625 * one.pairs());
}

// The pairs of every document, and half a tile a token more.
TEST(SequenceLoads, FollowTheSquaresOfDocuments) {
  const spec::Job job = job_with("counts:1024,3072", SequenceBatching::kPacked, 4096, 64);
  const SequenceLoads loads = sequence_loads(job);
  const Shapes base = shapes_of_batch(job, loads.base);
  Operator attention;
  attention.kind = OperatorKind::kAttention;
  const size_t measure = loads.measure(attention);
  EXPECT_EQ(loads.measure(Operator{}), 0u);
  const std::vector<MicroBatch> batches = draw_step(job, 5);
  const SequenceLoads drawn = sequence_loads(job, 5, loads);
  for (int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(drawn.of(0, i, 0), 1);
    const MicroBatch& batch = batches[static_cast<size_t>(i)];
    EXPECT_NEAR(drawn.of(measure, i, 0) * executed_pairs(base, 0), batch.pairs() + 64 * 4096, 1);
  }
}

// The mean of all micro batches is what is lowered.
TEST(SequenceLoads, AddUpToTheStep) {
  spec::Job job = job_with("uniform:100-4000", SequenceBatching::kVariable, 4096, 64);
  job.parallelism.dp = 2;
  const SequenceLoads loads = sequence_loads(job);
  double tokens = 0, most = 0;
  for (int64_t batch = 0; batch < 32; ++batch)
    for (int64_t replica = 0; replica < 2; ++replica) {
      tokens += loads.of(0, batch, replica) * static_cast<double>(loads.base.tokens);
      most = std::max(most, loads.of(0, batch, replica));
    }
  EXPECT_NEAR(tokens, loads.totals.tokens, 1e-6);
  EXPECT_NEAR(static_cast<double>(loads.base.tokens), loads.totals.tokens / 64, 2);
  EXPECT_LE(most, loads.full[0]);
  EXPECT_GE(loads.largest(0, 3), loads.of(0, 3, 0));
  EXPECT_NEAR(loads.over_mean(0, 0) + loads.over_mean(0, 1), 2, 1e-12);
}

// Documents that fill their sequences are what is lowered without them.
TEST(SequenceLoads, AreOneWhereDocumentsFillSequences) {
  const SequenceLoads loads =
      sequence_loads(job_with("uniform:4096-4096", SequenceBatching::kPacked, 4096, 8));
  for (const std::vector<double>& row : loads.loads)
    for (const double load : row) EXPECT_EQ(load, 1);
  EXPECT_TRUE(sequence_loads(job_with("even", SequenceBatching::kPacked, 4096, 8)).even());
}

}  // namespace
}  // namespace ergometer::workload
