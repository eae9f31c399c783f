#include "search/pipeline/shared_pipeline.h"

#include <gtest/gtest.h>

#include "search/space/random_candidates.h"
#include "search/space/test_space.h"

namespace ergometer::search {
namespace {

TransferCost messages_of(double seconds) {
  TransferCost link;
  for (TransferCost::Message& message : link.messages) message.send_s = seconds;
  return link;
}

/// Two stages, one micro batch: forward 3 s, backward 6 s, messages of 2 s, costs alike.
class Small {
 public:
  explicit Small(PipelineShape shape)
      : space_(test::space_of({{"model", "llama3-8b"},
                               {"cluster", "hgx-h100"},
                               {"gpus", "8"},
                               {"gbs", "8"},
                               {"seq_length", "1024"}})),
        script(make_script(space_.bases().front().megatron, shape)) {
    for (BatchCost& slot : chunk) {
      for (int lane = 0; lane < kLanes; ++lane) slot.set_beside_data(lane, 1, 1);
      slot.slow_transfer.fill(1);
      slot.slows_transfer.fill(1);
    }
    set(Slot::kForward, 3);
    set(Slot::kPairedForward, 3);
    set(Slot::kBackward, 6);
    set(Slot::kPairedBackward, 6);
    const auto stages = static_cast<size_t>(shape.stages);
    costs.assign(stages * static_cast<size_t>(shape.chunks), &chunk);
    links.assign(stages, messages_of(2));
    demands.transfers.resize(stages);
  }
  void set(Slot slot, double seconds) {
    for (int lane = 0; lane < kLanes; ++lane)
      chunk[static_cast<size_t>(slot)].set(lane, {.tt = seconds, .th = seconds});
  }
  /// Event by event.
  std::vector<double> ends() const {
    std::vector<double> found;
    play_sharing(script, costs, links, demands, 0, found);
    return found;
  }
  /// In the order of the program.
  std::vector<double> plain_ends() const {
    std::vector<Batch> found;
    play(script, costs, links, true, found);
    std::vector<double> first;
    for (const Batch& end : found) first.push_back(end[0]);
    return first;
  }
  void scatter(std::span<const Piece> pieces) {
    for (const Slot slot : {Slot::kBackward, Slot::kPairedBackward})
      chunk[static_cast<size_t>(slot)].pieces = pieces;
  }

 private:
  Space space_;

