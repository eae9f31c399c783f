// A trace, packed or in an archive or plain: refused with a message, or a breakdown that adds up.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "analysis/trace_summary.h"
#include "file_input.h"
#include "import/import.h"

namespace {

void check(const ergometer::analysis::RankSummary& rank) {
  const auto& b = rank.breakdown;
  if (b.gpu_events < 0 || b.span_ns < b.busy_ns || b.idle_ns != b.span_ns - b.busy_ns) std::abort();
  if (b.compute_ns < b.overlap_ns || b.exposed_communication_ns < 0 || b.exposed_memory_ns < 0)
    std::abort();
  if (b.busy_ns != b.compute_ns + b.exposed_communication_ns + b.exposed_memory_ns) std::abort();
  if (rank.idle.launch_ns < 0 || rank.idle.queued_ns < 0) std::abort();
  if (rank.idle.launch_ns + rank.idle.queued_ns + rank.idle.unknown_ns != b.idle_ns) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileInput input(data, size);
  const auto traces = ergometer::importer::read_traces({input.path()}, 1);
  if (!traces) {
    if (traces.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& dropped : traces->dropped)
    if (dropped.count <= 0 || dropped.reason.empty()) std::abort();
  for (const auto& rank : ergometer::analysis::summarize(traces->ranks).ranks) check(rank);
  return 0;
}
