#include "workload/tensors.h"

#include <gtest/gtest.h>

#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

using test::kernel;
using test::product;

Operator collective(CollectiveKind kind, double bytes) {
  Operator op;
  op.kind = OperatorKind::kCollective;
  op.collective = kind;
  op.comm_bytes = bytes;
  return op;
}

void expect_tensors(const Operator& op, double read_bytes, double written_bytes) {
  const Tensors tensors = tensors_of(op, 4);
  EXPECT_DOUBLE_EQ(tensors.read_bytes, read_bytes);
  EXPECT_DOUBLE_EQ(tensors.written_bytes, written_bytes);
}

// In 16 bit: 4 x 16 elements in, 4 x 8 out. FP8 operands are a byte each, what is written stays 16
// bit. A gather of 100 bytes over four members takes 25 and makes 100.
TEST(Tensors, BySize) {
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

}  // namespace
}  // namespace ergometer::workload
