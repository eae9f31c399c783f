#include "swarm/play.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace ergometer::swarm {
namespace {

PeerKind fast_line(const char* name, int64_t count) {
  return {.name = name,
          .node = name,
          .count = count,
          .uplink_bytes_per_s = 1e9,
          .downlink_bytes_per_s = 1e9};
}

/// Stages of 1 s forward and 2 s backward, no messages to speak of.
Pipeline pipeline_of(size_t stages, int64_t peers, int64_t micro_batches) {
  Pipeline pipeline{.micro_batches = micro_batches, .stages = {}, .kinds = {}, .work = {}};
  pipeline.stages.resize(stages);
  pipeline.kinds = {fast_line("even", peers)};
  pipeline.work = {std::vector<StageWork>(stages, StageWork{1, 2, 0.5})};
  return pipeline;
}

Outcome played(const Pipeline& pipeline, const PlayOptions& options) {
  const auto outcome = play(pipeline, options);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome.value_or(Outcome{});
}

TEST(SwarmPlay, OnePeerDoesOneThingAfterTheOther) {
  const Outcome outcome = played(pipeline_of(1, 1, 3), {.steps = 2});
  ASSERT_EQ(outcome.step_s.size(), 2u);
  EXPECT_DOUBLE_EQ(outcome.step_s[1], 3 * 3 + 0.5);
  EXPECT_DOUBLE_EQ(outcome.stages[0].busy_s, outcome.stages[0].present_s);
}

TEST(SwarmPlay, EvenPeersTakeWhatOneForwardOneBackwardTakes) {
  // (micro batches of a peer + stages - 1) x 3 s, and the optimizer.
  EXPECT_DOUBLE_EQ(played(pipeline_of(4, 4, 8), {.steps = 1}).step_s[0], (8 + 3) * 3 + 0.5);
  EXPECT_DOUBLE_EQ(played(pipeline_of(4, 8, 16), {.steps = 1}).step_s[0], (8 + 3) * 3 + 0.5);
}

TEST(SwarmPlay, PeersOfSpeedOneAndThreeShareOneToThree) {
  Pipeline pipeline = pipeline_of(1, 1, 40);
  pipeline.kinds.push_back(fast_line("fast", 1));
  pipeline.work.push_back({StageWork{1.0 / 3, 2.0 / 3, 0.1}});
  const Outcome outcome = played(pipeline, {.steps = 5});
  const auto slow = static_cast<double>(outcome.kinds[0].micro_batches);
  const auto fast = static_cast<double>(outcome.kinds[1].micro_batches);
  EXPECT_EQ(slow + fast, 200);
  EXPECT_NEAR(fast / slow, 3, 0.15);
}

// Two stages of one peer each and a third peer that comes and goes, and never has all of the state
// that it fetches from one of them. A micro batch takes 3 s in each stage and two messages of 1 s;
// the one that the third peer's source sends takes 2 s. Then 0.5 s of the optimizer.
TEST(SwarmPlay, WhoFetchesSharesTheLineOfItsSource) {
  Pipeline pipeline = pipeline_of(2, 2, 1);
  pipeline.border_bytes = 1e9;
  const auto last_step_s = [&] {
    return played(pipeline, {.steps = 400, .rebalance_s = 0}).step_s.back();
  };
  EXPECT_DOUBLE_EQ(last_step_s(), 2 * 3 + 2 * 1 + 0.5);
  for (StageBytes& stage : pipeline.stages) stage.state = 1e15;
  pipeline.kinds.push_back(fast_line("restless", 1));
  pipeline.kinds.back().stays_s = 1000;
  pipeline.kinds.back().away_s = 1e-3;
  pipeline.work.push_back(pipeline.work.front());
  EXPECT_NEAR(last_step_s(), 2 * 3 + 1 + 2 + 0.5, 1e-6);
}

TEST(SwarmPlay, GradientsGoRoundTheRingOfAStage) {
  Pipeline pipeline = pipeline_of(1, 4, 4);
  pipeline.stages[0].gradients = 8e9;
  // 2 x 3 rounds of a quarter over 1 GB/s, behind a micro batch each.
  EXPECT_DOUBLE_EQ(played(pipeline, {.steps = 1}).step_s[0], 3 + 6 * 2 + 0.5);
  pipeline.gathers_gradients = true;
  EXPECT_DOUBLE_EQ(played(pipeline, {.steps = 1}).step_s[0], 3 + 3 * 8 + 0.5);
}

TEST(SwarmPlay, EndsAddUpATiedEmbedding) {
  Pipeline pipeline = pipeline_of(2, 2, 1);
  pipeline.tied_bytes = 2e9;
  EXPECT_DOUBLE_EQ(played(pipeline, {.steps = 1}).step_s[0], 6 + 2 + 0.5);
}

TEST(SwarmPlay, MessagesWaitForTheLine) {
  Pipeline pipeline = pipeline_of(2, 2, 1);
  pipeline.border_bytes = 1e9;
  pipeline.kinds[0].latency_s = 0.25;
  // Forward, message, forward and backward, message, backward: each message 1 s and twice 0.25 s.
  EXPECT_DOUBLE_EQ(played(pipeline, {.steps = 1}).step_s[0], 1 + 1.5 + 3 + 1.5 + 2 + 0.5);
}

TEST(SwarmPlay, PeersThatLeaveAreReplacedAndTheirWorkIsDoneAgain) {
  Pipeline pipeline = pipeline_of(3, 9, 30);
  pipeline.border_bytes = 1e8;
  for (StageBytes& stage : pipeline.stages) stage.state = 5e9;
  pipeline.kinds[0].stays_s = 200;
  pipeline.kinds[0].away_s = 60;
  const PlayOptions options{.steps = 20, .seed = 7, .rebalance_s = 100};
  const Outcome outcome = played(pipeline, options);
  ASSERT_EQ(outcome.step_s.size(), 20u);
  EXPECT_GT(outcome.left, 10);
  EXPECT_GT(outcome.joined, 5);
  EXPECT_GT(outcome.redone, 0);
  const double calm_s = played(pipeline_of(3, 9, 30), options).total_s;
  EXPECT_GT(outcome.total_s, calm_s);
  const Outcome again = played(pipeline, options);
  EXPECT_EQ(again.step_s, outcome.step_s);
  EXPECT_NE(played(pipeline, {.steps = 20, .seed = 8, .rebalance_s = 100}).step_s, outcome.step_s);
}

double peers_of(const Outcome& outcome, size_t stage) {
  return outcome.stages[stage].present_s / outcome.total_s;
}

TEST(SwarmPlay, PeersJoinTheSlowestStage) {
  Pipeline pipeline = pipeline_of(2, 8, 24);
  pipeline.work[0][1] = {3, 6, 0.5};  // the second stage takes three times as long
  EXPECT_DOUBLE_EQ(peers_of(played(pipeline, {.steps = 1}), 1), 6);
  // A stage inside sends twice what an end does: where lines are slow it needs twice the peers.
  Pipeline lines = pipeline_of(3, 8, 24);
  lines.border_bytes = 1e11;
  EXPECT_DOUBLE_EQ(peers_of(played(lines, {.steps = 1}), 1), 4);
}

TEST(SwarmPlay, ADownlinkTakesSeveralSlowUplinksAtOnce) {
  // Four peers of the first stage send 1 GB at 1 GB/s to one whose downlink has 4 GB/s.
  Pipeline pipeline = pipeline_of(2, 1, 4);
  pipeline.border_bytes = 1e9;
  pipeline.kinds = {fast_line("home", 1), fast_line("hub", 1), fast_line("homes", 3)};
  pipeline.kinds[0].downlink_bytes_per_s = pipeline.kinds[2].downlink_bytes_per_s = 1e12;
  pipeline.kinds[1].uplink_bytes_per_s = 1e12;
  pipeline.kinds[1].downlink_bytes_per_s = 4e9;
  pipeline.work.assign(3, {StageWork{40, 80, 0}, StageWork{0.01, 0.01, 0}});
  const Outcome outcome = played(pipeline, {.steps = 1});
  ASSERT_DOUBLE_EQ(peers_of(outcome, 1), 1);
  // Forward, the four messages side by side, four times forward and backward, 1 ms, backward.
  EXPECT_NEAR(outcome.step_s[0], 40 + 1 + 4 * 0.02 + 0.001 + 80, 1e-9);
}

TEST(SwarmPlay, AGradientThatIsLostIsSentAgain) {
  Pipeline pipeline = pipeline_of(2, 1, 1);
  pipeline.border_bytes = 1e6;
  pipeline.kinds = {fast_line("leaves", 1), fast_line("stays", 3)};
  pipeline.kinds[0].stays_s = 1500;
  for (PeerKind& kind : pipeline.kinds) kind.uplink_bytes_per_s = kind.downlink_bytes_per_s = 1e3;
  pipeline.work.push_back(pipeline.work[0]);
  // Forward 1 s, message 1,000 s, 3 s, the gradient 1,000 s: its receiver leaves meanwhile, another
  // does the forward again, and behind the first message it is sent for as long before the
  // backward.
  PlayOptions options{.steps = 1, .seed = 0};
  double leaves_s = 0;
  while (leaves_s < 1005 || leaves_s > 2000)
    leaves_s = -1500 * std::log(1 - base::Random(++options.seed, 0, "swarm peer").uniform(0));
  const Outcome outcome = played(pipeline, options);
  EXPECT_EQ(outcome.left, 1);
  EXPECT_EQ(outcome.redone, 1);
  EXPECT_DOUBLE_EQ(outcome.step_s[0], 1 + 1000 + 3 + 1000 + 1000 + 2 + 0.5);
}

TEST(SwarmPlay, APeerHoldsNoMoreThanIsUnderWay) {
  // The last stage turns each round at once; those before it have done all four forwards until the
  // first gradient comes.
  const Outcome outcome = played(pipeline_of(4, 4, 8), {.steps = 1});
  EXPECT_EQ(outcome.most_held[0], (std::vector<int64_t>{4, 4, 4, 1}));
  EXPECT_EQ(played(pipeline_of(4, 4, 8), {.steps = 1, .in_flight = 2}).most_held[0][0], 8);
}

TEST(SwarmPlay, NobodyLeftIsAnError) {
  Pipeline pipeline = pipeline_of(2, 2, 1000);
  pipeline.kinds[0].stays_s = 60;
  const auto outcome = play(pipeline, {.steps = 100});
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("last peer"), std::string::npos);
  EXPECT_FALSE(play(pipeline_of(3, 2, 4), {.steps = 1}));
}

// 1 MB over 10 kB/s takes 100 s, longer than peers stay; what they fetch when they come as well.
TEST(SwarmPlay, PeersThatLeaveMoreQuicklyThanWorkPassesAreRefused) {
  Pipeline pipeline = pipeline_of(2, 4, 4);
  pipeline.border_bytes = 1e6;
  pipeline.kinds[0].uplink_bytes_per_s = pipeline.kinds[0].downlink_bytes_per_s = 1e4;
  pipeline.kinds[0].stays_s = pipeline.kinds[0].away_s = 10;
  for (const double state_bytes : {0.0, 1e8}) {
    for (StageBytes& stage : pipeline.stages) stage.state = state_bytes;
    const auto outcome = play(pipeline, {.steps = 1});
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().message.find("step 1: peers leave more quickly"), std::string::npos)
        << outcome.error().message;
  }
}

}  // namespace
}  // namespace ergometer::swarm
