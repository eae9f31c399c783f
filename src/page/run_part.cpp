#include "page/run_part.h"

#include <algorithm>

#include "page/timeline_part.h"
#include "run/fit_words.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;

void write_assumptions(JsonWriter& json, const std::vector<run::Assumption>& assumptions) {
  json.rows("assumptions", assumptions, [&](const run::Assumption& a) {
    json.member("group", a.group).member("name", a.name).member("value", a.value);
    json.member("source", a.source).known("grade", a.grade);
  });
}

}  // namespace

void write_run(JsonWriter& json, const RunView& view, const std::vector<int64_t>& ranks) {
  json.member("name", view.named->name);
  write_summary_part(json, view);
  if (const run::Memory& memory = view.run().memory; memory.capacity_bytes > 0)
    json.member("fit", run::fit_words(run::fit_state(memory.fit_probability)));
  write_findings_part(json, view);
  write_assumptions(json, view.run().assumptions);
  write_ranks_part(json, view);
  write_timeline(json, view, ranks);
  write_series_part(json, view);
  write_energy_part(json, view);
  write_collectives_part(json, view);
  write_recorded_part(json, view);
}

void write_place(JsonWriter& json, const RunView& view, int64_t rank) {
  const std::vector<run::Rank>& ranks = view.run().ranks;
  const auto row = std::ranges::lower_bound(ranks, rank, {}, &run::Rank::rank);
  if (row != ranks.end() && row->rank == rank)
    json.member("node", row->node).member("slot", row->slot);
}

}  // namespace ergometer::page
