#include "spec/job/compression.h"

#include <gtest/gtest.h>

namespace ergometer::spec {
namespace {

TEST(Compression, TextsComeBack) {
  for (const char* text : {"none", "int8", "topk:0.01", "topk:0.5"}) {
    const auto how = parse_compression(text);
    ASSERT_TRUE(how) << text;
    EXPECT_EQ(compression_text(*how), text);
  }
  for (const char* text : {"", "int4", "topk", "topk:", "topk:0", "topk:0.6", "topk:-1", "topk:x"})
    EXPECT_FALSE(parse_compression(text)) << text;
}

TEST(Compression, BytesOfAValue) {
  EXPECT_EQ(wire_bytes({}, 2), 2);
  EXPECT_EQ(wire_bytes({Compression::Kind::kInt8, 1}, 2), 1 + 4.0 / 4096);
  // One value in a hundred, 4 bytes and a place of 4.
  EXPECT_DOUBLE_EQ(wire_bytes({Compression::Kind::kTopK, 0.01}, 4), 0.08);
}

TEST(Compression, AJobKeepsWhatItWasTold) {
  Job job;
  EXPECT_TRUE(gradient_compression(job).none());
  const Compression kept{Compression::Kind::kTopK, 0.01};
  compress_gradients(job, kept);
  compress_activations(job, {Compression::Kind::kInt8, 1});
  EXPECT_EQ(gradient_compression(job), kept);
  EXPECT_EQ(activation_compression(job).kind, Compression::Kind::kInt8);
}

}  // namespace
}  // namespace ergometer::spec
