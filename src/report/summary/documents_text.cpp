#include "report/summary/documents_text.h"

#include <fmt/format.h>

#include <string_view>

#include "base/table.h"
#include "base/text.h"
#include "report/format.h"

namespace ergometer::report {

namespace {

/// The distribution alone, where it is the job's own.
std::string setting_text(std::string_view setting, size_t most = 32) {
  for (const std::string_view name : {"--sequence-lengths ", "--samples "})
    if (setting.starts_with(name)) setting.remove_prefix(name.size());
  return shortened(setting, most);
}

/// How samples lie in micro batches; nothing where they have no images.
std::string packing_text(const run::Run& run, const TextStyle& style) {
  if (run.packing.empty()) return {};
  base::Table table("<34 >8 >8 >9 >9 >8");
  table.row("Packing: mean of drawn steps", "padding", "tokens", "distance", "tiles", "distance");
  for (const run::PackingRow& row : run.packing)
    table.row("  " + setting_text(row.setting), format_share(row.padding_fraction),
              fmt::format("{:.0f}", row.tokens), format_share(row.token_distance),
              fmt::format("{:.1f}", row.tiles), format_share(row.tile_distance));
  return '\n' + table_text(table, style, 1);
}

}  // namespace

std::string documents_text(const run::Run& run, const TextStyle& style) {
  if (run.sequences.empty()) return {};
  base::Table table("<34 >8 >8 >9 >9 >8");
  table.row("Documents: mean of drawn steps", "step", "waiting", "padding", "tokens/s", "memory");
  for (const run::SequenceRow& row : run.sequences)
    table.row("  " + setting_text(row.setting, run.packing.empty() ? 32 : 76),
              base::format_seconds(row.step_time_s), format_share(row.waiting_fraction),
              row.padding_fraction > 0 ? format_share(row.padding_fraction) : "-",
              base::format_si(row.tokens_per_s), format_gib(row.peak_memory_bytes));
  const run::SequenceRow& played = run.sequences.front();
  const std::string told = fmt::format(
      "steps take {} to {}, for the documents drawn; the step time above is of the one "
      "whose work is nearest the mean, a run takes the mean of all; attention is {} of the compute "
      "time, and the replica with most work has {:.2f} times the mean",
      base::format_seconds(played.step_time_s_low), base::format_seconds(played.step_time_s_high),
      format_share(played.attention_fraction), played.slowest_load);
  return table_text(table, style, 1) + paragraph(told) + packing_text(run, style);
}

}  // namespace ergometer::report
