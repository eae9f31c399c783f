#include "engine/handed_over.h"

#include <gtest/gtest.h>

#include "engine/time/test_plan.h"

namespace ergometer::engine {
namespace {

using test::TestPlan;
using workload::CollectiveKind;
using workload::Operator;
using workload::OperatorKind;
using workload::Pass;

Operator product(int64_t m, int64_t n, int64_t k) {
  Operator op;
  op.kind = OperatorKind::kGemm;
  op.m = m;
  op.n = n;
  op.k = k;
  return op;
}

Operator kernel(double bytes) {
  Operator op;
  op.kind = OperatorKind::kMemory;
  op.bytes = bytes;
  return op;
}

Operator collective(CollectiveKind kind, double bytes) {
  Operator op;
  op.kind = OperatorKind::kCollective;
  op.collective = kind;
  op.comm_bytes = bytes;
  return op;
}

void expect_tensors(const Operator& op, double read_bytes, double written_bytes) {
  const HandedOver tensors = tensors_of(op, 4);
  EXPECT_DOUBLE_EQ(tensors.read_bytes, read_bytes);
  EXPECT_DOUBLE_EQ(tensors.written_bytes, written_bytes);
}

// In 16 bit: 4 x 16 elements in, 4 x 8 out. FP8 operands are a byte each, what is written stays 16
// bit. A gather of 100 bytes over four members takes 25 and makes 100.
TEST(HandedOver, TensorsBySize) {
  expect_tensors(product(4, 8, 16), 128, 64);
  Operator narrow = product(4, 8, 16);
  narrow.precision = spec::Precision::kFp8;
  narrow.groups = 3;
  expect_tensors(narrow, 192, 192);
  Operator attention;
  attention.kind = OperatorKind::kAttention;
  attention.attention = {.batch = 2, .heads = 3, .q_length = 5, .qk_dim = 7, .v_dim = 11};
  expect_tensors(attention, 420, 660);
  expect_tensors(kernel(30), 15, 15);
  expect_tensors(collective(CollectiveKind::kAllGather, 100), 25, 100);
  expect_tensors(collective(CollectiveKind::kReduceScatter, 100), 100, 25);
  expect_tensors(collective(CollectiveKind::kAllReduce, 100), 100, 100);
}

/// A program of one role, one operator behind the other on the compute stream.
class Program {
 public:
  Program& then(Operator op, Pass pass = Pass::kForward, int32_t micro_batch = 0) {
    const int32_t number = test_.op(1);
    op.pass = pass;
    test_.plan.operators.back() = std::move(op);
    test_.add(0,
              {.kind = plan::InstructionKind::kCompute, .op = number, .micro_batch = micro_batch});
    return *this;
  }
  std::vector<HandedOver> handed() {
    test_.plan.placements.assign(1, {});
    test_.plan.placements[0].resize(test_.plan.operators.size());
    return handed_over(test_.plan, 0);
  }

 private:
  TestPlan test_{1, 1, 1, 1};
};

// A product writes 64 bytes, a kernel reads 50 of its 100: 50 are handed over. It writes 50, and
// the next product reads no more than 32.
TEST(HandedOver, TheSmallerOfBothSides) {
  const auto handed =
      Program().then(product(4, 8, 16)).then(kernel(100)).then(product(4, 8, 4)).handed();
  EXPECT_DOUBLE_EQ(handed[0].read_bytes, 0);
  EXPECT_DOUBLE_EQ(handed[0].written_bytes, 50);
  EXPECT_DOUBLE_EQ(handed[1].read_bytes, 50);
  EXPECT_DOUBLE_EQ(handed[1].written_bytes, 32);
  EXPECT_DOUBLE_EQ(handed[2].read_bytes, 32);
  EXPECT_DOUBLE_EQ(handed[2].written_bytes, 0);
}

TEST(HandedOver, NothingBetweenWhatDoesNotFollow) {
  Program other_batch, weight, optimizer;
  other_batch.then(kernel(100)).then(kernel(100), Pass::kForward, 1);
  weight.then(kernel(100), Pass::kBackward).then(kernel(100), Pass::kWeight);
  optimizer.then(kernel(100), Pass::kOptimizer).then(kernel(100), Pass::kOptimizer);
  for (Program* program : {&other_batch, &weight, &optimizer})
    EXPECT_DOUBLE_EQ(program->handed()[1].read_bytes, 0);
}

}  // namespace
}  // namespace ergometer::engine
