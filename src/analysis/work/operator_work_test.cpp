#include "analysis/work/operator_work.h"

#include <gtest/gtest.h>

#include "analysis/trace/example_trace.h"
#include "analysis/work/shape_table.h"

namespace ergometer::analysis {
namespace {

OperatorInput tensor(std::vector<int64_t> dims, const std::string& dtype = "c10::BFloat16") {
  return {.dims = std::move(dims),
          .list_elements = 0,
          .element_bytes = bytes_of_dtype(dtype),
          .dtype = dtype,
          .value = ""};
}
OperatorInput value(const std::string& text) {
  return {.dims = {}, .list_elements = 0, .element_bytes = 0, .dtype = "Scalar", .value = text};
}

void expect_flops(const OperatorWork& work, double low, double high) {
  ASSERT_TRUE(work.flops);
  EXPECT_DOUBLE_EQ(work.flops->low, low);
  EXPECT_DOUBLE_EQ(work.flops->high, high);
}

// (4, 8) x (8, 16): 2 x 4 x 16 x 8 = 1024 FLOPs; 32 + 128 read, 64 written, two bytes each.
TEST(OperatorWork, Gemm) {
  const OperatorWork mm = work_of("aten::mm", {tensor({4, 8}), tensor({8, 16})});
  expect_flops(mm, 1024, 1024);
  EXPECT_DOUBLE_EQ(*mm.bytes, 2 * (32 + 128 + 64));
  const OperatorWork addmm =
      work_of("aten::addmm", {tensor({16}), tensor({4, 8}), tensor({8, 16}), value("1")});
  expect_flops(addmm, 1024, 1024);
  EXPECT_DOUBLE_EQ(*addmm.bytes, 2 * (16 + 32 + 128 + 64));
  expect_flops(work_of("aten::linear", {tensor({2, 2, 8}), tensor({16, 8})}), 1024, 1024);
  expect_flops(work_of("aten::bmm", {tensor({3, 4, 8}), tensor({3, 8, 16})}), 3072, 3072);
  expect_flops(
      work_of("aten::baddbmm", {tensor({3, 4, 16}), tensor({3, 4, 8}), tensor({3, 8, 16})}), 3072,
      3072);
  EXPECT_FALSE(work_of("aten::mm", {tensor({4, 8}), tensor({9, 16})}).flops);
  EXPECT_FALSE(work_of("aten::mm", {}).flops);
}

// The one dimension that both have is K, whichever way they lie: 2 x 32 x 128 / 8 = 1024.
// Squares leave open which it is: 2 x 16 x 64 / 4.
TEST(OperatorWork, GemmInAnyLayout) {
  expect_flops(work_of("tex::te_gemm_ts", {tensor({8, 4}), value("1"), tensor({16, 8})}), 1024,
               1024);
  // 4 or 8: 2 x 32 x 32 / 8 or / 4.
  expect_flops(work_of("te_gemm_ts", {tensor({4, 8}), tensor({8, 4})}), 256, 512);
  EXPECT_FALSE(work_of("te_gemm_ts", {tensor({4, 8}), tensor({3, 5})}).flops);
}

// 3x3 over 6x6 with stride 1 and no padding: 4x4 positions of 5 channels, each from 2 x 9 values:
// 2 x (1 x 5 x 16) x 18 = 2880.
TEST(OperatorWork, Convolution) {
  const std::vector<OperatorInput> inputs = {
      tensor({1, 2, 6, 6}), tensor({5, 2, 3, 3}), value(""),       value("[1, 1]"), value("[0, 0]"),
      value("[1, 1]"),      value("False"),       value("[0, 0]"), value("1")};
  const OperatorWork forward = work_of("aten::convolution", inputs);
  expect_flops(forward, 2880, 2880);
  EXPECT_EQ(forward.output, (std::vector<int64_t>{1, 5, 4, 4}));
  EXPECT_DOUBLE_EQ(*forward.bytes, 2 * (72 + 90 + 80));
  // Stride 2, padding 1: (6 + 2 - 3) / 2 + 1 = 3 positions each way; cuDNN's order of arguments.
  const OperatorWork strided = work_of("aten::cudnn_convolution",
                                       {tensor({1, 2, 6, 6}), tensor({5, 2, 3, 3}), value("[1, 1]"),
                                        value("[2, 2]"), value("[1, 1]"), value("1")});
  expect_flops(strided, 2.0 * 45 * 18, 2.0 * 45 * 18);
  // Without the arguments nothing tells the stride.
  EXPECT_FALSE(
      work_of("aten::cudnn_convolution", {tensor({1, 2, 6, 6}), tensor({5, 2, 3, 3})}).flops);
}

TEST(OperatorWork, ConvolutionBackward) {
  std::vector<OperatorInput> inputs = {tensor({1, 5, 4, 4}), tensor({1, 2, 6, 6}),
                                       tensor({5, 2, 3, 3})};
  expect_flops(work_of("aten::convolution_backward", inputs), 2880, 5760);
  inputs.resize(11);
  inputs[7] = value("False");
  inputs[10] = value("[True, True, False]");
  expect_flops(work_of("aten::convolution_backward", inputs), 5760, 5760);
  inputs[10] = value("[False, True, True]");
  const OperatorWork first_layer = work_of("aten::convolution_backward", inputs);
  expect_flops(first_layer, 2880, 2880);
  EXPECT_DOUBLE_EQ(*first_layer.bytes, 2 * (80 + 72 + 90) + 2 * 90);
}

// B 2, H 3, S 4, D 8: 2 x 2 x 3 x 16 x (8 + 8) = 3072 for the full square.
TEST(OperatorWork, Attention) {
  const auto qkv = [] { return tensor({2, 4, 3, 8}); };
  std::vector<OperatorInput> inputs = {qkv(), qkv(), qkv()};
  expect_flops(work_of("aten::_flash_attention_forward", inputs), 1536, 3072);
  inputs.resize(9);
  inputs[8] = value("True");
  expect_flops(work_of("aten::_flash_attention_forward", inputs), 1536, 1536);
  inputs[8] = value("False");
  const OperatorWork full = work_of("aten::_flash_attention_forward", inputs);
  expect_flops(full, 3072, 3072);
  EXPECT_DOUBLE_EQ(*full.bytes, 4 * 2 * 192);
  // Heads before the sequence: H 4, S 3 here, and grouped queries: keys of 1 head.
  expect_flops(
      work_of("aten::_scaled_dot_product_flash_attention",
              {qkv(), tensor({2, 1, 3, 8}), tensor({2, 1, 3, 8}), value("0."), value("False")}),
      2.0 * 2 * 4 * 9 * 16, 2.0 * 2 * 4 * 9 * 16);
  // Backward: 2.5 times as much.
  std::vector<OperatorInput> backward(12, value(""));
  for (size_t i = 0; i < 5; ++i) backward[i] = qkv();
  backward[11] = value("True");
  expect_flops(work_of("aten::_flash_attention_backward", backward), 3840, 3840);
  // Sequences one behind the other.
  EXPECT_FALSE(work_of("aten::_flash_attention_forward",
                       {tensor({8, 3, 8}), tensor({8, 3, 8}), tensor({8, 3, 8})})
                   .flops);
}

TEST(OperatorWork, BytesOfWhatIsMemoryBound) {
  const OperatorWork add = work_of("aten::add_", {tensor({4, 8}), tensor({8}), value("1")});
  EXPECT_TRUE(add.memory_bound);
  EXPECT_DOUBLE_EQ(*add.bytes, 2 * (32 + 8 + 32));
  EXPECT_EQ(add.output, (std::vector<int64_t>{4, 8}));
  EXPECT_DOUBLE_EQ(*work_of("aten::copy_", {tensor({4, 8}, "float"), tensor({4, 8})}).bytes,
                   4 * 32 + 2 * 32);
  EXPECT_DOUBLE_EQ(*work_of("aten::zero_", {tensor({4, 8})}).bytes, 64);
  EXPECT_DOUBLE_EQ(*work_of("aten::_softmax", {tensor({4, 8}), value("-1")}).bytes, 128);
  EXPECT_DOUBLE_EQ(
      *work_of("triton_poi_fused_add_0", {tensor({4, 8}), tensor({4, 8}), value("32")}).bytes, 128);
  EXPECT_FALSE(work_of("aten::embedding", {tensor({1000, 8}), tensor({4}, "long int")}).bytes);
  EXPECT_FALSE(work_of("aten::add", {tensor({4, 8}, "unknown")}).bytes);
}

TEST(OperatorInputs, AreReadAsKinetoWritesThem) {
  run::RankTrace trace;
  trace.names = {R"([[2, 3], [], [[4], [5, 6]], [1]])",
                 R"(["c10::Half", "Scalar", "TensorList", "long int"])",
                 R"(["", "1.5", "", "a, \"b\""])", "[[2, x]", "[]"};
  const auto inputs = inputs_of(trace, {.shapes = 0, .dtypes = 1, .values = 2});
  ASSERT_EQ(inputs.size(), 4u);
  EXPECT_EQ(inputs[0].dims, (std::vector<int64_t>{2, 3}));
  EXPECT_DOUBLE_EQ(inputs[0].bytes(), 12);
  EXPECT_EQ(inputs[1].value, "1.5");
  EXPECT_EQ(inputs[2].list_elements, 34);
  EXPECT_DOUBLE_EQ(inputs[3].bytes(), 8);
  EXPECT_TRUE(inputs_of(trace, {.shapes = 4}).empty());
  EXPECT_TRUE(inputs_of(trace, {}).empty());
  for (const OperatorInput& input : inputs_of(trace, {.shapes = 3}))
    EXPECT_TRUE(input.dims.empty());
}

// Two calls of one shape in 2 us of three kernels: 2 x 1024 FLOPs / 2 us = 1.024 GFLOP/s; 448 bytes
// each: 0.448 GB/s; a peak of 2.048 GFLOP/s and 0.896 GB/s is half reached.
TEST(ShapeTable, SumsCallsOfOneShape) {
  ExampleTrace t;
  const std::string shapes = "[[4, 8], [8, 16]]", dtypes = R"(["c10::BFloat16", "c10::BFloat16"])";
  t.shaped("aten::mm", 0, 10, shapes, dtypes);
  t.shaped("aten::mm", 20, 30, shapes, dtypes);
  t.kernel("gemm", 5, 1000, 1500)
      .kernel("splitKreduce", 6, 1500, 2000)
      .kernel("gemm", 25, 3000, 4000);
  t.alone("other", 5000, 5500);
  // Names are interned by the reader; here each call has its own copy.
  for (run::Operator& op : t.trace.operators) {
    op.name = t.trace.operators[0].name;
    op.shapes = t.trace.operators[0].shapes;
    op.dtypes = t.trace.operators[0].dtypes;
  }
  std::vector<run::RankTrace> ranks = {t.trace};
  const ShapeTable table = shape_table(ranks, {Attribution(t.trace)});
  ASSERT_EQ(table.rows.size(), 1u);
  const ShapeRow& row = table.rows[0];
  EXPECT_EQ(row.calls, 2);
  EXPECT_EQ(row.kernels, 3);
  EXPECT_EQ(row.total_ns, 2000);
  EXPECT_EQ(table.total_ns, 2500);
  EXPECT_EQ(table.operator_ns, 2000);
  EXPECT_DOUBLE_EQ(row.tflops_low(), 1.024e-3);
  EXPECT_DOUBLE_EQ(row.tflops_high(), 1.024e-3);
  EXPECT_DOUBLE_EQ(row.gb_per_s(), 0.448);
  EXPECT_DOUBLE_EQ(row.flops_per_byte(), 1024.0 / 448);
  DevicePeak peak;
  peak.bf16_flops = 2.048e9;
  peak.bytes_per_s = 0.896e9;
  EXPECT_DOUBLE_EQ(row.flops_fraction(peak), 0.5);
  EXPECT_DOUBLE_EQ(row.bytes_fraction(peak), 0.5);
}

}  // namespace
}  // namespace ergometer::analysis
