#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plan/data_parallel.h"
#include "plan/links.h"
#include "plan/plan.h"
#include "plan/test_check.h"
#include "plan/test_job.h"

namespace ergometer::plan {
namespace {

using test::fake_workload;
using test::make_job;
using workload::Stream;

const char* short_name(Stream stream) {
  const char* names[] = {"C", "T", "X", "E", "D", "PF", "PB"};
  return names[static_cast<size_t>(stream)];
}

/// One instruction as a word: "fc1", "D:param_all_gather", "C<PF", "rec:D", "wait", "sync".
std::string word(const Plan& plan, const Instruction& it) {
  const std::string on_stream =
      it.stream == Stream::kCompute ? "" : std::string(short_name(it.stream)) + ":";
  switch (it.kind) {
    case InstructionKind::kJoin:
      return std::string(short_name(it.stream)) + "<" + short_name(it.on);
    case InstructionKind::kRecord: return "rec" + std::to_string(it.slot);
    case InstructionKind::kWait: return "wait" + std::to_string(it.slot);
    case InstructionKind::kHostSync: return "sync";
    default: return on_stream + plan.operators[static_cast<size_t>(it.op)].name;
  }
}

std::string text(const Plan& plan, size_t role) {
  std::string out;
  for (const Instruction& it : plan.roles[role].program) {
    if (!out.empty()) out += ' ';
    out += word(plan, it);
  }
  return out;
}

int64_t count(const Plan& plan, size_t role, const std::string& name) {
  return std::count_if(plan.roles[role].program.begin(), plan.roles[role].program.end(),
                       [&](const Instruction& it) { return word(plan, it) == name; });
}

Plan plan_of(const spec::Job& job) {
  const Plan plan = make_plan(job, fake_workload(job));
  EXPECT_EQ(find_fault(plan), "");
  return plan;
}

// Two micro batches: the first forward and the last backward have nothing beside them; the second
// forward's transfers go on a stream of their own that the last backward's end waits for.
TEST(Program, ExpertTransfersGoBesideAnotherMicroBatch) {
  spec::Job job = make_job({.dp = 2, .ep = 2, .micro_batches = 2, .layers = 1});
  job.training.moe_capacity_factor = 1;
  job.training.moe_pad_to_capacity = true;
  EXPECT_EQ(count(plan_of(job), 0, "dispatch"), 2);
  job.training.overlap_expert_parallel = true;
  const Plan plan = plan_of(job);
  EXPECT_EQ(count(plan, 0, "dispatch"), 1);
  EXPECT_EQ(count(plan, 0, "E:dispatch"), 1);
  EXPECT_EQ(count(plan, 0, "E<C"), 1);
  EXPECT_EQ(count(plan, 0, "C<E"), 2);
  // Of which a part may find nothing to hide behind: it stays in line.
  job.software.parameters.set("overlap.expert_share", {0.75, "", {}, {}});
  const Plan parted = plan_of(job);
  EXPECT_EQ(count(parted, 0, "dispatch"), 2);
  EXPECT_EQ(count(parted, 0, "E:dispatch"), 1);
}

// HybridEP's dispatch begins with a gather of the routing map and holds copies: all of it goes
// beside the other micro batch, and copies are parted as the transfer is.
TEST(Program, HybridEpExchangesGoBesideAsAWhole) {
  spec::Job job = make_job({.dp = 2, .ep = 2, .micro_batches = 2, .layers = 1});
  job.training.moe_capacity_factor = 1;
  job.training.moe_pad_to_capacity = true;
  job.training.overlap_expert_parallel = true;
  workload::Workload workload = fake_workload(job);
  for (workload::Operator& op : workload.operators)
    if (op.name == "dispatch") op.collective = workload::CollectiveKind::kAllGather, op.bytes = 8;
  const auto beside = [&] {
    const Plan plan = make_plan(job, workload);
    EXPECT_EQ(find_fault(plan), "");
    double bytes = 0;
    for (const Instruction& it : plan.roles[0].program)
      if (word(plan, it) == "E:dispatch") bytes += plan.operators[static_cast<size_t>(it.op)].bytes;
    return bytes;
  };
  EXPECT_EQ(beside(), 0);
  job.training.moe_dispatcher = spec::MoeDispatcher::kHybridEp;
  EXPECT_EQ(beside(), 8);
  job.software.parameters.set("overlap.expert_share", {0.75, "", {}, {}});
  EXPECT_EQ(beside(), 6);
}

TEST(Program, OneGpuRunsItsBlocksAndTheOptimizer) {
  const spec::Job job = make_job({.micro_batches = 2, .layers = 1});
  const std::string forward = " fc1 fc1 fc1",
                    backward = " fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad";
  const Plan plan = plan_of(job);
  EXPECT_EQ(text(plan, 0), "zero_gradients" + forward + backward + forward + backward +
                               " gradient_norm sync adam");
  // Micro batch, chunk and layer are filled in for the trace: the second micro batch's layer 0.
  const Instruction& layer = plan.roles[0].program[11];
  EXPECT_EQ(layer.micro_batch, 1);
  EXPECT_EQ(layer.chunk, 0);
  EXPECT_EQ(layer.layer, 0);
}

TEST(Program, PyTorchFreesGradientsAndClipsInAKernelOfItsOwn) {
  spec::Job job = make_job({.micro_batches = 1, .layers = 1});
  job.training.framework = spec::Framework::kTorchFsdp;
  job.software.parameters.set("optimizer.clip_copies", {2, "", "", {}});
  const std::string step = text(plan_of(job), 0);
  EXPECT_TRUE(step.starts_with("fc1 fc1")) << step;
  EXPECT_TRUE(step.ends_with(" gradient_norm sync gradient_clip adam")) << step;
}

TEST(Program, BatchedExchangesAreInLine) {
  spec::Job job = make_job({.pp = 2, .micro_batches = 2, .layers = 2});
  job.cluster.domain_gpus = 8;
  const std::string to_next = " PF<C PF:send_forward",
                    exchange = " PF<C PB<C PF:send_forward PB:recv_backward C<PF C<PB";
  EXPECT_EQ(
      text(plan_of(job), 0),
      "zero_gradients fc1 fc1" + to_next + " C<PF fc1 fc1" + exchange +
          " fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad PB<C PB:recv_backward C<PB"
          " fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad gradient_norm grad_norm_all_reduce sync adam");
  EXPECT_EQ(
      text(plan_of(job), 1),
      "zero_gradients PF<C PF:recv_forward C<PF fc1 fc1 fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad"
      " PF<C PB<C PB:send_backward PF:recv_forward C<PF C<PB"
      " fc1 fc1 fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad PB<C PB:send_backward C<PB"
      " gradient_norm grad_norm_all_reduce sync adam");
  job.training.batch_p2p_sync = true;
  // One synchronisation an exchange (three on either stage) and one for the gradient norm.
  EXPECT_EQ(count(plan_of(job), 0, "sync"), 4);
  EXPECT_EQ(count(plan_of(job), 1, "sync"), 4);
}

// 4096 bytes between stages, divided over two ranks that gather them behind each receive.
TEST(Program, DividedTransfersAreGathered) {
  spec::Job job = make_job({.tp = 2, .pp = 2, .micro_batches = 3, .layers = 2});
  job.training.scatter_gather_p2p = true;
  const Plan plan = plan_of(job);
  for (const size_t role : {size_t{0}, size_t{1}})
    EXPECT_EQ(
        count(plan, role, "PF:pipeline_all_gather") + count(plan, role, "PB:pipeline_all_gather"),
        3);
  for (const workload::Operator& op : plan.operators) {
    if (op.name == "recv_forward" || op.name == "send_backward") {
      EXPECT_EQ(op.comm_bytes, 2048);
    }
    if (op.name == "pipeline_all_gather") {
      EXPECT_EQ(op.comm_bytes, 4096);
    }
  }
}

TEST(Program, OverlappedTransfersAreWaitedForJustBeforeUse) {
  spec::Job job = make_job({.pp = 2, .micro_batches = 3, .layers = 2});
  job.training.overlap_p2p = true;
  // Stage 1 posts the second receive when the first forward ends and waits for it behind the first
  // backward. Its sends are never waited for.
  EXPECT_EQ(
      text(plan_of(job), 1),
      "zero_gradients PB:recv_forward C<PB fc1 fc1 PF<C fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad"
      " PB<C PB:send_backward PF:recv_forward C<PF fc1 fc1 PF<C fc1_dgrad fc1_wgrad fc1_dgrad "
      "fc1_wgrad"
      " PB<C PB:send_backward PF:recv_forward C<PF fc1 fc1 fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad"
      " PB<C PB:send_backward gradient_norm grad_norm_all_reduce sync adam");
}

TEST(Program, WaitsNameTheOperatorTheyWaitFor) {
  const spec::Job job = make_job({.pp = 2, .micro_batches = 2, .layers = 2});
  const Plan plan = plan_of(job);
  for (const Role& role : plan.roles) {
    for (const Instruction& it : role.program) {
      if (it.kind != InstructionKind::kJoin || it.stream != Stream::kCompute) continue;
      ASSERT_GE(it.op, 0);
      EXPECT_EQ(plan.operators[static_cast<size_t>(it.op)].collective,
                workload::CollectiveKind::kSendRecv);
    }
  }
}

TEST(Program, InterleavingWrapsFromTheLastStageToTheFirst) {
  const spec::Job job = make_job({.pp = 2, .vpp = 2, .micro_batches = 2, .layers = 4});
  const Plan plan = plan_of(job);
  // Three boundaries between four virtual stages: stage 0 sends over two of them, stage 1 over the
  // wrap link.
  EXPECT_EQ(count(plan, 0, "PF:send_forward"), 4);
  EXPECT_EQ(count(plan, 1, "PF:send_forward"), 2);
  EXPECT_EQ(plan.messages, 2 * 3 * 2);
}

// Four parts on two stages, the last on stage 0 again: parts 1 and 2 are neighbours on stage 1, so
// two borders are crossed, the second on the way back.
TEST(Program, AVSendsForwardOutputBothWaysAndNoneAtItsTurn) {
  spec::Job job = make_job({.pp = 2, .vpp = 2, .micro_batches = 2, .layers = 4});
  job.parallelism.schedule = spec::Schedule::kZbV;
  job.model.tied_embeddings = true;
  const Plan plan = plan_of(job);
  EXPECT_EQ(plan.messages, 2 * 2 * 2);
  EXPECT_EQ(count(plan, 0, "PF:send_forward"), 2);
  EXPECT_EQ(count(plan, 0, "PF:send_forward_turned"), 0);
  EXPECT_EQ(count(plan, 1, "PF:send_forward_turned"), 2);
  EXPECT_EQ(count(plan, 0, "PB:send_backward_turned"), 2);
  EXPECT_EQ(count(plan, 1, "PB:send_backward"), 2);
  // Both ends of the model are on stage 0, which sums no gradients of the embedding with another.
  EXPECT_EQ(plan.stages[0].chunks[0].layers, (std::vector<int64_t>{-1, 0}));
  EXPECT_EQ(plan.stages[0].chunks[1].layers, (std::vector<int64_t>{3, -1}));
  EXPECT_EQ(plan.stages[1].chunks[1].layers, (std::vector<int64_t>{2}));
  EXPECT_EQ(count(plan, 0, "embedding_grad_all_reduce"), 0);
}

TEST(Program, TransfersAreWithTheNextStageOrThePreviousOne) {
  for (const char* name :
       {"send_forward", "recv_backward", "recv_forward_turned", "send_backward_turned"})
    EXPECT_TRUE(is_with_next_stage(name)) << name;
  for (const char* name :
       {"recv_forward", "send_backward", "send_forward_turned", "recv_backward_turned"})
    EXPECT_FALSE(is_with_next_stage(name)) << name;
}

TEST(Program, ZeroBubbleRunsWeightGradientsApart) {
  spec::Job job = make_job({.tp = 2, .pp = 2, .micro_batches = 2, .layers = 2});
  job.parallelism.schedule = spec::Schedule::kZbH1;
  const std::string input = " fc1_dgrad T<C T:tp_reduce_scatter C<T";
  const std::string half = input + input, weight = " fc1_wgrad fc1_wgrad";
  const std::string forward = " tp_all_gather fc1 tp_all_gather fc1";
  EXPECT_EQ(text(plan_of(job), 1),
            "zero_gradients PF<C PF:recv_forward C<PF" + forward + half +
                " PF<C PB<C PB:send_backward PF:recv_forward C<PF C<PB" + forward + half +
                " PB<C PB:send_backward C<PB" + weight + weight +
                " norm_grad_all_reduce gradient_norm grad_norm_all_reduce sync adam");
}

TEST(Program, FullRecomputationRunsForwardAgainBeforeEveryLayersBackward) {
  spec::Job job = make_job({.layers = 2});
  job.training.recompute = spec::Recompute::kFull;
  EXPECT_EQ(text(plan_of(job), 0),
            "zero_gradients fc1 fc1 fc1 fc1 fc1_dgrad fc1_wgrad fc1 fc1_dgrad fc1_wgrad fc1 "
            "fc1_dgrad fc1_wgrad"
            " fc1_dgrad fc1_wgrad gradient_norm sync adam");
  job.training.recompute_layers = 2;  // one checkpoint for both layers
  EXPECT_EQ(text(plan_of(job), 0),
            "zero_gradients fc1 fc1 fc1 fc1 fc1_dgrad fc1_wgrad fc1 fc1 fc1_dgrad fc1_wgrad "
            "fc1_dgrad fc1_wgrad"
            " fc1_dgrad fc1_wgrad gradient_norm sync adam");
}

TEST(Program, GradientsAndParametersInLine) {
  spec::Job job = make_job({.dp = 2, .layers = 1});
  const std::string backward = " fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad";
  const std::string step = "zero_gradients fc1 fc1 fc1" + backward;
  EXPECT_EQ(text(plan_of(job), 0),
            step +
                " grad_reduce_scatter gradient_norm grad_norm_all_reduce sync"
                " adam param_all_gather");
  job.parallelism.zero_stage = 0;
  EXPECT_EQ(text(plan_of(job), 0),
            step + " grad_all_reduce gradient_norm grad_norm_all_reduce sync adam");
}

// Embedding 30, two layers of 100, head 50 parameters; buckets of 120 close, from the back, behind
// head + layer 1 (150) and layer 0 + embedding (130).
TEST(Program, BucketsOverlapTheFirstForwardAndTheLastBackward) {
  spec::Job job = make_job({.dp = 2, .micro_batches = 2, .layers = 2});
  job.training.overlap_grad_reduce = job.training.overlap_param_gather = true;
  job.training.bucket_elements = 120;
  const std::string
      forward = " fc1 fc1 fc1 fc1",
      backward = " fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad";
  EXPECT_EQ(text(plan_of(job), 0),
            "zero_gradients D<C D:param_all_gather rec1 wait1 D<C D:param_all_gather rec0 fc1 fc1 "
            "wait0 fc1 fc1" +
                backward + forward +
                " fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad D<C D:grad_reduce_scatter"
                " fc1_dgrad fc1_wgrad fc1_dgrad fc1_wgrad D<C D:grad_reduce_scatter"
                " C<D gradient_norm grad_norm_all_reduce sync adam");
}

// PyTorch DDP under nanotron: buckets of 70 end behind any matrix. Layers of 100 in matrices of 60
// and 20, with their vectors 75 and 25, the last one first. From the back: head 50 + 25, 75; of
// layer 0 25 + 75; the embedding's 30 are left.
TEST(Program, NanotronsBucketsEndBehindMatrices) {
  workload::Workload workload;
  workload.blocks.resize(4);
  const double elements[] = {30, 100, 100, 50};
  for (size_t i = 0; i < 4; ++i)
    workload.blocks[i].parameters.dense = workload.blocks[i].parameters.trainable_dense =
        elements[i];
  workload.blocks[1].weight_shapes = workload.blocks[2].weight_shapes = {60, 20};
  const Chunk chunk{.blocks = {0, 1, 2, 3}, .layers = {-1, 0, 1, -1}};
  const auto buckets = gradient_buckets({}, workload, chunk, false, {70, true});
  ASSERT_EQ(buckets.size(), 4u);
  EXPECT_EQ(buckets[3].lowest, 2u);
  EXPECT_DOUBLE_EQ(buckets[3].elements, 75);
  EXPECT_EQ(buckets[2].lowest, 2u);
  EXPECT_DOUBLE_EQ(buckets[2].elements, 75);
  EXPECT_EQ(buckets[1].lowest, 1u);
  EXPECT_DOUBLE_EQ(buckets[1].elements, 100);
  EXPECT_EQ(buckets[0].lowest, 0u);
  EXPECT_DOUBLE_EQ(buckets[0].elements, 30);
  // Megatron-Core's end at blocks: 150, 100 and what is left.
  EXPECT_EQ(gradient_buckets({}, workload, chunk, false, {70, false}).size(), 3u);
}

// Two layers without named matrices count as one each, embedding and head too: 4 pieces, 2
// replicas.
TEST(Program, ShardedOptimizerCutsTensorsOnTheHost) {
  spec::Job job = make_job({.dp = 2, .layers = 2});
  job.software.parameters.set("host.shard_slice", {1e-3, "s", "", base::Grade::kAssumed});
  const auto slices_s = [](const Plan& plan) {
    double seconds = 0;
    for (const workload::Operator& op : plan.operators)
      if (op.name == "host_slices") seconds += op.host_wait_s;
    return seconds;
  };
  EXPECT_NEAR(slices_s(plan_of(job)), 4 * 2 * 1e-3, 1e-12);
  job.parallelism.zero_stage = 0;
  EXPECT_EQ(slices_s(plan_of(job)), 0);
}

TEST(Program, InterleavedGathersStartTogether) {
  spec::Job job = make_job({.pp = 2, .vpp = 3, .dp = 2, .micro_batches = 2, .layers = 6});
  job.training.overlap_param_gather = job.training.overlap_grad_reduce = true;
  const Plan plan = plan_of(job);
  for (size_t role = 0; role < 2; ++role) {
    EXPECT_EQ(count(plan, role, "D:param_all_gather"), 3);
    // Chunks 0 and 1 at once, before the first forward.
    const std::string begin =
        "zero_gradients D<C D:param_all_gather rec0 D<C D:param_all_gather rec1";
    EXPECT_EQ(text(plan, role).substr(0, begin.size()), begin);
  }
  // Chunk 2 when stage 0 starts chunk 1: its third forward; on stage 1, one slot behind, its
  // second.
  const auto forwards_before_third_gather = [&plan](size_t role) {
    int64_t gathers = 0, micro_batch_forwards = 0;
    for (const Instruction& it : plan.roles[role].program) {
      const std::string name = word(plan, it);
      if (name == "D:param_all_gather" && ++gathers == 3) break;
      micro_batch_forwards += name == "fc1" && it.layer >= 0 ? 1 : 0;
    }
    return micro_batch_forwards;
  };
  EXPECT_EQ(forwards_before_third_gather(0), 2);
  EXPECT_EQ(forwards_before_third_gather(1), 1);
}

TEST(Program, ExpertsHaveBucketsOfTheirOwn) {
  spec::Job job = make_job({.dp = 8, .ep = 2, .layers = 2});
  job.training.overlap_grad_reduce = true;
  const Plan plan = plan_of(job);
  EXPECT_EQ(count(plan, 0, "D:grad_reduce_scatter"), 1);
  EXPECT_EQ(count(plan, 0, "D:expert_grad_reduce_scatter"), 1);
  // All experts on one rank each: no replicas, nothing to reduce.
  job.parallelism.ep = 8;
  EXPECT_EQ(count(plan_of(job), 0, "D:expert_grad_reduce_scatter"), 0);
}

TEST(Program, FullyShardedUnitsAreGatheredOneAhead) {
  spec::Job job = make_job({.dp = 2, .layers = 1});
  job.parallelism.zero_stage = 3;
  job.parallelism.fsdp = true;
  const std::string gather = " D<C D:fsdp_all_gather rec", scatter = " D<C D:fsdp_reduce_scatter";
  EXPECT_EQ(text(plan_of(job), 0), "zero_gradients" + gather + "0 wait0" + gather + "1 fc1 wait1" +
                                       gather + "2 fc1 wait2 fc1" + gather + "2 wait2" + gather +
                                       "1 fc1_dgrad fc1_wgrad" + scatter + " wait1" + gather +
                                       "0 fc1_dgrad fc1_wgrad" + scatter +
                                       " wait0 fc1_dgrad fc1_wgrad" + scatter +
                                       " C<D gradient_norm grad_norm_all_reduce sync adam");
  job.gpus = 4;
  job.parallelism.dp = 4;
  job.parallelism.fsdp_shard_size = 2;
  job.training.global_batch = 8;  // two micro batches: replicas are summed once
  EXPECT_EQ(count(plan_of(job), 0, "D:fsdp_reduce_scatter"), 6);
  EXPECT_EQ(count(plan_of(job), 0, "D:fsdp_replica_all_reduce"), 3);
}

// Embedding, two layers and head are gathered forward; backward the head and the upper layer alone.
TEST(Program, WhatGradientsDoNotPassIsNotGatheredAgain) {
  spec::Job job = make_job({.dp = 2, .layers = 2});
  job.parallelism.zero_stage = 3;
  job.parallelism.fsdp = true;
  workload::Workload workload = fake_workload(job);
  workload.blocks.push_back(workload.blocks[static_cast<size_t>(workload.layer_blocks[0])]);
  workload.layer_blocks[0] = static_cast<int>(workload.blocks.size()) - 1;
  workload.blocks.back().backward.clear();
  workload.blocks[static_cast<size_t>(workload.embedding_block)].backward.clear();
  const Plan plan = make_plan(job, workload);
  EXPECT_EQ(find_fault(plan), "");
  EXPECT_EQ(count(plan, 0, "D:fsdp_all_gather"), 4 + 2);
}

TEST(Program, DroplessExpertsCopyTokenCountsToTheHost) {
  spec::Job job = make_job({.dp = 2, .ep = 2, .micro_batches = 3, .layers = 2});
  const std::string program = text(plan_of(job), 0);
  EXPECT_NE(program.find("moe_counts_to_host sync dispatch"), std::string::npos);
  EXPECT_EQ(count(plan_of(job), 0, "sync"), 3 * 2 + 1);
  job.training.recompute = spec::Recompute::kFull;  // and once more when the layer is recomputed
  EXPECT_EQ(count(plan_of(job), 0, "sync"), 3 * 2 * 2 + 1);
  job.training.moe_capacity_factor = 1;
  job.training.moe_pad_to_capacity = true;
  EXPECT_EQ(count(plan_of(job), 0, "sync"), 1);
}

TEST(Program, TiedEmbeddingsAreSummedBetweenTheEnds) {
  spec::Job job = make_job({.tp = 2, .pp = 3, .micro_batches = 3, .layers = 3});
  job.model.tied_embeddings = true;
  const Plan plan = plan_of(job);
  EXPECT_EQ(count(plan, 0, "embedding_grad_all_reduce"), 1);
  EXPECT_EQ(count(plan, 1, "embedding_grad_all_reduce"), 0);
  EXPECT_EQ(count(plan, 2, "embedding_grad_all_reduce"), 1);
  for (const workload::Operator& op : plan.operators) {
    // Vocabulary 1024 over two ranks, hidden 64, gradients in FP32.
    if (op.name != "embedding_grad_all_reduce") continue;
    EXPECT_EQ(op.comm_bytes, 512 * 64 * 4);
  }
}

// Of eight experts, equally wanted, four have a copy; each of two ranks holds one of every pair
// among its six slots. Of four halves, two sums of an expert's 1000 / 6 elements a layer, which
// send twice as many; an exchange of two sends half of its elements.
TEST(Program, CopiesOfExpertsAreSummedOnceAStep) {
  spec::Job job = make_job({.dp = 4, .ep = 2, .micro_batches = 2, .layers = 2});
  job.parallelism.zero_stage = 0;
  EXPECT_EQ(count(plan_of(job), 0, "expert_copy_grad_exchange"), 0);
  job.training.moe_redundant_experts = 4;
  const auto summed_bytes = [](const Plan& plan) {
    EXPECT_EQ(count(plan, 0, "expert_copy_grad_exchange"), 1);
    for (const workload::Operator& op : plan.operators)
      if (op.name == "expert_copy_grad_exchange") return op.comm_bytes;
    return 0.0;
  };
  const double elements = 2 * (2 * (4 * 0.5) * (1000.0 / 6)) * 2;
  EXPECT_NEAR(summed_bytes(plan_of(job)), 4 * elements, 1e-9);
  // Two replicas keep half of the gradients each.
  job.parallelism.zero_stage = 1;
  EXPECT_NEAR(summed_bytes(plan_of(job)), 4 * elements / 2, 1e-9);
  // Of two stages each sums those of its layer.
  job = make_job({.pp = 2, .dp = 4, .ep = 2, .micro_batches = 2, .layers = 2});
  job.parallelism.zero_stage = 0;
  job.training.moe_redundant_experts = 4;
  const Plan stages = plan_of(job);
  EXPECT_EQ(count(stages, 1, "expert_copy_grad_exchange"), 1);
  EXPECT_NEAR(summed_bytes(stages), 4 * elements / 2, 1e-9);
}

// The example of workload/expert_loads.cpp on two nodes: four members, two a node. Of 1.25 times an
// expert's third of 1000 elements a layer, sent twice, 0.375 leave the node; of an exchange of all
// with all two thirds of what is sent would.
TEST(Program, CopiesOfExpertsAreSummedByThoseWhoHoldThem) {
  spec::Job job = make_job({.tp = 4, .dp = 4, .ep = 4, .micro_batches = 1, .layers = 2});
  job.parallelism.etp = 4;
  job.parallelism.zero_stage = 0;
  job.model.experts.top_k = 1;
  job.training.moe_redundant_experts = 4;
  job.training.moe_routing.kind = spec::RoutingKind::kCounts;
  job.training.moe_routing.counts = {{20, 4, 4, 4, 4, 4, 2, 2}};
  const auto exchange = [&] {
    for (const workload::Operator& op : plan_of(job).operators)
      if (op.name == "expert_copy_grad_exchange") return op;
    return workload::Operator{};
  };
  const double elements = 2 * 2 * 1000.0 / 3;
  const workload::Operator rings = exchange();
  EXPECT_NEAR(rings.comm_bytes, 4 * elements * 1.25 * 4 / 3, 1e-9);
  EXPECT_NEAR(rings.leaving, 0.375 / 1.25 / (2.0 / 3), 1e-12);
  // Sixteen members of a slot each, an expert wanted by most: nine copies, eight on the first node.
  // The one on the other sends its 8/9 away, and no rank sends more.
  job = make_job({.dp = 16, .ep = 16, .micro_batches = 1, .layers = 1});
  job.parallelism.zero_stage = 0;
  job.model.experts.top_k = 1;
  job.training.moe_redundant_experts = 8;
  job.training.moe_routing.kind = spec::RoutingKind::kCounts;
  job.training.moe_routing.counts = {{15, 1, 1, 1, 1, 1, 1, 1}};
  EXPECT_NEAR(exchange().comm_bytes, 4 * 2 * 1000.0 * 8 / 9 * 16 / 15, 1e-9);
  EXPECT_NEAR(exchange().leaving, 15.0 / 8, 1e-12);
  // Two of each, side by side: nothing leaves.
  job.training.moe_routing = {};
  EXPECT_NEAR(exchange().comm_bytes, 4 * 2 * 1000.0 / 2 * 16 / 15, 1e-9);
  EXPECT_EQ(exchange().leaving, 0);
  // Ranks that lie as a map says: all with all.
  job.parallelism.rank_map = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
  EXPECT_EQ(exchange().leaving, 1);
}

TEST(Program, InferenceHasNoStepEnd) {
  spec::Job job = make_job({.pp = 2, .dp = 2, .micro_batches = 2, .layers = 2});
  job.training.mode = spec::Mode::kPrefill;
  EXPECT_EQ(text(plan_of(job), 0),
            "fc1 fc1 PF<C PF:send_forward C<PF fc1 fc1 PF<C PF:send_forward C<PF");
}

TEST(Program, EveryCollectiveIsPlaced) {
  // Eight ranks a stage: the pipeline leaves the node, the rest stays inside.
  const spec::Job job = make_job({.tp = 4, .pp = 2, .dp = 2, .micro_batches = 2});
  const Plan plan = plan_of(job);
  ASSERT_EQ(plan.placements.size(), 2u);
  for (size_t i = 0; i < plan.operators.size(); ++i) {
    const workload::Operator& op = plan.operators[i];
    if (op.kind != workload::OperatorKind::kCollective) continue;
    const GroupPlacement& where = plan.placements[1][i];
    const bool leaves =
        op.group == workload::GroupKind::kPipeline || op.group == workload::GroupKind::kWorld;
    EXPECT_EQ(where.nodes, leaves ? 2 : 1) << op.name;
    EXPECT_GT(where.size, 1) << op.name;
  }
}

TEST(Program, TheHostWaitsForTheHeadWhereItsSoftwareDoes) {
  spec::Job job = make_job({});
  const auto waits = [&job](const std::string& words) {
    return text(make_plan(job, workload::lower(job)), 0).find(words) != std::string::npos;
  };
  EXPECT_FALSE(waits("to_host"));
  job.software.parameters.set("host.waits_for_head", {1, "", {}, base::Grade::kAssumed});
  EXPECT_TRUE(waits("loss_to_host sync"));
  EXPECT_TRUE(waits("head_gradient_to_host sync"));
}

}  // namespace
}  // namespace ergometer::plan
