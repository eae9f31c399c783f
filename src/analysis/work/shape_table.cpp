#include "analysis/work/shape_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "analysis/math/sum.h"

namespace ergometer::analysis {
namespace {

/// Names of one trace, by their numbers: name, shapes, types, values.
using ShapeKey = std::array<uint32_t, 4>;
struct Sum {
  int64_t calls = 0, kernels = 0, total_ns = 0;
};

std::map<ShapeKey, Sum> sums_of(const run::RankTrace& trace, const Attribution& attribution,
                                ShapeTable& table) {
  std::map<ShapeKey, Sum> sums;
  std::vector<bool> called(trace.operators.size());
  for (size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].kind == run::GpuClass::kCommunication) continue;
    const int64_t duration = trace.events[i].duration_ns;
    add_time(table.total_ns, duration);
    const uint32_t index = attribution.operators[i];
    if (index == Attribution::kNone) continue;
    add_time(table.operator_ns, duration);
    const run::Operator& op = trace.operators[index];
    Sum& sum = sums[{op.name, op.shapes, op.dtypes, op.values}];
    ++sum.kernels;
    add_time(sum.total_ns, duration);
    if (!called[index]) ++sum.calls;
    called[index] = true;
  }
  return sums;
}

std::string text_of(const run::RankTrace& trace, uint32_t text) {
  return text == run::GpuEvent::kNone ? "" : trace.names[text];
}

/// FLOPs or bytes of all calls over the time of their kernels, a second.
double rate(double each, const ShapeRow& row) {
  if (row.total_ns <= 0) return 0;
  return each * static_cast<double>(row.calls) / (static_cast<double>(row.total_ns) * 1e-9);
}

/// The first type that is a tensor's of floating-point numbers.
double peak_flops(const DevicePeak& peak, std::string_view dtypes) {
  constexpr size_t kNo = std::string_view::npos;
  const size_t half = dtypes.find("c10::Half"), bf16 = dtypes.find("c10::BFloat16"),
               fp8 = dtypes.find("c10::Float8"), fp32 = dtypes.find("\"float\"");
  const size_t first = std::min({half, bf16, fp8, fp32});
  if (first == kNo) return 0;
  return first == half   ? peak.fp16_flops
         : first == bf16 ? peak.bf16_flops
         : first == fp8  ? peak.fp8_flops
                         : peak.fp32_flops;
}

}  // namespace

double ShapeRow::tflops_low() const {
  return work.flops ? rate(work.flops->low, *this) * 1e-12 : 0;
}
double ShapeRow::tflops_high() const {
  return work.flops ? rate(work.flops->high, *this) * 1e-12 : 0;
}
double ShapeRow::gb_per_s() const { return work.bytes ? rate(*work.bytes, *this) * 1e-9 : 0; }
double ShapeRow::flops_per_byte() const {
  return work.flops && work.bytes && *work.bytes > 0 ? work.flops->high / *work.bytes : 0;
}
double ShapeRow::flops_fraction(const DevicePeak& peak) const {
  const double most = peak_flops(peak, dtypes);
  return most > 0 ? tflops_high() * 1e12 / most : 0;
}
double ShapeRow::bytes_fraction(const DevicePeak& peak) const {
  return peak.bytes_per_s > 0 ? gb_per_s() * 1e9 / peak.bytes_per_s : 0;
}

ShapeTable shape_table(const std::vector<run::RankTrace>& ranks,
                       const std::vector<Attribution>& attributions) {
  ShapeTable table;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, ShapeRow> rows;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const run::RankTrace& trace = ranks[rank];
    for (const auto& [key, sum] : sums_of(trace, attributions[rank], table)) {
      ShapeRow& row = rows[{text_of(trace, key[0]), text_of(trace, key[1]), text_of(trace, key[2]),
                            text_of(trace, key[3])}];
      if (row.calls == 0)
        row.work = work_of(
            trace.names[key[0]],
            inputs_of(trace,
                      {.name = key[0], .shapes = key[1], .dtypes = key[2], .values = key[3]}));
      row.calls += sum.calls;
      row.kernels += sum.kernels;
      add_time(row.total_ns, sum.total_ns);
      if (row.work.flops) add_time(table.flops_ns, sum.total_ns);
    }
  }
  for (auto& [key, row] : rows) {
    std::tie(row.name, row.shapes, row.dtypes, row.values) = key;
    table.rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(table.rows, std::ranges::greater{}, &ShapeRow::total_ns);
  return table;
}

}  // namespace ergometer::analysis
