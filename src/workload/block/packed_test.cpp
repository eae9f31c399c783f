#include <gtest/gtest.h>

#include "workload/flops.h"
#include "workload/shapes.h"
#include "workload/test_lines.h"

// Documents packed into a sequence attend to themselves alone.

namespace ergometer::workload {
namespace {

using namespace test;

TEST(PackedSequences, CutTheAttentionOfTheirDocuments) {
  spec::Job job = job_of(dense_model(1, 256, 512, 4, 4, 1024), 4096);
  job.training.packed_mean_length = 512;
  // 4096 queries see 256 keys on average, half a document, and half a tile of 128 more.
  EXPECT_EQ(attention_pairs(shapes_of(job), 0), 4096.0 * 256);
  EXPECT_EQ(executed_pairs(shapes_of(job), 0), 4096.0 * (256 + 64));
  // A window inside a document: w - w^2 / 2d keys; behind its end it changes nothing.
  EXPECT_EQ(attention_pairs(shapes_of(job), 128), 4096.0 * (128 - 16));
  EXPECT_EQ(attention_pairs(shapes_of(job), 1024), 4096.0 * 256);
}

// Each document's own pairs: a sequence of 4,096 as one would be eight times as many.
TEST(PackedSequences, CountModelFlopsOfDocuments) {
  spec::Job job = job_of(dense_model(1, 256, 512, 4, 4, 1024), 4096);
  const double whole = model_flops_per_step(job).value();
  job.training.packed_mean_length = 512;
  const Workload packed = lower(job);
  const double batch = static_cast<double>(job.training.global_batch);
  EXPECT_EQ(whole - model_flops_per_step(job).value(),
            3 * batch * 2.0 * 4 * 128 * 4096 * (2048 - 256));
  const Operator& core = find_op(packed, layer_block(packed, 0).forward, "core_attention");
  EXPECT_EQ(core.model_flops, 2.0 * 4 * 128 * 4096 * 256);
  EXPECT_EQ(core.flops, 2.0 * 4 * 128 * 4096 * 320);
}

}  // namespace
}  // namespace ergometer::workload
