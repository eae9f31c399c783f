#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/nsys/export.h"
#include "import/nsys/table.h"

namespace ergometer::importer {
namespace {

// Columns that every table of GPU work has, in this order.
constexpr size_t kWorkStart = 0, kWorkEnd = 1, kDevice = 2, kStream = 3, kCorrelation = 4,
                 kProcess = 5, kOwn = 6;

std::vector<NsysColumn> columns(std::initializer_list<NsysColumn> own) {
  std::vector<NsysColumn> all = {{"start", true}, {"end", true},     {"deviceId", true},
                                 {"streamId"},    {"correlationId"}, {"globalPid"}};
  all.insert(all.end(), own);
  return all;
}

/// What CUPTI's numbers mean, in Kineto's words (CUpti_ActivityMemcpyKind, _MemoryKind).
std::string copy_kind(int64_t kind) {
  constexpr std::array kNames = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                 "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  constexpr std::array kManaged = {"HtoD", "DtoH", "DtoD"};
  constexpr int64_t kFirstManaged = 11;
  if (kind > 0 && kind < static_cast<int64_t>(kNames.size()))
    return kNames[static_cast<size_t>(kind)];
  if (kind >= kFirstManaged && kind < kFirstManaged + static_cast<int64_t>(kManaged.size()))
    return fmt::format("{} of managed memory", kManaged[static_cast<size_t>(kind - kFirstManaged)]);
  return fmt::format("of kind {}", kind);
}

std::string memory_kind(std::optional<int64_t> kind) {
  constexpr std::array kNames = {"Pageable", "Pinned",        "Device",        "Array",
                                 "Managed",  "Device Static", "Managed Static"};
  return kind && *kind >= 0 && *kind < static_cast<int64_t>(kNames.size())
             ? kNames[static_cast<size_t>(*kind)]
             : "Unknown";
}

/// Reads a table; `name_of` tells an event's name and class from its row.
template <class NameOf>
Result<void> read_table(NsysExport& from, const char* table, const std::string& what,
                        std::initializer_list<NsysColumn> own, const NameOf& name_of) {
  NsysTable rows(from.db, from.file, table, columns(own));
  while (rows.next()) {
    const auto span =
        read_span(rows.integer(kWorkStart), rows.integer(kWorkEnd), what, from.dropped);
    if (!span) continue;
    const int64_t process = rows.integer(kProcess).value_or(0);
    const int64_t device = small(rows.integer(kDevice));
    TraceBuilder& gpu = from.gpus[{process, device}];
    const auto [name, kind] = name_of(rows);
    gpu.trace.events.push_back({.start_ns = span->start_ns,
                                .duration_ns = span->duration_ns,
                                .correlation = rows.integer(kCorrelation).value_or(-1),
                                .name = gpu.name(name),
                                .device = static_cast<int32_t>(device),
                                .stream = small(rows.integer(kStream)),
                                .kind = kind});
  }
  return rows.finish();
}

using Named = std::pair<std::string, run::GpuClass>;

/// The first of the kernel's names that it has: full, mangled, short.
Named kernel_name(const NsysTable& rows, NsysStrings& strings) {
  for (const size_t column : {kOwn, kOwn + 1, kOwn + 2}) {
    if (const auto text = rows.text(column)) return {*text, class_of_kernel(*text)};
    if (const auto id = rows.integer(column)) {
      const std::string& text = strings.text(*id);
      return {text, class_of_kernel(text)};
    }
  }
  return {"kernel without a name", run::GpuClass::kCompute};
}

/// Work of a GPU, by the call that launched it.
struct Launched {
  int64_t correlation;
  TraceBuilder* gpu;
};
using Wanted = std::vector<Launched>;
bool by_correlation(const Launched& a, const Launched& b) { return a.correlation < b.correlation; }

/// Of every process, for correlations repeat from one to the next: in order, each GPU once.
std::map<int64_t, Wanted> wanted_launches(NsysExport& from) {
  std::map<int64_t, Wanted> wanted;
  for (auto& [key, gpu] : from.gpus) {
    Wanted& list = wanted[key.first];
    for (const int64_t correlation : gpu.correlations()) list.push_back({correlation, &gpu});
  }
  for (auto& [process, list] : wanted) std::ranges::stable_sort(list, by_correlation);
  return wanted;
}

}  // namespace

NsysStrings::NsysStrings(run::Database& db) {
  if (db.has_table("StringIds")) query_.emplace(db, "SELECT value FROM StringIds WHERE id = ?");
}

const std::string& NsysStrings::text(int64_t id) {
  const auto [at, is_new] = known_.emplace(id, std::string());
  if (!is_new) return at->second;
  if (query_) query_->bind_all(id);
  at->second = query_ && query_->step() ? query_->text(0) : fmt::format("missing string {}", id);
  return at->second;
}

Result<void> read_nsys_gpu_work(NsysExport& from) {
  ERGOMETER_TRY(read_table(from, "CUPTI_ACTIVITY_KIND_KERNEL", "kernel",
                           {{"demangledName"}, {"mangledName"}, {"shortName"}},
                           [&](const NsysTable& rows) { return kernel_name(rows, from.strings); }));
  ERGOMETER_TRY(read_table(
      from, "CUPTI_ACTIVITY_KIND_MEMCPY", "copy", {{"copyKind", true}, {"srcKind"}, {"dstKind"}},
      [](const NsysTable& rows) -> Named {
        return {
            fmt::format("Memcpy {} ({} -> {})", copy_kind(rows.integer(kOwn).value_or(0)),
                        memory_kind(rows.integer(kOwn + 1)), memory_kind(rows.integer(kOwn + 2))),
            run::GpuClass::kMemory};
      }));
  ERGOMETER_TRY(read_table(from, "CUPTI_ACTIVITY_KIND_MEMSET", "set", {{"memKind"}},
                           [](const NsysTable& rows) -> Named {
                             return {fmt::format("Memset ({})", memory_kind(rows.integer(kOwn))),
                                     run::GpuClass::kMemory};
                           }));
  return read_table(from, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graph", {{"graphId"}},
                    [](const NsysTable& rows) -> Named {
                      return {fmt::format("CUDA graph {}", rows.integer(kOwn).value_or(-1)),
                              run::GpuClass::kCompute};
                    });
}

Result<void> read_nsys_launches(NsysExport& from) {
  const std::map<int64_t, Wanted> wanted = wanted_launches(from);
  const Wanted none;
  const bool has_processes =
      std::ranges::any_of(wanted, [](const auto& list) { return list.first != 0; });
  NsysTable rows(from.db, from.file, "CUPTI_ACTIVITY_KIND_RUNTIME",
                 {{"start", true}, {"end", true}, {"correlationId"}, {"globalTid"}});
  while (rows.next()) {
    const int64_t thread = rows.integer(3).value_or(0), correlation = rows.integer(2).value_or(-1);
    const auto list = wanted.find(has_processes ? nsys_process(thread) : 0);
    const Wanted& of_process = list == wanted.end() ? none : list->second;
    const auto [first, last] = std::equal_range(of_process.begin(), of_process.end(),
                                                Launched{correlation, nullptr}, by_correlation);
    if (first == last) {
      from.dropped.add("call of CUDA that put nothing on a GPU");
      continue;
    }
    const auto span = read_span(rows.integer(0), rows.integer(1), "call of CUDA", from.dropped);
    if (!span) continue;
    for (auto at = first; at != last; ++at)
      at->gpu->add_launch(correlation, nsys_thread(thread), *span);
  }
  return rows.finish();
}

}  // namespace ergometer::importer
