#include "analysis/work/kernel_table.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/math/sum.h"
#include "analysis/work/kernel_class.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

void add(KernelRow& row, int64_t count, int64_t total, int64_t shortest, int64_t longest) {
  row.shortest_ns = row.count == 0 ? shortest : std::min(row.shortest_ns, shortest);
  row.longest_ns = std::max(row.longest_ns, longest);
  row.count += count;
  add_time(row.total_ns, total);
}

/// The rows of one rank: by name and kind, in the order of the names' numbers.
std::vector<KernelRow> rows_of(const run::RankTrace& trace) {
  constexpr size_t kKinds = 3;
  std::vector<KernelRow> rows(trace.names.size() * kKinds);
  for (const run::GpuEvent& event : trace.events)
    add(rows[event.name * kKinds + static_cast<size_t>(event.kind)], 1, event.duration_ns,
        event.duration_ns, event.duration_ns);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].name = trace.names[i / kKinds];
    rows[i].kind = static_cast<run::GpuClass>(i % kKinds);
  }
  std::erase_if(rows, [](const KernelRow& row) { return row.count == 0; });
  return rows;
}

template <class Rows>
std::vector<KernelRow> sorted(Rows&& by_key) {
  std::vector<KernelRow> table = base::values_of(std::move(by_key));
  std::ranges::sort(table, [](const KernelRow& a, const KernelRow& b) {
    return std::tie(b.total_ns, a.name, a.kind) < std::tie(a.total_ns, b.name, b.kind);
  });
  return table;
}

/// Rows of equal class as one; those without a class are left out.
template <class ClassOf>
std::vector<KernelRow> summed_by(const std::vector<KernelRow>& kernels, ClassOf&& class_of) {
  std::map<std::string_view, KernelRow> rows;
  for (const KernelRow& kernel : kernels) {
    const std::string_view kernel_class = class_of(kernel);
    if (kernel_class.empty()) continue;
    KernelRow& sum = rows[kernel_class];
    sum.name = kernel_class;
    sum.kernel_class = kernel_class;
    sum.kind = kernel.kind;
    add(sum, kernel.count, kernel.total_ns, kernel.shortest_ns, kernel.longest_ns);
  }
  return sorted(std::move(rows));
}

}  // namespace

std::vector<KernelRow> kernel_table(const std::vector<run::RankTrace>& ranks) {
  std::map<std::pair<std::string, run::GpuClass>, KernelRow> rows;
  for (const run::RankTrace& trace : ranks) {
    for (const KernelRow& row : rows_of(trace)) {
      KernelRow& sum = rows[{row.name, row.kind}];
      sum.name = row.name;
      sum.kind = row.kind;
      add(sum, row.count, row.total_ns, row.shortest_ns, row.longest_ns);
    }
  }
  for (auto& [key, row] : rows) row.kernel_class = kernel_class(row.name, row.kind);
  return sorted(std::move(rows));
}

std::vector<KernelRow> class_table(const std::vector<KernelRow>& kernels) {
  return summed_by(kernels, [](const KernelRow& kernel) { return kernel.kernel_class; });
}

std::vector<KernelRow> study_table(const std::vector<KernelRow>& kernels) {
  return summed_by(kernels,
                   [](const KernelRow& kernel) { return study_class(kernel.name, kernel.kind); });
}

}  // namespace ergometer::analysis
