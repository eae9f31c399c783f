// Holds the kernel models to measured rows. The limits are the errors they reach on these rows,
// which the parameters were fitted to (rounded up): they catch a regression, they are no promise
// for other rows.
#include "cost/measured_rows.h"
#include "cost/test_support.h"

namespace ergometer::cost {
namespace {

using workload::GemmLayout;
using workload::Operator;
using workload::OperatorKind;

struct Machine {
  const char* device;   ///< as the rows name it
  const char* cluster;  ///< as the catalog does
};
constexpr Machine kA100{"A100 (a100_pcie_bf16)", "a100-pcie"};
constexpr Machine kB200{"B200 (b200_bf16_ceperm)", "hgx-b200"};

CostModel model_on(const Machine& machine) { return *CostModel::make(job_on(machine.cluster, 1)); }

double elements(const Operator& op) {
  return static_cast<double>(op.groups) * static_cast<double>(op.m) * static_cast<double>(op.n);
}

Operator gemm_of(const MeasuredRow& row) {
  const std::string layout = row.word("layout");
  Operator op = gemm_operator(row.number("m"), row.number("n"), row.number("k"),
                              layout == "NT"   ? GemmLayout::kNt
                              : layout == "NN" ? GemmLayout::kNn
                                               : GemmLayout::kTn);
  op.flops = 2 * elements(op) * static_cast<double>(op.k);
  const double out =
      row.word("accumulate") == "True" ? (row.word("out_dtype") == "fp32" ? 8 : 4) : 2;
  op.bytes = 2 * static_cast<double>(op.k) * static_cast<double>(op.m + op.n) + out * elements(op);
  return op;
}

/// SimuMax gives a weight gradient's tokens as M, like the forward pass of the same layer.
Operator grouped_of(const MeasuredRow& row) {
  const int64_t rows = row.number("M"), n = row.number("N"), k = row.number("K"),
                groups = row.number("ng");
  const std::string stage = row.word("stage");
  Operator op =
      gemm_operator(rows, n, k, stage == "bwd_grad_act" ? GemmLayout::kNn : GemmLayout::kTn);
  double out = 2;
  if (stage == "bwd_grad_w") {
    op = gemm_operator(n, k, rows, GemmLayout::kNt);
    out = row.word("accumulate") == "True" ? (row.word("main_grad_dtype") == "fp32" ? 8 : 4) : 2;
  }
  op.kind = OperatorKind::kGroupedGemm;
  op.groups = groups;
  op.flops = 2 * elements(op) * static_cast<double>(op.k);
  op.bytes = 2 * static_cast<double>(groups * op.k * (op.m + op.n)) + out * elements(op);
  return op;
}

/// Bytes as the workload counts them; the rows' TFLOP/s are of the whole square, so twice the
/// causal FLOPs.
Operator attention_of(const MeasuredRow& row) {
  Operator op;
  op.kind = OperatorKind::kAttention;
  op.name = "core_attention";
  const int64_t batch = row.number("batch"), tokens = row.number("seq_len"),
                heads = row.number("head_num"), kv_heads = row.number("kv_head_num"),
                qk = row.number("qk_head_dim"), v = row.number("v_head_dim");
  const bool backward = row.config.starts_with("sdp_bwd");
  op.attention = {batch, heads, kv_heads, tokens, tokens, qk, v, true, backward, true};
  op.flops = (backward ? 2.5 : 1) * static_cast<double>(batch * heads * tokens) *
             static_cast<double>(tokens * (qk + v));
  op.bytes = 2.0 * static_cast<double>(batch * tokens * (heads + kv_heads) * (qk + v)) *
             (backward ? 2 : 1);
  return op;
}

double achieved_flops_per_s(const MeasuredRow& row) { return row.value * 1e12; }

template <class Select, class Make>
Errors compare(const Machine& machine, Select select, Make make, double counted = 1) {
  const CostModel model = model_on(machine);
  Errors errors;
  for (const MeasuredRow& row : measured_rows()) {
    if (row.device != machine.device || !select(row)) continue;
    const Operator op = make(row);
    errors.add(model.price(op, {}).seconds(), counted * op.flops / achieved_flops_per_s(row));
  }
  return errors;
}

Errors gemms(const Machine& machine) {
  return compare(
      machine, [](const MeasuredRow& row) { return row.config.starts_with("matmul"); }, gemm_of);
}
Errors grouped(const Machine& machine) {
  return compare(
      machine, [](const MeasuredRow& row) { return row.config.starts_with("group_matmul"); },
      grouped_of);
}
Errors attention(const Machine& machine, const char* pass) {
  return compare(
      machine, [&](const MeasuredRow& row) { return row.config.starts_with(pass); }, attention_of,
      2);
}

void expect_within(const Errors& errors, const std::string& title, size_t rows, double median_limit,
                   double mean_limit) {
  errors.print(title);
  EXPECT_EQ(errors.values.size(), rows) << title;
  EXPECT_LE(errors.median(), median_limit) << title;
  EXPECT_LE(errors.mean(), mean_limit) << title;
}

TEST(KernelsMeasured, Gemm) {
  expect_within(gemms(kA100), "A100 PCIe gemm", 109, 0.015, 0.032);
  expect_within(gemms(kB200), "B200 gemm", 281, 0.045, 0.105);
}

TEST(KernelsMeasured, GroupedGemm) {
  expect_within(grouped(kA100), "A100 PCIe grouped gemm", 7, 0.03, 0.035);
  expect_within(grouped(kB200), "B200 grouped gemm", 63, 0.1, 0.11);
}

TEST(KernelsMeasured, Attention) {
  expect_within(attention(kA100, "sdp_fwd"), "A100 PCIe attention forward", 10, 0.016, 0.025);
  expect_within(attention(kA100, "sdp_bwd"), "A100 PCIe attention backward", 7, 0.015, 0.02);
  expect_within(attention(kB200, "sdp_fwd"), "B200 attention forward", 17, 0.032, 0.1);
  expect_within(attention(kB200, "sdp_bwd"), "B200 attention backward", 18, 0.02, 0.05);
}

/// Best shapes over many tries, in short runs at a clock above the sustained one: no prediction at
/// the sustained clock may reach beyond them. How far it stays below is the power limit's doing,
/// most on Blackwell, whose long GEMMs sustain 0.48 of the peak where short ones reach 0.78.
TEST(KernelsMeasured, BestShapesBoundTheSustainedRate) {
  const Machine machines[] = {{"NVIDIA A100 SXM", "dgx-a100"},
                              {"NVIDIA A100 PCIe", "a100-pcie"},
                              {"NVIDIA H100 SXM", "hgx-h100"},
                              {"NVIDIA H200 SXM", "hgx-h200"},
                              {"NVIDIA B200 SXM", "hgx-b200"},
                              {"NVIDIA B300 SXM", "hgx-b300"},
                              {"NVIDIA GB200 SXM", "gb200-nvl72"},
                              {"NVIDIA GH200 SXM", "gh200"},
                              {"AMD MI300X", "mi300x"},
                              {"AMD MI325X", "mi325x"},
                              {"AMD MI355X", "mi355x"}};
  int rows = 0;
  for (const MeasuredRow& row : measured_rows()) {
    for (const Machine& machine : machines) {
      if (row.device != machine.device) continue;
      long long m = 0, n = 0, k = 0;  // "... best shape MxNxK 2048x5120x6144; theory ..."
      const size_t at = row.config.find("MxNxK ");
      ASSERT_NE(at, std::string::npos) << row.config;
      ASSERT_EQ(std::sscanf(row.config.c_str() + at, "MxNxK %lldx%lldx%lld", &m, &n, &k), 3)
          << row.config;
      Operator op = gemm_operator(m, n, k);
      if (row.config.starts_with("FP8")) op.precision = spec::Precision::kFp8;
      op.flops = 2 * elements(op) * static_cast<double>(k);
      op.bytes = 0;
      const double rate = op.flops / model_on(machine).price(op, {}).seconds();
      std::printf("%-18s %-4s best %6.0f TFLOP/s, predicted sustained %6.0f (%.2f)\n",
                  row.device.c_str(), row.config.substr(0, 4).c_str(), row.value, rate / 1e12,
                  rate / achieved_flops_per_s(row));
      EXPECT_LT(rate / achieved_flops_per_s(row), 1.02) << row.id;
      EXPECT_GT(rate / achieved_flops_per_s(row), 0.57) << row.id;
      ++rows;
    }
  }
  EXPECT_EQ(rows, 16);
}

}  // namespace
}  // namespace ergometer::cost
