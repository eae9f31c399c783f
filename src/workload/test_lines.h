#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workload/test_models.h"

namespace ergometer::workload::test {

/// What one item of a list must be. A join and a collective have no shape; `bytes` is HBM traffic,
/// or of a collective its buffer. `groups` and `kernels` are checked where they say something.
struct Line {
  std::string word;
  double m = 0, n = 0, k = 0;
  double flops = 0, bytes = 0;
};

inline Line gemm(std::string name, double m, double n, double k, double bytes, double groups = 1) {
  return {std::move(name), m, n, k, 2 * m * n * k * groups, bytes};
}
inline Line memory(std::string name, double bytes) { return {std::move(name), 0, 0, 0, 0, bytes}; }
inline Line attention(std::string name, double flops, double bytes) {
  return {std::move(name), 0, 0, 0, flops, bytes};
}
inline Line join(std::string word) { return {std::move(word)}; }

inline void expect_lines(const Workload& workload, const std::vector<Item>& items,
                         const std::vector<Line>& lines) {
  EXPECT_EQ(items.size(), lines.size());
  for (size_t i = 0; i < items.size() && i < lines.size(); ++i) {
    const Line& line = lines[i];
    ASSERT_EQ(word(workload, items[i]), line.word) << "item " << i;
    if (items[i].kind == Item::Kind::kJoin) continue;
    const Operator& op = op_of(workload, items[i]);
    EXPECT_EQ(static_cast<double>(op.m), line.m) << line.word;
    EXPECT_EQ(static_cast<double>(op.n), line.n) << line.word;
    EXPECT_EQ(static_cast<double>(op.k), line.k) << line.word;
    EXPECT_EQ(op.flops, line.flops) << line.word;
    EXPECT_EQ(op.kind == OperatorKind::kCollective ? op.comm_bytes : op.bytes, line.bytes)
        << line.word;
  }
}

/// The recomputed list is the forward list again, at another pass and without FLOPs of the model's
/// own.
inline void expect_repeats_forward(const Workload& workload, const Block& block) {
  ASSERT_EQ(words(workload, block.recompute), words(workload, block.forward));
  for (size_t i = 0; i < block.forward.size(); ++i) {
    if (block.forward[i].kind == Item::Kind::kJoin) continue;
    const Operator &once = op_of(workload, block.forward[i]),
                   &again = op_of(workload, block.recompute[i]);
    EXPECT_EQ(again.pass, Pass::kRecompute) << again.name;
    EXPECT_EQ(again.model_flops, 0) << again.name;
    EXPECT_EQ(again.flops, once.flops) << again.name;
    EXPECT_EQ(again.bytes, once.bytes) << again.name;
    EXPECT_EQ(again.comm_bytes, once.comm_bytes) << again.name;
  }
}

}  // namespace ergometer::workload::test
