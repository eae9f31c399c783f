// How a row of a table of kernels' power becomes an operator.
//
//   GEMM [m,k] x [k,n], b bytes an operand: F = 2 m n k, B = b (m + n) k + 2 m n
//   attention of q queries behind s tokens, heads of width d, window w (none: all): a query meets
//     min(w, s + i) keys, i = 1 .. q; F = 4 d heads batch sum of these; B = queries and results in
//     16 bit, keys and values once, in the cache's type
//
// TensorRT-LLM's call on a prompt also rotates queries and keys and appends to the cache, in a
// kernel of its own that reads and writes all of them: B gets that much more.
#include "validation/kernels/kernel_power_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace ergometer::validation {
namespace {

using spec::Precision;
using workload::OperatorKind;

constexpr int64_t kLargestSize = 1 << 20;

/// A precision as tables write it.
struct TableType {
  std::string_view name;
  Precision precision;
  double bytes;  ///< an element, its scales included
};
constexpr auto kGemmTypes = std::to_array<TableType>({{"bfloat16", Precision::kBf16, 2},
                                                      {"float16", Precision::kFp16, 2},
                                                      {"fp8", Precision::kFp8, 1},
                                                      {"fp8_block", Precision::kFp8, 1},
                                                      {"nvfp4", Precision::kNvfp4, 0.5625}});
constexpr auto kAttentionTypes = std::to_array<TableType>({{"bfloat16", Precision::kBf16, 2},
                                                           {"float16", Precision::kFp16, 2},
                                                           {"fp8", Precision::kFp8, 1}});

/// Reads a row's cells; remembers the first that is not what its column holds.
class PowerCells {
 public:
  PowerCells(const base::CsvTable& table, size_t row, const std::string& file)
      : table_(table), row_(row), file_(file) {}

  std::string text(std::string_view column) const { return std::string(table_.cell(row_, column)); }

  int64_t whole(std::string_view column, int64_t least = 1) {
    const auto value = base::parse_integer(table_.cell(row_, column));
    if (value && *value >= least && *value <= kLargestSize) return *value;
    refuse(column, fmt::format("a whole number from {} to {}", least, kLargestSize));
    return least;
  }
  double positive(std::string_view column) {
    const auto value = base::parse_number(table_.cell(row_, column));
    // A millionth of a millisecond or watt: less was not measured, and rates of it have no end.
    if (value && *value >= 1e-6 && *value <= 1e9) return *value;
    refuse(column, "a number from 1e-6 to 1e9");
    return 1;
  }
  template <size_t N>
  const TableType& type(std::string_view column, const std::array<TableType, N>& types) {
    const std::string_view name = table_.cell(row_, column);
    std::array<std::string_view, N> names;
    for (size_t i = 0; i < N; ++i) {
      if (types[i].name == name) return types[i];
      names[i] = types[i].name;
    }
    refuse(column, fmt::format("one of {}", fmt::join(names, ", ")));
    return types[0];
  }
  void refuse(std::string_view column, const std::string& allowed) {
    if (!wrong_.empty()) return;
    wrong_ = fmt::format("{}:{}: {} = \"{}\" is not allowed; it is {}", file_,
                         table_.rows[row_].line, column, table_.cell(row_, column), allowed);
  }

  Result<KernelPowerWork> finish(KernelPowerWork work) {
    work.row.line = table_.rows[row_].line;
    work.row.device = text("device");
    work.row.framework = text("framework");
    work.row.source = text("kernel_source");
    work.row.measured_s = positive("latency_ms") / 1e3;
    work.row.measured_w = positive("power_w");
    work.row.limit_w = positive("power_limit_w");
    work.row.flops = work.op.flops;
    work.row.bytes = work.op.bytes;
    if (!wrong_.empty()) return input_error(std::move(wrong_));
    return work;
  }

 private:
  const base::CsvTable& table_;
  size_t row_;
  const std::string& file_;
  std::string wrong_;
};

}  // namespace