 public:
  PipelineScript script;
  ChunkCosts chunk;
  std::vector<const ChunkCosts*> costs;
  std::vector<TransferCost> links;
  PipelineDemands demands;
};

TEST(SharedPipeline, WithNothingToShareItIsThePlainPlay) {
  Draws draws(3);
  for (int round = 0; round < 60; ++round) {
    PipelineShape shape;
    shape.stages = draws.pick(std::array{2, 3, 4, 6});
    shape.schedule = draws.pick(std::array{spec::Schedule::kOneFOneB, spec::Schedule::kGpipe,
                                           spec::Schedule::kInterleaved});
    if (shape.schedule == spec::Schedule::kInterleaved) shape.chunks = draws.pick(std::array{2, 3});
    shape.micro_batches = shape.stages * draws.pick(std::array{1, 2, 3});
    Small small(shape);
    // Messages in no time cannot meet, so that order of program and of time are one.
    small.links.assign(small.links.size(), messages_of(1e-9));
    std::vector<Batch> plain;
    play(small.script, small.costs, small.links, false, plain);
    const std::vector<double> sharing = small.ends();
    for (size_t s = 0; s < sharing.size(); ++s) EXPECT_NEAR(sharing[s], plain[s][0], 1e-6);
  }
}

TEST(SharedPipeline, TransfersBesideASlotSlowIt) {
  // Stage 1 runs F0 5-8, B0 8-14, F1 14-17, B1 17-23, stage 0 its B1 25-31. A message takes 2 s,
  // and a slot beside it does 4/3 s of its work meanwhile: B0 (receiving for F1) and F1 (sending
  // B0's gradient) are longer by 2/3 s each. Stage 0's F1 is longer too, but in time.
  Small small({.stages = 2, .chunks = 1, .micro_batches = 2, .overlap = true});
  EXPECT_NEAR(small.ends()[0], 31, 1e-9);
  for (BatchCost& slot : small.chunk) slot.slow_transfer.fill(1.5);
  EXPECT_NEAR(small.ends()[0], 31 + 4.0 / 3, 1e-9);
}

Piece piece(double share, double sent_s) {
  Piece made;
  made.share.fill(share);
  made.sent_s.fill(sent_s);
  return made;
}

TEST(SharedPipeline, GradientsAreSentBesideTheNextSlotAndTheLastOnesBehindIt) {
  // One micro batch: stage 1 runs forward and backward, then 4 s of gradients leave.
  Small small({.stages = 2, .chunks = 1, .micro_batches = 1});
  const std::vector<double> without = small.ends(), plain_without = small.plain_ends();
  const std::vector<Piece> pieces = {piece(0.5, 1), piece(0.5, 4)};
  small.scatter(pieces);
  // The first piece's second hides behind the second piece's three.
  EXPECT_NEAR(small.ends()[0] - without[0], 4, 1e-9);
  EXPECT_NEAR(small.plain_ends()[0] - plain_without[0], 4, 1e-9);
}

TEST(SharedPipeline, GradientsSlowSlots) {
  // The second half's 3 s beside 1 s of gradients: for 2 s both at half pace, then 2 s alone.
  Small small({.stages = 2, .chunks = 1, .micro_batches = 1});
  const std::vector<double> without = small.plain_ends();
  const std::vector<Piece> pieces = {piece(0.5, 1), piece(0.5, 0)};
  small.scatter(pieces);
  for (BatchCost& slot : small.chunk)
    for (int lane = 0; lane < kLanes; ++lane) slot.set_beside_data(lane, 2, 2);
  EXPECT_NEAR(small.plain_ends()[1] - without[1], 1, 1e-9);
  EXPECT_NEAR(small.ends()[1] - without[1], 1, 1e-9);
}

TEST(SharedPipeline, ALaneIsWhatItIsBesideOneThatWaitsForItsHost) {
  Small small({.stages = 2, .chunks = 1, .micro_batches = 3});
  const std::vector<Piece> pieces = {piece(0.3, 1.7)};
  small.scatter(pieces);
  for (BatchCost& slot : small.chunk)
    for (int lane = 0; lane < kLanes; ++lane) slot.set_beside_data(lane, 1.3, 1.7);
  const std::vector<double> alone = small.plain_ends();
  for (BatchCost& slot : small.chunk) slot.set(3, {.tt = 3, .th = 5, .hh = 4});
  const std::vector<double> beside = small.plain_ends();
  for (size_t stage = 0; stage < alone.size(); ++stage) EXPECT_EQ(beside[stage], alone[stage]);
}

TEST(SharedPipeline, WhatAStagePassesOnAndWhatItReceivesShareALineOfStages) {
  // Two stages of two chunks, two micro batches. At 8 s stage 0 sends the second one's forward
  // while stage 1 sends the first one's back to it, 2 s each alone; of a line on which both go
  // forth each has half, 8-12 s. So again with what follows on these, then no two go forth at once.
  Small small(
      {.stages = 2, .chunks = 2, .micro_batches = 2, .schedule = spec::Schedule::kInterleaved});
  const std::vector<double> apart = small.ends(), plain_apart = small.plain_ends();
  small.demands.lines_are_of_ends = false;
  for (auto& link : small.demands.transfers) link[0].share[LinkDemand::kLines] = 1;
  for (TransferCost& link : small.links) link.messages[0].slow_followed = {2, 2};
  const std::vector<double> together = small.ends(), plain_together = small.plain_ends();
  for (size_t stage = 0; stage < apart.size(); ++stage) {
    EXPECT_NEAR(together[stage] - apart[stage], 4, 1e-9);
    EXPECT_NEAR(plain_together[stage] - plain_apart[stage], 4, 1e-9);
  }
}

TEST(SharedPipeline, GradientsAndAMessageDivideTheLink) {
  // Stage 1's gradient message (2 s) leaves with its 4 s of weights' gradients on one link: for 4 s
  // both at half pace, then the rest of the gradients alone. Stage 0 gets its message 2 s later.
  Small small({.stages = 2, .chunks = 1, .micro_batches = 1});
  const std::vector<Piece> pieces = {piece(1, 4)};
  small.scatter(pieces);
  const std::vector<double> apart = small.ends(), plain_apart = small.plain_ends();
  small.demands.gradients.share = {0, 1};
  for (auto& link : small.demands.transfers)
    for (LinkDemand& demand : link) demand.share = {0, 1};
  for (TransferCost& link : small.links)
    for (TransferCost::Message& message : link.messages) message.slow_data = message.slows_data = 2;
  const std::vector<double> together = small.ends(), plain_together = small.plain_ends();
  EXPECT_NEAR(together[1] - apart[1], 2, 1e-9);
  EXPECT_GE(together[0], apart[0]);
  EXPECT_NEAR(plain_together[1] - plain_apart[1], 2, 1e-9);
  EXPECT_GE(plain_together[0], plain_apart[0]);
}

}  // namespace
}  // namespace ergometer::search
