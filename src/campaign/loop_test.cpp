#include "campaign/loop.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "workload/parameters.h"

namespace ergometer::campaign {
namespace {

const std::string kLoopHead =
    "model: llama3-8b\n"
    "cluster: charllm-h200\n"
    "loop: {train_batch_size: 16, n: 4, prompt_length: 512, max_response_length: 1024,\n"
    "       response_length: 'uniform:64-2000', staleness: 1}\n"
    "phases:\n";
const std::string kRollout = "- {name: rollout, does: rollout, gpus: 8, tp: 2}\n";
const std::string kRef =
    "- {name: ref, does: score, gpus: 8, tp: 2, mbs: 4, param_offload: true}\n";
const std::string kActor =
    "- {name: actor, does: train, gpus: 8, tp: 4, mbs: 1, gbs: 32, zero: 1, optimizer_offload: "
    "true}\n";

Loop played(const std::string& text) {
  const auto program = parse_loop(text, "loop.yaml");
  EXPECT_TRUE(program) << program.error().message;
  return base::value_of(play_loop(*program));
}

std::string error_of(const std::string& text) {
  const auto program = parse_loop(text, "loop.yaml");
  if (!program) return program.error().message;
  return base::error_of(play_loop(*program));
}

double seconds_of(const Loop& loop) {
  double seconds = 0;
  for (const PlayedLoopPhase& phase : loop.phases) seconds += phase.seconds;
  for (const LoopSwitch& one : loop.switches) seconds += one.seconds;
  return seconds;
}

// Nothing that was scored is kept: the memory of a scoring phase does not grow with the answers.
TEST(Loop, ScoresKeepNoCacheOfAllAnswers) {
  const auto scores = [](const char* samples) {
    std::string head = kLoopHead;
    head.replace(head.find("n: 4"), 4, samples);
    return played(head + kRollout + kRef + kActor).phases[1];
  };
  const PlayedLoopPhase few = scores("n: 16"), many = scores("n: 64"), odd = scores("n: 66");
  EXPECT_NEAR(many.peak_bytes, few.peak_bytes, 0.05 * few.peak_bytes);
  EXPECT_NEAR(many.seconds, 4 * few.seconds, 0.1 * many.seconds);
  EXPECT_NEAR(odd.seconds, many.seconds, 0.1 * many.seconds);  // 66 micro batches a replica
}

TEST(IterationTime, IsBoundByTheBatchesOnTheirWayAndByTheBusiestPool) {
  // 6 s of rollout and 4 s of training: in step 10 s; one update behind 6 s, not 5.
  EXPECT_DOUBLE_EQ(iteration_time(10, 6, 0), 10);
  EXPECT_DOUBLE_EQ(iteration_time(10, 6, 1), 6);
  // With 3 s of scores on a third pool 13 / 2.
  EXPECT_DOUBLE_EQ(iteration_time(13, 6, 1), 6.5);
  EXPECT_DOUBLE_EQ(iteration_time(13, 6, 2), 6);
}

TEST(Loop, OnSharedGpusPhasesFollowEachOther) {
  const Loop loop = played(kLoopHead + kRollout + kRef + kActor);
  ASSERT_EQ(loop.pools.size(), 1);
  EXPECT_EQ(loop.gpus(), 8);
  EXPECT_NEAR(loop.iteration_s, seconds_of(loop), 1e-9);
  EXPECT_NEAR(loop.pools[0].busy_s, loop.iteration_s, 1e-9);  // stale rollouts do not help
  EXPECT_EQ(loop.phases[2].steps, 2);                         // 64 samples, 32 an update
  EXPECT_EQ(loop.longest_response, 1024);                     // cut
  EXPECT_GT(loop.tail_s, 0);
  EXPECT_GT(loop.energy_j, 0);
  for (const PlayedLoopPhase& phase : loop.phases) {
    double seconds = 0, decoded = 0;
    for (const LoopPart& part : phase.parts) {
      seconds += part.times * part.step_s;
      if (part.mode == spec::Mode::kDecode) decoded += part.times;
    }
    EXPECT_NEAR(phase.seconds, seconds, 1e-9 * seconds);
    EXPECT_EQ(decoded, phase.does == Does::kRollout ? 1024 : 0);
  }
}

TEST(Loop, WhatIsOffloadedLeavesRoomAndCostsItsBytesOverTheHostLink) {
  const Loop loop = played(kLoopHead + kRollout + kRef + kActor);
  const PlayedLoopPhase &ref = loop.phases[1], &actor = loop.phases[2];
  EXPECT_EQ(ref.resident_bytes, 0);
  EXPECT_EQ(actor.resident_bytes, actor.weights_bytes + actor.gradients_bytes);
  EXPECT_EQ(loop.phases[0].beside_bytes, actor.resident_bytes);
  // The reference comes, the optimizer comes and goes, the weights are gathered from 4 GPUs.
  ASSERT_EQ(loop.switches.size(), 4);
  constexpr double kHost = 0.4 * 63e9;  // of an H200's PCIe 5
  EXPECT_DOUBLE_EQ(loop.switches[0].seconds, ref.weights_bytes / kHost);
  EXPECT_DOUBLE_EQ(loop.switches[1].seconds, actor.optimizer_bytes / kHost);
  EXPECT_DOUBLE_EQ(loop.switches[2].seconds, actor.optimizer_bytes / kHost);
  EXPECT_DOUBLE_EQ(loop.switches[3].bytes,
                   2 * static_cast<double>(workload::count_parameters(actor.job.model).total));
  // At 300 to 450 GB/s three quarters of 16 GB take some 30 ms.
  EXPECT_GT(loop.switches[3].seconds, 0.02);
  EXPECT_LT(loop.switches[3].seconds, 0.06);
}

TEST(Loop, OnSeparateGpusTheBusiestPoolSetsThePace) {
  const std::string actor =
      "- {name: actor, does: train, pool: trainers, gpus: 8, tp: 4, mbs: 1, zero: 1}\n";
  const Loop loop = played(kLoopHead + kRollout + actor);
  ASSERT_EQ(loop.pools.size(), 2);
  EXPECT_EQ(loop.gpus(), 16);
  const double busiest_s = std::max(loop.pools[0].busy_s, loop.pools[1].busy_s);
  EXPECT_DOUBLE_EQ(loop.iteration_s, busiest_s);
  EXPECT_EQ(loop.switches.back().other_pool, "all");
  // 16 GB through one card of 100 Gb/s: from 1.28 s.
  EXPECT_GT(loop.switches.back().seconds, 1.28);
  EXPECT_LT(loop.switches.back().seconds, 2);
}

// A critic is trained and scores too, with weights that are there once; the actor's alone go to the
// rollout.
TEST(Loop, ACriticIsTrainedBesideThePolicy) {
  const std::string values =
      "- {name: values, does: score, gpus: 8, tp: 4, mbs: 4, weights_of: critic}\n";
  const std::string critic =
      "- {name: critic, does: train, gpus: 8, tp: 4, mbs: 1, gbs: 32, zero: 1, feeds_rollout: "
      "false}\n";
  const Loop loop = played(kLoopHead + kRollout + values + critic + kActor);
  const PlayedLoopPhase &scores = loop.phases[1], &trained = loop.phases[2],
                        &actor = loop.phases[3];
  EXPECT_EQ(scores.resident_bytes, 0);
  // Both hold a quarter of the weights: beside the scores stand the critic's other states.
  EXPECT_EQ(scores.weights_bytes, trained.weights_bytes);
  EXPECT_DOUBLE_EQ(scores.beside_bytes,
                   trained.resident_bytes - trained.weights_bytes + actor.resident_bytes);
  EXPECT_EQ(trained.beside_bytes, actor.resident_bytes);
  EXPECT_EQ(loop.switches.back().what, "weights of actor gathered from 4 GPUs");
  EXPECT_NEAR(loop.iteration_s, seconds_of(loop), 1e-9);
}

// Three calls of 2 s each are 6 s behind all that is decoded, at standing power; 100 tokens of each
// are read, and learnt from.
TEST(Loop, AnswersWaitForTools) {
  const auto with = [](const std::string& tools) {
    std::string head = kLoopHead;
    head.insert(head.find("staleness"), tools);
    return played(head + kRollout + kActor);
  };
  const Loop without = with(""), waits = with("tool_calls: 3, tool_seconds: 2, "),
             reads = with("tool_calls: 3, tool_tokens: 100, ");
  EXPECT_NEAR(waits.iteration_s, without.iteration_s + 6, 1e-9);
  EXPECT_EQ(waits.phases[0].energy_j, without.phases[0].energy_j);
  EXPECT_NEAR(waits.energy_j, without.energy_j + 6 * waits.pools[0].standing_w,
              1e-9 * waits.energy_j);
  EXPECT_DOUBLE_EQ(reads.tokens, without.tokens + 64 * 300);
  EXPECT_GT(reads.phases[0].seconds, without.phases[0].seconds);
  // In units of 64 tokens.
  EXPECT_GE(reads.phases[1].job.training.seq_length,
            without.phases[1].job.training.seq_length + 256);
}

TEST(Loop, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(kLoopHead + kRollout),
            "loop.yaml: phases: a loop has one phase that does train");
  EXPECT_NE(error_of(kLoopHead + kRollout + kActor + kActor).find("loop.yaml:8: phases[2].name"),
            std::string::npos)
      << error_of(kLoopHead + kRollout + kActor + kActor);
  EXPECT_NE(error_of(kLoopHead + kRollout + kActor + "- {name: b, does: train, gpus: 8, tp: 4}\n")
                .find("say feeds_rollout: false of all others"),
            std::string::npos);
  EXPECT_NE(error_of(kLoopHead + kRollout + kActor +
                     "- {name: b, does: score, gpus: 8, weights_of: rollout}\n")
                .find("phase b: weights_of: found \"rollout\"; allowed: a phase that trains"),
            std::string::npos);
  EXPECT_NE(error_of(kLoopHead + "- {name: rollout, does: rollout, gpus: 8, mbs: 4}\n" + kActor)
                .find("the loop says what micro_batch_size of rollout is"),
            std::string::npos);
  EXPECT_NE(error_of(kLoopHead + "- {name: rollout, does: rollout, gpus: 16, tp: 1}\n" + kActor)
                .find("phase actor has 8 GPUs; pool all has 16"),
            std::string::npos);
  EXPECT_NE(
      error_of(kLoopHead + kRollout + "- {name: a, does: train, gpus: 8, tp: 4, mbs: 1, gbs: 24}\n")
          .find("64 samples are no whole updates of 24"),
      std::string::npos);
  EXPECT_NE(error_of(kLoopHead + kRollout + "- {name: a, does: train, gpus: 8, tp: 3}\n")
                .find("loop.yaml:7: phase a: "),
            std::string::npos);
  EXPECT_EQ(error_of("loop: {train_batch_size: 1000000, n: 11, prompt_length: 1,\n"
                     "       max_response_length: 1}\nphases:\n" +
                     kRollout + kActor),
            "loop.yaml:1: loop.n: found 11 answers to each of 1000000 prompts; allowed: 10000000 "
            "answers in all");
}

}  // namespace
}  // namespace ergometer::campaign
