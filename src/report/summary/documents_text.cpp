#include "report/summary/documents_text.h"

#include <fmt/format.h>

#include <string_view>

#include "base/table.h"
#include "base/text.h"
#include "report/format.h"
#include "report/summary/job_view.h"

namespace ergometer::report {

std::string documents_text(const run::Run& run, const TextStyle& style) {
  if (run.sequences.empty()) return {};
  constexpr double kGib = 1073741824.0;
  base::Table table("<34 >8 >8 >9 >9 >8");
  table.row("Documents: mean of drawn steps", "step", "waiting", "padding", "tokens/s", "memory");
  constexpr std::string_view kPlayed = "--sequence-lengths ";
  for (const run::SequenceRow& row : run.sequences)
    table.row("  " + shortened(std::string_view(row.setting)
                                   .substr(row.setting.starts_with(kPlayed) ? kPlayed.size() : 0),
                               32),
              base::format_seconds(row.step_time_s), format_share(row.waiting_fraction),
              row.padding_fraction > 0 ? format_share(row.padding_fraction) : "-",
              base::format_si(row.tokens_per_s),
              fmt::format("{:.1f} GiB", row.peak_memory_bytes / kGib));
  const run::SequenceRow& played = run.sequences.front();
  const std::string told = fmt::format(
      "steps take {} to {}, for the documents drawn; attention is {} of the compute time, and the "
      "replica with most work has {:.2f} times the mean",
      base::format_seconds(played.step_time_s_low), base::format_seconds(played.step_time_s_high),
      format_share(played.attention_fraction), played.slowest_load);
  return table_text(table, style, 1) + "  " + wrap(told, 80, 2) + '\n';
}

}  // namespace ergometer::report
