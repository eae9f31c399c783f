#include "search/pipeline/pipeline_time.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "search/space/test_space.h"

namespace ergometer::search {
namespace {

/// Eight stages of six chunks, 32 micro batches; forward 3 s, backward 6 s, transfers of next to
/// nothing. The first chunk and the last one of all may cost more.
class Deep {
 public:
  Deep()
      : space_(test::space_of({{"model", "llama3-8b"},
                               {"cluster", "hgx-h100"},
                               {"gpus", "8"},
                               {"gbs", "8"},
                               {"seq_length", "1024"}})),
        chunks_(3) {
    for (size_t stage = 0; stage < 8; ++stage) {
      division_.chunk_kinds.emplace_back(6, 1);
      division_.stage_kinds.push_back(stage == 0 ? 0 : stage == 7 ? 2 : 1);
    }
    division_.stages.resize(8);
    division_.chunk_kinds.front().front() = 0;
    division_.chunk_kinds.back().back() = 2;
    division_.first_stage = {0, 1, 7};
    set_transfers(1e-9);
    LinkDemand all;
    all.share = {1, 1};
    demands_.transfers.assign(8, {all, all});
    for (size_t kind = 0; kind < 3; ++kind)
      for (int lane = 0; lane < kLanes; ++lane) set(kind, lane, 1);
  }
  void set_transfers(double send_s) {
    TransferCost link;
    for (TransferCost::Message& message : link.messages) message.send_s = send_s;
    links_.assign(8, link);
  }
  /// Every message fills the direction that it takes of a torus' line. The closing link leads back.
  void fill_lines() {
    LinkDemand forth, back;
    forth.share[LinkDemand::kLines] = back.share[LinkDemand::kLines + 1] = 1;
    demands_.lines_are_of_ends = false;
    demands_.transfers.assign(8, {forth, back});
    demands_.transfers.back() = {back, forth};
    for (size_t s = 0; s < links_.size(); ++s)
      for (TransferCost::Message& message : links_[s].messages) {
        const bool closes = s == 7, first = s == 0, last = s == 6;
        message.slow_followed = {closes || first ? 1.0 : 2.0, closes || last ? 1.0 : 2.0};
        message.slow_shared = {closes || first ? 2.0 : 1.0, closes || last ? 2.0 : 1.0};
      }
  }
  /// A chunk kind's slots are so much longer; `host_s`: to launch each.
  void set(size_t kind, int lane, double longer, double host_s = 0) {
    for (const Slot slot : {Slot::kForward, Slot::kPairedForward})
      chunks_[kind][static_cast<size_t>(slot)].set(
          lane, {.tt = 3 * longer, .th = 3 * longer, .hh = host_s});
    for (const Slot slot : {Slot::kBackward, Slot::kPairedBackward})
      chunks_[kind][static_cast<size_t>(slot)].set(
          lane, {.tt = 6 * longer, .th = 6 * longer, .hh = host_s});
  }
  /// When the step is over, as found and as all of it is played.
  Batch found_s() {
    PipelineEnds ends;
    times_.find(job(), kShape, division_, chunks_, links_, false, nullptr, 0, ends);
    return latest(ends.by_kind);
  }
  Batch played_s() const {
    std::vector<Batch> ends;
    play(make_script(job(), kShape), all_chunks(), links_, false, ends);
    return latest(ends);
  }
  /// The same of the first lane, event by event.
  double found_sharing_s() {
    PipelineEnds ends;
    times_.find(job(), kOverlapped, division_, chunks_, links_, false, &demands_, 0, ends);
    return latest(ends.by_kind)[0];
  }
  double played_sharing_s() const {
    std::vector<double> ends;
    play_sharing(make_script(job(), kOverlapped), all_chunks(), links_, demands_, 0, ends);
    return *std::max_element(ends.begin(), ends.end());
  }

