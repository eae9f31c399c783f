#include "engine/handed_over.h"

#include <gtest/gtest.h>

#include "engine/time/test_plan.h"
#include "workload/test_models.h"

namespace ergometer::engine {
namespace {

using test::TestPlan;
using workload::Operator;
using workload::OperatorKind;
using workload::Pass;
using workload::test::kernel;
using workload::test::product;

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
