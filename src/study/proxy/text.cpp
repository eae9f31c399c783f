#include <fmt/format.h>

#include "base/table.h"
#include "base/text.h"
#include "base/wrap.h"
#include "report/format.h"
#include "study/proxy/output.h"

namespace ergometer::study::proxy {
namespace {

std::string layout_words(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  std::string text = fmt::format("TP {}, ", p.tp);
  if (p.cp > 1) text += fmt::format("CP {}, ", p.cp);
  text += fmt::format("PP {}", p.pp);
  if (p.vpp > 1) text += fmt::format(" x {}", p.vpp);
  text += fmt::format(", DP {}", p.dp);
  return p.ep > 1 ? fmt::format("{}, EP {}", text, p.ep) : text;
}

std::string count(int64_t number) { return base::format_count(number); }

std::string jobs_text(const Proxy& proxy, const report::TextStyle& style) {
  const spec::Job &a = proxy.large.job, &b = proxy.small.job;
  base::Table table("<22 <28 <28");
  const auto row = [&](const char* name, const auto& of) { table.row(name, of(a), of(b)); };
  table.row("", "large", "small");
  row("model", [](const spec::Job& job) { return job.model.name; });
  row("layers", [](const spec::Job& job) { return count(job.model.layer_count()); });
  row("width, heads", [](const spec::Job& job) {
    return fmt::format("{}, {}", count(job.model.hidden), count(job.model.heads));
  });
  if (a.model.experts.count > 0 || b.model.experts.count > 0)
    row("experts", [](const spec::Job& job) { return count(job.model.experts.count); });
  row("GPUs", [](const spec::Job& job) {
    return fmt::format("{} x {}", count(job.gpus), job.cluster.node.gpu.name);
  });
  row("nodes", [](const spec::Job& job) { return count(job.nodes()); });
  row("layout", layout_words);
  row("micro batches", [](const spec::Job& job) {
    return fmt::format("{} of {}", count(job.micro_batches()), count(job.training.micro_batch));
  });
  row("global batch", [](const spec::Job& job) { return count(job.training.global_batch); });
  row("sequence", [](const spec::Job& job) { return count(job.training.seq_length); });
  table.row("step", base::format_seconds(proxy.large.run.performance.step_time_s),
            base::format_seconds(proxy.small.run.performance.step_time_s));
  return report::table_text(table, style);
}

std::string name_text(const Measure& measure) {
  const bool told = measure.unit.empty() || measure.unit == "B";
  return told ? measure.name : fmt::format("{}, {}", measure.name, measure.unit);
}

std::string value_text(const Measure& measure) {
  if (measure.scale == Scale::kShare) return report::format_share(measure.value);
  if (measure.unit == "B") return base::format_binary_bytes(measure.value);
  return fmt::format("{:.1f}", measure.value);
}

std::string group_text(const std::optional<Group>& group) {
  if (!group) return "none";
  return group->inside() ? count(group->size)
                         : fmt::format("{} ({})", count(group->size), count(group->nodes));
}

std::string rows_text(const Proxy& proxy, const report::TextStyle& style) {
  base::Table table("<23 >9 >9 >5 <5 <20");
  table.row("What limits the step", "large", "small", "off", " kept", "ranks (nodes)");
  for (const Row& row : proxy.rows) {
    const std::optional<Group>&a = row.large.group, &b = row.small.group;
    const std::string groups = a || b ? fmt::format("{} to {}", group_text(a), group_text(b)) : "";
    table.row(name_text(row.large), value_text(row.large), value_text(row.small),
              fmt::format("{:.2f}", row.off), row.kept ? " yes" : " no", groups);
  }
  return report::table_text(table, style);
}

std::string sentences(const Proxy& proxy, bool kept) {
  std::string text;
  for (const Row& row : proxy.rows)
    if (row.kept == kept && !row.lost.empty())
      text += base::hanging("  " + row.large.name + ": ", row.lost, report::kWidth);
  return text;
}

std::string lost_text(const Proxy& proxy, const report::TextStyle& style) {
  std::string text;
  if (const std::string lost = sentences(proxy, false); !lost.empty())
    text += '\n' + report::heading(style, "Not kept") + lost;
  if (const std::string changed = sentences(proxy, true); !changed.empty())
    text += '\n' + report::heading(style, "Kept, with other groups") + changed;
  return text;
}

std::string distance_text(const Proxy& proxy) {
  return base::hanging(
      fmt::format("Distance {:.2f}: ", proxy.distance),
      "root of the sum of off squared, which counts tolerances (3 points of the step, 10 % of "
      "intensity and power, 25 % of memory, 3 K), and of 1 for each collective that crosses nodes "
      "in one job alone, 4 for each that one job does not have; collectives under 0.1 % of a step "
      "in both jobs count for neither",
      report::kWidth);
}

std::string tried(const Proxy& proxy) {
  if (proxy.estimated == 0) return "";
  return '\n' +
         base::wrap(fmt::format("Of {} small jobs, {} of them played with power and heat: the "
                                "nearest of those that lose the fewest shares of the step.",
                                count(static_cast<int64_t>(proxy.estimated)), proxy.played),
                    report::kWidth, 0) +
         '\n';
}

std::string unfit(const Side& side, const char* name) {
  if (side.run.memory.fits) return "";
  return "\n" +
         base::hanging(fmt::format("The {} job: ", name), side.run.memory.advice, report::kWidth);
}

}  // namespace

std::string proxy_text(const Proxy& proxy, const report::TextStyle& style) {
  std::string text = jobs_text(proxy, style) + '\n' + rows_text(proxy, style) + '\n';
  text += distance_text(proxy) + lost_text(proxy, style);
  text += unfit(proxy.large, "large") + unfit(proxy.small, "small");
  for (const std::string& note : proxy.notes)
    text += base::hanging("\nNote: ", note, report::kWidth);
  return text + tried(proxy);
}

}  // namespace ergometer::study::proxy