 private:
  static constexpr PipelineShape kShape{
      .stages = 8, .chunks = 6, .micro_batches = 32, .schedule = spec::Schedule::kInterleaved};
  static constexpr PipelineShape kOverlapped = [] {
    PipelineShape shape = kShape;
    shape.overlap = true;
    return shape;
  }();
  std::vector<const ChunkCosts*> all_chunks() const {
    std::vector<const ChunkCosts*> costs;
    for (const std::vector<int>& kinds : division_.chunk_kinds)
      for (const int kind : kinds) costs.push_back(&chunks_[static_cast<size_t>(kind)]);
    return costs;
  }
  const spec::Job& job() const { return space_.bases().front().megatron; }
  static Batch latest(const std::vector<Batch>& ends) {
    Batch last{};
    for (const Batch& end : ends)
      for (size_t i = 0; i < kLanes; ++i) last[i] = std::max(last[i], end[i]);
    return last;
  }

  Space space_;
  Division division_;
  std::vector<ChunkCosts> chunks_;
  std::vector<TransferCost> links_;
  PipelineDemands demands_;
  PipelineTimes times_;
};

constexpr double kNear = 1e-3;  // of what transfers take

TEST(PipelineTimes, InterleavingCostsABubbleOfOneChunkAStage) {
  Deep deep;
  // 32 micro batches in 6 chunks, and 7 stages to fill: 9 s each.
  const Batch found = deep.found_s();
  for (const double end : found) EXPECT_NEAR(end, (32 * 6 + 7) * 9, kNear);
}

TEST(PipelineTimes, LongerFirstAndLastChunksCountOncePerMicroBatch) {
  Deep deep;
  deep.set(0, 2, 1.5);
  deep.set(2, 2, 3);
  const Batch found = deep.found_s(), played = deep.played_s();
  EXPECT_NEAR(found[2], played[2], kNear);
  // The last stage has two chunks' worth more for each micro batch.
  EXPECT_GT(found[2], (32 * 8 + 7) * 9);
  EXPECT_NEAR(found[0], (32 * 6 + 7) * 9, kNear);
}

// A long last chunk gives the host a lead over those whose launches take longer than their
// kernels, which more chunks use up.
TEST(PipelineTimes, ChunksThatWaitForTheirHostArePlayed) {
  Deep deep;
  for (size_t kind = 0; kind < 3; ++kind) deep.set(kind, 5, kind == 2 ? 4 : 1, 5.5);
  const Batch found = deep.found_s(), played = deep.played_s();
  EXPECT_NEAR(found[5], played[5], 0.005 * played[5]);
  // Beside a lane that does not.
  EXPECT_NEAR(found[0], (32 * 6 + 7) * 9, kNear);
}

// Messages that fill their link: a chunk has two in and two out, and slots of 9 s.
TEST(PipelineTimes, ChunksThatWaitForTransfersArePlayed) {
  Deep deep;
  for (const double send_s : {0.5, 3.0, 15.0}) {
    deep.set_transfers(send_s);
    const double played_s = deep.played_sharing_s();
    EXPECT_NEAR(deep.found_sharing_s(), played_s, 0.01 * played_s) << send_s;
  }
  // Where they take eight times as long as the slots, further stages are not alike: with fewer
  // chunks, too, a quarter of the time would be missing.
  deep.set_transfers(17);
  EXPECT_NEAR(deep.found_sharing_s() / deep.played_sharing_s(), 1, 0.07);
}

// Those of the short pipelines that are played share as those of the whole one; the link to the
// last stage, unlike the inner ones, with one that leads back.
TEST(PipelineTimes, MessagesThatFillALineAreFoundAsTheyArePlayed) {
  Deep deep;
  for (const double send_s : {0.5, 1.5, 3.0}) {
    deep.set_transfers(send_s);
    deep.fill_lines();
    const double played_s = deep.played_sharing_s(), plain_s = deep.played_s()[0];
    EXPECT_NEAR(deep.found_sharing_s(), played_s, kNear) << send_s;
    EXPECT_NEAR(deep.found_s()[0], plain_s, 0.006 * plain_s) << send_s;
  }
}

}  // namespace
}  // namespace ergometer::search
