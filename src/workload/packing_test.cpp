#include "workload/packing.h"

#include <gtest/gtest.h>

namespace ergometer::workload {
namespace {

using spec::Compression;
constexpr Compression kInt8{Compression::Kind::kInt8, 1};
constexpr Compression kTop{Compression::Kind::kTopK, 0.01};

Operator plain(CollectiveKind kind) {
  Operator op;
  op.kind = OperatorKind::kCollective;
  op.collective = kind;
  op.name = "grad";
  op.comm_bytes = 4e6;
  return op;
}

TEST(Packing, NoneLeavesTheReductionAlone) {
  const PackedReduction packed = packed_reduction({}, plain(CollectiveKind::kAllReduce), 1e6, 4, 8);
  EXPECT_EQ(packed.sum.comm_bytes, 4e6);
  EXPECT_FALSE(packed.packing);
}

TEST(Packing, Int8SendsAByteAndItsShareOfAScale) {
  const PackedReduction packed =
      packed_reduction(kInt8, plain(CollectiveKind::kAllReduce), 1e6, 4, 8);
  const double wire = 1 + 4.0 / 4096;
  EXPECT_EQ(packed.sum.collective, CollectiveKind::kAllReduce);
  EXPECT_DOUBLE_EQ(packed.sum.comm_bytes, 1e6 * wire);
  // Read in FP32 and written; unpacked by the owner of an eighth of everybody's, packed, unpacked.
  EXPECT_DOUBLE_EQ(packed.packing->pack.bytes, 1e6 * (4 + wire));
  EXPECT_DOUBLE_EQ(packed.packing->unpack.bytes, 1e6 * (wire + 0.5 + (4 + wire) / 8 + wire + 4));
}

TEST(Packing, TopKGathersWhatEveryRankKeeps) {
  const PackedReduction all = packed_reduction(kTop, plain(CollectiveKind::kAllReduce), 1e6, 4, 8);
  EXPECT_EQ(all.sum.collective, CollectiveKind::kAllGather);
  EXPECT_DOUBLE_EQ(all.sum.comm_bytes, 8 * 1e6 * 0.01 * 8);  // ranks, kept, 4 + 4 bytes
  const PackedReduction own =
      packed_reduction(kTop, plain(CollectiveKind::kReduceScatter), 1e6, 4, 8);
  EXPECT_EQ(own.sum.collective, CollectiveKind::kAllToAll);
  EXPECT_DOUBLE_EQ(own.sum.comm_bytes, 1e6 * 0.01 * 8);
}

TEST(Packing, ABorderIsReadAndWrittenOnce) {
  const Packing packing = border_packing(kInt8, 2e6, 2);
  EXPECT_DOUBLE_EQ(packing.pack.bytes, 2e6 + 1e6 * (1 + 4.0 / 4096));
  EXPECT_DOUBLE_EQ(packing.unpack.bytes, packing.pack.bytes);
}

}  // namespace
}  // namespace ergometer::workload
