// With free communication and equal stages the pipeline bubble is what theory says, for every
// schedule: with forward F, backward B = Bi + W of a stage and micro batch, p stages, m micro
// batches and v chunks a stage
//   GPipe, 1F1B   (p - 1) (F + B)           interleaved   (p - 1) (F + B) / v
//   ZB-H1         (p - 1) (F + Bi - W)      looped BFS    (p - 1) (F + B) / v, of m >= p
//   1F1B, stages trained apart   (p - 1) F: nobody waits for a backward of another stage
//   ZB-H2, ZB-V   no more than the last stage waits for its first micro batch, where F = Bi = W:
//                 (p - 1) F, and (p - 1) F / 2 with two chunks
//   DualPipeV     (p - 1) (F + B - 2 W) / 2 where its pairs do not overlap
//   V-Min         where F = Bi = W (4p - 5) F / 2, for p a multiple of three (4p - 3) F / 2
//   V-Half        where F = Bi = W (7p - 9) F / 4, for even p (7p - 8) F / 4
// (training-step notes, section 3; ZB-H1, ZB-H2, ZB-V from arXiv 2401.10241; the V-Min and V-Half
// of arXiv 2405.15362, which says 4p F / 2 and 3p F / 2 for large p, here with the building block
// of least memory; DualPipeV in spec/job/stage_order_test.cpp with its pairs).
#include <gtest/gtest.h>

#include "engine/time/sweep.h"
#include "plan/test_job.h"

