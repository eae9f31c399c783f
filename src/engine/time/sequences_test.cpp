// Jobs whose documents are of unlike length.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_support.h"
#include "engine/simulate.h"
#include "engine/time/test_agreement.h"
#include "engine/time/test_job.h"

namespace ergometer::engine {
namespace {

using test::Random;
using test::Values;

spec::Job llama(const Values& more) {
  Values values = {
      {"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"gpus", "8"},         {"tp", "2"},
      {"gbs", "32"},          {"seq", "8192"},         {"clocks", "constant"}};
  values.insert(values.end(), more.begin(), more.end());
  return test::job_of(values);
}

run::Run run_of(const spec::Job& job, const SimulateOptions& options = {}) {
  return base::value_of(simulate(job, options));
}

double step_s(const Values& more) { return run_of(llama(more)).performance.step_time_s; }

Values random_documents(Random& random) {
  const auto pick = [&](std::vector<std::string> words) { return random.of(words); };
  Values values = {{"model", pick({"llama3-8b", "qwen3-30b-a3b", "gemma2-9b", "mixtral-8x7b"})},
                   {"cluster", pick({"hgx-h100", "mi300x"})},
                   {"gpus", "16"},
                   {"tp", pick({"1", "2"})},
                   {"cp", pick({"1", "1", "2"})},
                   {"pp", pick({"1", "2", "4"})},
                   {"mbs", pick({"1", "2"})},
                   {"ga", pick({"2", "4", "5"})},
                   {"seq", "2048"},
                   {"num_layers", "4"},
                   {"clocks", "constant"},
                   {"sequence_lengths", pick({"lognormal:400,1", "uniform:1-3000",
                                              "counts:64x9,2000x1", "lognormal:3000,0.5"})},
                   {"sequence_batching", pick({"packed", "padded", "padded-to-seq", "variable"})},
                   {"sequence_order", pick({"random", "length-balanced"})},
                   {"shuffle", std::to_string(random.below(100))}};
  if (random.below(3) == 0) values.emplace_back("recompute", pick({"full", "selective"}));
  if (random.below(3) == 0) values.emplace_back("schedule", pick({"gpipe", "zb-h1"}));
  if (random.below(3) == 0) values.emplace_back("ep", pick({"2", "4"}));
  if (random.below(4) == 0) values.emplace_back("cp_comm_type", pick({"all_gather", "a2a"}));
  if (random.below(4) == 0) values.emplace_back("overlap_grad_reduce", "true");
  return values;
}

TEST(UnlikeDocuments, SweepAndEventsAgree) {
  int64_t tried = 0;
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(base::random_cases(60)); ++seed) {
    Random random(seed);
    const auto job = test::try_job_of(random_documents(random));
    if (!job) continue;
    test::expect_engines_agree(*job, random, seed);
    if (testing::Test::HasFailure()) return;
    ++tried;
  }
  EXPECT_GT(tried, 5);
}

// Documents that fill their sequences, or are padded to that, cost what sequences without them do.
TEST(UnlikeDocuments, ThatFillSequencesChangeNothing) {
  const double even = step_s({});
  EXPECT_NEAR(step_s({{"sequence_lengths", "uniform:8192-8192"}}), even, 1e-12 * even);
  EXPECT_NEAR(
      step_s({{"sequence_lengths", "uniform:1-8192"}, {"sequence_batching", "padded-to-seq"}}),
      even, 1e-6 * even);
}

// All of one length that divides the sequence: as the mean length of packed documents has it.
TEST(UnlikeDocuments, OfOneLengthAreThatMeanLength) {
  const double mean = step_s({{"packed_mean_length", "2048"}});
  EXPECT_NEAR(step_s({{"sequence_lengths", "uniform:2048-2048"}}), mean, 1e-9 * mean);
  EXPECT_LT(mean, 0.97 * step_s({}));
}

// Half as many tokens in every micro batch: as a job of half the sequence.
TEST(UnlikeDocuments, WithoutPaddingAreAsShortSequences) {
  const double half = step_s({{"seq", "4096"}});
  EXPECT_NEAR(
      step_s({{"sequence_lengths", "uniform:4096-4096"}, {"sequence_batching", "variable"}}), half,
      1e-6 * half);
  EXPECT_NEAR(step_s({{"sequence_lengths", "uniform:4096-4096"}, {"sequence_batching", "padded"}}),
              half, 1e-6 * half);
}

// Prices in a straight line: what micro batches of 2048 and 6144 take together, two jobs of their
// own would, within what kernels' tiles and ramps bend it.
TEST(UnlikeDocuments, LieBetweenJobsOfTheirLengths) {
  const Values one = {{"gpus", "1"}, {"tp", "1"}, {"gbs", "64"}, {"num_layers", "8"}};
  const auto with = [&](Values more) {
    more.insert(more.end(), one.begin(), one.end());
    return run_of(test::job_of([&] {
      Values values = {{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"clocks", "constant"}};
      values.insert(values.end(), more.begin(), more.end());
      return values;
    }()));
  };
  const run::Run mixed = with({{"seq", "8192"},
                               {"sequence_lengths", "counts:2048,6144"},
                               {"sequence_batching", "variable"}});
  const double short_s = with({{"seq", "2048"}}).performance.breakdown_s.compute;
  const double long_s = with({{"seq", "6144"}}).performance.breakdown_s.compute;
  const double tokens = mixed.performance.tokens_per_s * mixed.performance.step_time_s;
  const double longs = (tokens - 64 * 2048) / 4096;
  const double expected_s = short_s * (64 - longs) / 64 + long_s * longs / 64;
  EXPECT_NEAR(mixed.performance.breakdown_s.compute, expected_s, 0.03 * expected_s);
}

TEST(UnlikeDocuments, NeedTheMemoryOfTheLongestMicroBatch) {
  const Values padded = {{"sequence_batching", "padded"}, {"gbs", "64"}};
  const auto peak = [&](const std::string& lengths) {
    Values values = padded;
    values.emplace_back("sequence_lengths", lengths);
    return run_of(llama(values)).memory.peak_bytes;
  };
  const double longest = run_of(llama({})).memory.peak_bytes;
  EXPECT_NEAR(peak("counts:1024,8192"), longest, 1e-3 * longest);
  EXPECT_LT(peak("uniform:1024-1024"), 0.8 * longest);
}

// Replicas wait for the one with the most work; balance takes that away, up to the same work in
// equal parts, but for where the straight lines of the two jobs' prices lie.
TEST(UnlikeDocuments, RowsSayWhatBalanceBrings) {
  const spec::Job job =
      llama({{"sequence_lengths", "lognormal:900,1.3"}, {"sequence_batching", "variable"}});
  const run::Run run = run_of(job, {.sequence_rows = true});
  ASSERT_EQ(run.sequences.size(), 4u);
  const run::SequenceRow &played = run.sequences[0], &evenly = run.sequences[1],
                         &balanced = run.sequences[2], &packed = run.sequences[3];
  EXPECT_EQ(played.setting, "--sequence-lengths lognormal:900,1.3");
  EXPECT_EQ(balanced.setting, "--sequence-order length-balanced");
  EXPECT_GE(played.step_time_s, played.step_time_s_low);
  EXPECT_LE(played.step_time_s, played.step_time_s_high);
  EXPECT_GE(run.performance.step_time_s, played.step_time_s_low * (1 - 1e-9));
  EXPECT_LE(run.performance.step_time_s, played.step_time_s_high * (1 + 1e-9));
  // Tokens are those of a drawn step on average, whichever step was played.
  EXPECT_NEAR(run.performance.tokens_per_s * run.performance.step_time_s,
              played.tokens_per_s * played.step_time_s, 1e-3);
  EXPECT_LT(evenly.step_time_s, played.step_time_s);
  EXPECT_LT(balanced.step_time_s, played.step_time_s);
  EXPECT_LT(evenly.step_time_s, 1.01 * balanced.step_time_s);
  EXPECT_GT(played.waiting_fraction, balanced.waiting_fraction);
  EXPECT_NEAR(evenly.waiting_fraction, 0, 1e-9);
  EXPECT_EQ(packed.padding_fraction, 0);
  EXPECT_TRUE(run_of(llama({}), {.sequence_rows = true}).sequences.empty());
}

// Energy is that of all replicas' work, wherever it lies: nothing draws it in no time.
TEST(UnlikeDocuments, DrawThePowerOfTheirWork) {
  const auto powered = [](const std::string& order) {
    return run_of(llama({{"clocks", "governed"},
                         {"gbs", "128"},
                         {"sequence_lengths", "lognormal:2500,1.2"},
                         {"sequence_batching", "variable"},
                         {"sequence_order", order}}));
  };
  const run::Run random = powered("random"), balanced = powered("length-balanced");
  EXPECT_LT(random.power.peak_w_per_gpu, 750);
  EXPECT_LT(balanced.performance.step_time_s, random.performance.step_time_s);
  EXPECT_GT(balanced.power.mean_w_per_gpu, random.power.mean_w_per_gpu);
  EXPECT_NEAR(balanced.power.tokens_per_j, random.power.tokens_per_j,
              0.1 * random.power.tokens_per_j);
}

}  // namespace
}  // namespace ergometer::engine