Result<bool> holds_attention(const base::CsvTable& table, const std::string& file) {
  const bool attention = table.index_of("phase") != base::CsvTable::kNone;
  std::vector<std::string_view> columns = {"device",     "framework", "kernel_source",
                                           "latency_ms", "power_w",   "power_limit_w"};
  for (const std::string_view column :
       attention ? std::vector<std::string_view>{"batch_size", "isl", "step", "num_heads",
                                                 "num_key_value_heads", "head_dim", "window_size",
                                                 "attn_dtype", "kv_cache_dtype"}
                 : std::vector<std::string_view>{"dtype", "m", "n", "k"})
    columns.push_back(column);
  ERGOMETER_TRY(base::require_columns(table, file, columns));
  return attention;
}

Result<KernelPowerWork> gemm_power_row(const base::CsvTable& table, size_t row,
                                       const std::string& file) {
  PowerCells cells(table, row, file);
  const TableType& type = cells.type("dtype", kGemmTypes);
  KernelPowerWork work;
  work.block_scales = type.name == "fp8_block";
  work.row.kind = "gemm";
  work.row.precision = type.name;
  workload::Operator& op = work.op;
  op.kind = OperatorKind::kGemm;
  op.precision = type.precision;
  op.m = cells.whole("m");
  op.n = cells.whole("n");
  op.k = cells.whole("k");
  const auto m = static_cast<double>(op.m), n = static_cast<double>(op.n),
             k = static_cast<double>(op.k);
  op.flops = 2 * m * n * k;
  op.bytes = type.bytes * (m + n) * k + 2 * m * n;
  return cells.finish(std::move(work));
}

Result<KernelPowerWork> attention_power_row(const base::CsvTable& table, size_t row,
                                            const std::string& file) {
  PowerCells cells(table, row, file);
  const TableType& type = cells.type("attn_dtype", kAttentionTypes);
  const TableType& cache = cells.type("kv_cache_dtype", kAttentionTypes);
  const std::string phase = cells.text("phase");
  if (phase != "prefill" && phase != "decode") cells.refuse("phase", "one of prefill, decode");
  KernelPowerWork work;
  workload::Operator& op = work.op;
  workload::AttentionShape& shape = op.attention;
  op.kind = OperatorKind::kAttention;
  op.name = "core_attention";
  op.precision = type.precision;
  shape.batch = cells.whole("batch_size");
  shape.heads = cells.whole("num_heads");
  shape.kv_heads = cells.whole("num_key_value_heads");
  shape.qk_dim = shape.v_dim = cells.whole("head_dim");
  shape.window = cells.whole("window_size", 0);
  shape.cached_bytes = cache.bytes;
  shape.q_length = cells.whole("isl");
  const int64_t before = cells.whole("step", 0);
  shape.kv_length = before + shape.q_length;

  const int64_t window =
      shape.window > 0 ? std::min(shape.window, shape.kv_length) : shape.kv_length;
  // The first `short_of` queries meet all tokens up to themselves, the others a whole window.
  const auto short_of =
      static_cast<double>(std::clamp<int64_t>(window - before, 0, shape.q_length));
  const auto queries = static_cast<double>(shape.q_length);
  const double pairs = short_of * static_cast<double>(before) + short_of * (short_of + 1) / 2 +
                       (queries - short_of) * static_cast<double>(window);
  const auto batch = static_cast<double>(shape.batch), heads = static_cast<double>(shape.heads),
             kv_heads = static_cast<double>(shape.kv_heads),
             width = static_cast<double>(shape.qk_dim);
  op.flops = 4 * width * heads * batch * pairs;
  const double keys =
      phase == "prefill" ? static_cast<double>(shape.kv_length) : static_cast<double>(window);
  op.bytes = batch * width * (4 * heads * queries + 2 * cache.bytes * kv_heads * keys);
  if (phase == "prefill" && cells.text("framework") == "TRTLLM")
    op.bytes += 4 * batch * width * queries * (heads + 2 * kv_heads);

  work.row.kind = phase;
  work.row.precision = type.name == cache.name ? std::string(type.name)
                                               : fmt::format("{}, {} cache", type.name, cache.name);
  work.row.shape_family =
      fmt::format("width {}{}", shape.qk_dim, shape.window > 0 ? ", window" : "");
  return cells.finish(std::move(work));
}

}  // namespace ergometer::validation