namespace ergometer::engine {
namespace {

using workload::Pass;

struct Passes {
  double forward_s = 0, input_s = 0, weight_s = 0;  ///< F, Bi, W of one stage and micro batch
};

/// With the same prices on every role.
Timeline swept(const spec::Job& job, const plan::Plan& plan,
               const std::vector<cost::Price>& prices) {
  cost::CostTable costs;
  costs.prices.assign(plan.roles.size(), prices);
  costs.reference_clock_hz = 1e9;
  return sweep({.job = job,
                .plan = plan,
                .costs = costs,
                .clocks_hz = std::span(&costs.reference_clock_hz, 1),
                .sampled_ranks = {},
                .stretch = {}});
}

/// One layer a chunk: its operators carry the whole of F, Bi and W; everything else is free.
double bubble_s(const plan::test::Shape& shape, spec::Schedule schedule, const Passes& stage,
                spec::StageTraining training = spec::StageTraining::kTogether) {
  spec::Job job = plan::test::make_job(shape);
  job.parallelism.stage_training = training;
  job.parallelism.schedule = schedule;
  job.parallelism.sequence_parallel = false;
  const workload::Workload workload = plan::test::fake_workload(job);
  const plan::Plan plan = plan::make_plan(job, workload);
  std::vector<cost::Price> prices(plan.operators.size());
  const workload::Block& layer = workload.blocks[static_cast<size_t>(workload.layer_blocks[0])];
  const double chunks = static_cast<double>(shape.vpp);
  const auto set = [&](const std::vector<workload::Item>& items) {
    for (const workload::Item& item : items) {
      const Pass pass = workload.operators[static_cast<size_t>(item.op)].pass;
      const double seconds = pass == Pass::kForward    ? stage.forward_s
                             : pass == Pass::kBackward ? stage.input_s
                                                       : stage.weight_s;
      prices[static_cast<size_t>(item.op)].fixed_s = seconds / chunks;
    }
  };
  set(layer.forward);
  set(layer.backward);
  const Timeline timeline = swept(job, plan, prices);
  const double work_s =
      static_cast<double>(shape.micro_batches) * (stage.forward_s + stage.input_s + stage.weight_s);
  for (const RankTimes& rank : timeline.ranks)
    EXPECT_NEAR(rank.parts_s[static_cast<size_t>(Part::kIdle)], timeline.step_s - work_s,
                1e-9 * timeline.step_s);
  return timeline.step_s - work_s;
}

plan::test::Shape pipeline(int64_t stages, int64_t chunks, int64_t micro_batches) {
  return {.pp = stages, .vpp = chunks, .micro_batches = micro_batches, .layers = stages * chunks};
}

constexpr Passes kUneven = {.forward_s = 1.1, .input_s = 1.3, .weight_s = 0.7};
constexpr Passes kEqual = {.forward_s = 1, .input_s = 1, .weight_s = 1};

TEST(Bubble, Gpipe) {
  for (const int64_t p : {2, 4, 8})
    for (const int64_t m : {1, 4, 16})
      EXPECT_NEAR(bubble_s(pipeline(p, 1, m), spec::Schedule::kGpipe, kUneven),
                  static_cast<double>(p - 1) * 3.1, 1e-9);
}

TEST(Bubble, OneForwardOneBackward) {
  for (const int64_t p : {2, 4, 8})
    for (const int64_t m : {1, 4, 8, 16})
      EXPECT_NEAR(bubble_s(pipeline(p, 1, m), spec::Schedule::kOneFOneB, kUneven),
                  static_cast<double>(p - 1) * 3.1, 1e-9);
}

TEST(Bubble, StagesTrainedApart) {
  for (const int64_t p : {2, 4, 8})
    for (const int64_t m : {1, 4, 8, 16})
      EXPECT_NEAR(bubble_s(pipeline(p, 1, m), spec::Schedule::kOneFOneB, kUneven,
                           spec::StageTraining::kLocalHeads),
                  static_cast<double>(p - 1) * 1.1, 1e-9);
}

TEST(Bubble, Interleaved) {
  for (const int64_t p : {2, 4})
    for (const int64_t v : {2, 3, 4})
      for (const int64_t rounds : {1, 2, 4})
        EXPECT_NEAR(bubble_s(pipeline(p, v, p * rounds), spec::Schedule::kInterleaved, kUneven),
                    static_cast<double>(p - 1) * 3.1 / static_cast<double>(v), 1e-9)
            << "p " << p << " v " << v << " m " << p * rounds;
}

TEST(Bubble, ZeroBubbleH1) {
  for (const int64_t p : {2, 4, 8})
    for (const int64_t m : {8, 16, 24})
      EXPECT_NEAR(bubble_s(pipeline(p, 1, m), spec::Schedule::kZbH1, kEqual),
                  static_cast<double>(p - 1), 1e-9)
          << "p " << p << " m " << m;
}

TEST(Bubble, ZeroBubbleH2AndV) {
  for (const int64_t p : {2, 3, 4, 8})
    for (const int64_t m : {2 * p, 3 * p, 5 * p}) {
      EXPECT_NEAR(bubble_s(pipeline(p, 1, m), spec::Schedule::kZbH2, kEqual),
                  static_cast<double>(p - 1), 1e-9);
      EXPECT_NEAR(bubble_s(pipeline(p, 2, m), spec::Schedule::kZbV, kEqual),
                  static_cast<double>(p - 1) / 2, 1e-9);
    }
}

TEST(Bubble, LoopedBfs) {
  for (const int64_t p : {2, 4})
    for (const int64_t v : {2, 3})
      for (const int64_t m : {p, 2 * p, 5 * p})
        EXPECT_NEAR(bubble_s(pipeline(p, v, m), spec::Schedule::kLoopedBfs, kUneven),
                    static_cast<double>(p - 1) * 3.1 / static_cast<double>(v), 1e-9);
}

TEST(Bubble, DualPipeVWhosePairsDoNotOverlap) {
  for (const int64_t p : {2, 3, 4, 8})
    for (const int64_t m : {2 * p, 3 * p, 5 * p})
      EXPECT_NEAR(bubble_s(pipeline(p, 2, m), spec::Schedule::kDualPipeV, kEqual),
                  static_cast<double>(p - 1) / 2, 1e-9);
}

TEST(Bubble, VMinAndVHalf) {
  for (const int64_t p : {2, 3, 4, 5, 6, 8, 9}) {
    const int64_t m = 4 * p;
    EXPECT_NEAR(bubble_s(pipeline(p, 2, m), spec::Schedule::kVMin, kEqual),
                static_cast<double>(4 * p - (p % 3 == 0 ? 3 : 5)) / 2, 1e-9)
        << p;
    EXPECT_NEAR(bubble_s(pipeline(p, 2, m), spec::Schedule::kVHalf, kEqual),
                static_cast<double>(7 * p - (p % 2 == 1 ? 9 : 8)) / 4, 1e-9)
        << p;
  }
}

using spec::VocabularyParallel;

struct Lengths {
  double forward_s = 0, backward_s = 0, output_s = 0, gradient_s = 0;
  spec::Recompute recompute = spec::Recompute::kNone;  ///< what the order is made for
};

/// With a vocabulary divided over the stages: step time without the work of a stage: operators of
/// layers and passes carry the lengths, everything else is free.
double vocabulary_bubble_s(VocabularyParallel vocabulary, int64_t p, int64_t m,
                           const Lengths& lengths) {
  spec::Job job = plan::test::make_job({.pp = p, .micro_batches = m, .layers = p});
  job.parallelism.vocabulary = vocabulary;
  job.training.recompute = lengths.recompute;
  job.parallelism.sequence_parallel = false;
  const workload::Workload workload = plan::test::fake_workload(job);
  const plan::Plan plan = plan::make_plan(job, workload);
  std::vector<cost::Price> prices(plan.operators.size());
  const auto set = [&](const std::vector<workload::Item>& items, double seconds) {
    prices[static_cast<size_t>(items.front().op)].fixed_s = seconds;
  };
  const workload::Block& layer = workload.blocks[static_cast<size_t>(workload.layer_blocks[0])];
  set(layer.forward, lengths.forward_s);
  set(layer.backward, lengths.backward_s);
  set(workload.vocabulary.output, lengths.output_s);
  set(workload.vocabulary.output_gradient, lengths.gradient_s);
  const Timeline timeline = swept(job, plan, prices);
  return timeline.step_s - static_cast<double>(m) * (lengths.forward_s + lengths.backward_s +
                                                     lengths.output_s + lengths.gradient_s);
}

/// What a step takes longer for every further micro batch, beyond the work of a stage.
double loss_s(VocabularyParallel vocabulary, int64_t p, const Lengths& lengths) {
  return vocabulary_bubble_s(vocabulary, p, 8 * p, lengths) -
         vocabulary_bubble_s(vocabulary, p, 4 * p, lengths);
}

TEST(VocabularyBubble, NoStageWaitsWhereBackwardsAreALittleShorterOrLonger) {
  for (const auto vocabulary : {VocabularyParallel::kOneBarrier, VocabularyParallel::kTwoBarriers})
    for (const int64_t p : {4, 8})
      for (const double backward : {1.8, 1.9, 2.1, 2.4})
        for (const double pass : {0.02, 0.1, 0.3})
          EXPECT_NEAR(loss_s(vocabulary, p, {1, backward, pass, pass}), 0, 1e-9)
              << "p " << p << " B " << backward << " S " << pass;
}

TEST(VocabularyBubble, NorWithFullRecomputation) {
  for (const auto vocabulary : {VocabularyParallel::kOneBarrier, VocabularyParallel::kTwoBarriers})
    for (const int64_t p : {4, 8})
      for (const double backward : {2.8, 3.0, 3.2, 3.4}) {
        const Lengths lengths{1, backward, 0.1, 0.1, spec::Recompute::kFull};
        EXPECT_NEAR(loss_s(vocabulary, p, lengths), 0, 1e-9) << "p " << p << " B " << backward;
      }
}

TEST(VocabularyBubble, PassesAddNone) {
  for (const auto vocabulary : {VocabularyParallel::kOneBarrier, VocabularyParallel::kTwoBarriers,
                                VocabularyParallel::kInterlaced})
    for (const int64_t p : {2, 4, 8})
      for (const int64_t m : {16, 32})
        for (const double s : {0.0, 0.01, 0.1, 0.3})
          EXPECT_NEAR(vocabulary_bubble_s(vocabulary, p, m, {1, 2, s, s}),
                      static_cast<double>(p - 1) * 3, 1e-9)
              << "p " << p << " m " << m << " s " << s << " v " << static_cast<int>(vocabulary);
}

}  // namespace
}  // namespace ergometer::engine
