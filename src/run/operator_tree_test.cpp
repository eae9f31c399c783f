#include "run/operator_tree.h"

#include <gtest/gtest.h>

namespace ergometer::run {
namespace {

Operator op(int64_t thread, int64_t start, int64_t end, int64_t external_id = -1) {
  return {
      .external_id = external_id, .thread = thread, .start_ns = start, .duration_ns = end - start};
}

//   time      0         10        20
//   thread 1  0[=====================)   3[=)
//              1[======) 2[====)
//   thread 2      4[=)
TEST(OperatorTree, KnowsWhatEnclosesWhat) {
  const OperatorTree tree({op(1, 0, 22), op(1, 1, 8), op(1, 10, 15), op(1, 25, 27), op(2, 4, 6)});
  constexpr uint32_t kNone = OperatorTree::kNone;
  EXPECT_EQ(tree.parent(0), kNone);
  EXPECT_EQ(tree.parent(1), 0u);
  EXPECT_EQ(tree.parent(2), 0u);
  EXPECT_EQ(tree.parent(3), kNone);
  EXPECT_EQ(tree.parent(4), kNone);
  const auto at = [&](int64_t thread, int64_t time) {
    return tree.of({.start_ns = time, .thread = thread});
  };
  EXPECT_EQ(at(1, 5), 1u);
  EXPECT_EQ(at(1, 9), 0u);
  EXPECT_EQ(at(1, 20), 0u);
  EXPECT_EQ(at(1, 24), kNone);
  EXPECT_EQ(at(2, 5), 4u);
  EXPECT_EQ(at(3, 5), kNone);
  EXPECT_EQ(at(-1, 5), kNone);
}

TEST(OperatorTree, BelievesAnExternalIdBeforeTheClock) {
  const OperatorTree tree({op(1, 0, 10, 7), op(1, 2, 4, 8), op(1, 5, 6, 8)});
  EXPECT_EQ(tree.of({.external_id = 7, .start_ns = 3, .thread = 1}), 0u);
  EXPECT_EQ(tree.of({.external_id = 8, .start_ns = 3, .thread = 1}), 2u);
  EXPECT_EQ(tree.of({.external_id = 9, .start_ns = 3, .thread = 1}), 1u);
}

}  // namespace
}  // namespace ergometer::run
