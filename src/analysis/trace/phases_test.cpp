#include "analysis/trace/phases.h"

#include <gtest/gtest.h>

#include "analysis/trace/example_trace.h"

namespace ergometer::analysis {
namespace {

PhaseOfEvent only(const ExampleTrace& t) {
  const auto phases = phases_of(t.trace, Attribution(t.trace));
  EXPECT_EQ(phases.size(), 1u);
  return phases.front();
}

void expect(const ExampleTrace& t, Phase phase, Evidence evidence) {
  EXPECT_EQ(to_word(only(t).phase), to_word(phase));
  EXPECT_EQ(to_word(only(t).evidence), to_word(evidence));
}

TEST(Phases, ForwardIsWhatAutogradRecordsOutsideBackward) {
  ExampleTrace t;
  t.op("aten::linear", 0, 10).sequence = 4;
  t.op("aten::mm", 1, 9);
  t.kernel("gemm", 5, 20, 30);
  expect(t, Phase::kForward, Evidence::kOperator);
}

TEST(Phases, BackwardIsWhatAutogradsEngineCalls) {
  ExampleTrace t;
  t.op("autograd::engine::evaluate_function: MmBackward0", 0, 10, 2).sequence = 4;
  t.op("aten::mm", 1, 9, 2);
  t.kernel("gemm", 5, 20, 30, 2);
  expect(t, Phase::kBackward, Evidence::kOperator);
}

// Checkpointing without reentry: ReLU's backward unpacks a saved tensor, which runs forward anew.
TEST(Phases, RecomputationIsRecordedWithinBackward) {
  ExampleTrace t;
  t.op("autograd::engine::evaluate_function: ReluBackward0", 0, 10, 2).sequence = 4;
  t.op("ReluBackward0", 1, 9, 2).forward_thread = 1;
  t.op("aten::conv2d", 2, 8, 2).sequence = 9;
  t.op("aten::cudnn_convolution", 3, 7, 2);
  t.kernel("fprop", 5, 20, 30, 2);
  expect(t, Phase::kRecomputation, Evidence::kOperator);
}

// With reentry a backward pass runs within the checkpoint's: its own nodes are the innermost.
TEST(Phases, BackwardWithinACheckpointIsBackward) {
  ExampleTrace t;
  t.op("CheckpointFunctionBackward", 0, 20, 2).sequence = 4;
  t.op("autograd::engine::evaluate_function: MmBackward0", 5, 15, 2).sequence = 9;
  t.op("aten::mm", 6, 10, 2);
  t.kernel("gemm", 7, 30, 40, 2);
  expect(t, Phase::kBackward, Evidence::kOperator);
}

TEST(Phases, TheOptimizersRangeCountsBeforeAnythingElse) {
  ExampleTrace t;
  t.range("Optimizer.step#AdamW.step", 0, 10);
  t.op("aten::_foreach_add_", 1, 9).sequence = 3;
  t.kernel("multi_tensor_apply", 5, 20, 30);
  expect(t, Phase::kOptimizer, Evidence::kRange);
}

TEST(Phases, RangesSpeakWhereOperatorsDoNot) {
  ExampleTrace cpu;
  cpu.range("training step", 0, 90).range("## forward ##", 0, 50).range("loss.backward", 20, 40);
  cpu.kernel("a", 30, 100, 110);
  expect(cpu, Phase::kBackward, Evidence::kRange);  // the innermost

  ExampleTrace gpu;
  gpu.range("## backward ##", 90, 120, 7, true).alone("a", 100, 110);
  expect(gpu, Phase::kBackward, Evidence::kRange);

  ExampleTrace
      other_thread;  // the main thread waits in backward() while autograd's thread launches
  other_thread.range("backward-compute", 0, 50, 1).kernel("a", 30, 100, 110, 2);
  expect(other_thread, Phase::kBackward, Evidence::kRange);
}

TEST(Phases, KernelsNamesCountWhereTheyAreSure) {
  ExampleTrace adam, bwd, fwd, nccl;
  adam.alone("void multi_tensor_apply_kernel<FusedAdamMathFunctor>", 0, 1);
  expect(adam, Phase::kOptimizer, Evidence::kName);
  bwd.alone("flash_bwd_dq_dk_dv_loop_kernel", 0, 1);
  expect(bwd, Phase::kBackward, Evidence::kName);
  fwd.alone("flash_fwd_kernel", 0, 1);  // or recomputed
  expect(fwd, Phase::kUnknown, Evidence::kNone);
  nccl.alone("ncclDevKernel_AllGather_RING_LL", 0, 1);
  nccl.trace.events[0].kind = run::GpuClass::kCommunication;
  expect(nccl, Phase::kCommunication, Evidence::kNone);
}

TEST(Phases, OldTracesHaveNoNumbers) {
  ExampleTrace t;
  t.op("aten::mm", 0, 10);
  t.op("AddmmBackward", 20, 30, 2);
  t.kernel("gemm", 5, 40, 50);
  expect(t, Phase::kForward, Evidence::kOperator);
  ExampleTrace inference;
  inference.op("aten::mm", 0, 10);
  inference.kernel("gemm", 5, 40, 50);
  expect(inference, Phase::kUnknown, Evidence::kNone);
}

TEST(Phases, RangesNamesAreThoseOfFrameworks) {
  for (const char* name : {"DistributedDataParallel.forward", "forward-compute", "## forward ##",
                           "FullyShardedDataParallel.forward", "fwd"})
    EXPECT_EQ(phase_of_range(name), Phase::kForward) << name;
  for (const char* name :
       {"backward-compute", "DeepSpeedEngine.backward", "FSDP::post_backward_reduce"})
    EXPECT_EQ(phase_of_range(name), Phase::kBackward) << name;
  for (const char* name :
       {"Optimizer.step#AdamW.step", "optimizer", "DeepSpeedEngine.step", "clip_grad_norm"})
    EXPECT_EQ(phase_of_range(name), Phase::kOptimizer) << name;
  EXPECT_EQ(phase_of_range("recompute layer 3"), Phase::kRecomputation);
  for (const char* name : {"forward_backward", "ProfilerStep#3", "nccl:all_reduce", ""})
    EXPECT_EQ(phase_of_range(name), Phase::kUnknown) << name;
}

// 30 ns of backward in two kernels that overlap by 5, 10 unknown: 75 % of the time has a phase.
TEST(Phases, TableSumsDurationsAndUnites) {
  ExampleTrace t;
  t.alone("a_bwd", 0, 15).alone("b_bwd", 10, 25).alone("c", 30, 40);
  PhaseTable table;
  add_phases(t.trace, phases_of(t.trace, Attribution(t.trace)), table);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].phase, Phase::kBackward);
  EXPECT_EQ(table.rows[0].total_ns, 30);
  EXPECT_EQ(table.rows[0].busy_ns, 25);
  EXPECT_DOUBLE_EQ(table.assigned_fraction(), 0.75);
  add_phases(t.trace, phases_of(t.trace, Attribution(t.trace)), table);
  EXPECT_EQ(table.rows[0].busy_ns, 50);
}

}  // namespace
}  // namespace ergometer::analysis
