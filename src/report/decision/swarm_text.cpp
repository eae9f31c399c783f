#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "base/table.h"
#include "base/text.h"
#include "report/decision/swarm_output.h"
#include "report/format.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

using swarm::KindPlayed;
using swarm::Swarm;

std::string swarm_fact(std::string_view name, const std::string& text) {
  constexpr size_t kNames = 12;
  return base::hanging(fmt::format("{:<{}}", name, kNames), text, kWidth);
}

/// With two decimals, or with what three significant digits take: little is not nothing.
std::string in_hundredths(double value) {
  const int decimals =
      value > 0 && value < 0.01 ? 2 - static_cast<int>(std::floor(std::log10(value))) : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string share_of(double part, double whole) {
  return whole > 0 ? format_share(part / whole) : "-";
}

std::string pace_text(const Swarm& of) {
  std::vector<double> sorted = of.outcome.step_s;
  std::ranges::sort(sorted);
  std::string text =
      swarm_fact("Step time", fmt::format("{} in the median of {}, {} to {}",
                                          base::format_seconds(sorted[sorted.size() / 2]),
                                          counted(std::ssize(sorted), "step"),
                                          base::format_seconds(sorted.front()),
                                          base::format_seconds(sorted.back())));
  text += swarm_fact(
      "Tokens/s", fmt::format("{:.0f}; {:.0f} to {:.0f} as the prediction may be off: where lines "
                              "are half to twice as fast and GPUs at the ends of simulate's "
                              "intervals",
                              of.tokens_per_s(), of.tokens_per_s_low, of.tokens_per_s_high));
  if (of.draws > 1)
    text += swarm_fact("  by chance", fmt::format("{:.0f} to {:.0f}, of {} draws of who leaves and "
                                                  "comes when",
                                                  of.churn_tokens_per_s_low,
                                                  of.churn_tokens_per_s_high, of.draws));
  const swarm::Outcome& out = of.outcome;
  if (out.left + out.joined + out.moved > 0)
    text += swarm_fact(
        "Peers", fmt::format("left {}, came back {}, moved to another stage {}; {} "
                             "lost and done again",
                             out.left, out.joined, out.moved, counted(out.redone, "forward")));
  return text;
}

std::string stages_table(const Swarm& of) {
  base::Table table("<6 >6 >14 >9 >16 >8");
  table.add({"Stage", "peers", "micro batches", "at work", "for the network", "idle"});
  for (size_t i = 0; i < of.outcome.stages.size(); ++i) {
    const swarm::Share& it = of.outcome.stages[i];
    table.add({std::to_string(i), fmt::format("{:.1f}", it.present_s / of.outcome.total_s),
               std::to_string(it.micro_batches), share_of(it.busy_s, it.present_s),
               share_of(it.network_s, it.present_s),
               share_of(it.present_s - it.busy_s - it.network_s, it.present_s)});
  }
  return table.text(kWidth);
}

std::string kinds_table(const Swarm& of) {
  base::Table table("<10 >6 >14 >9 >10 >9 >10");
  table.add({"Kind", "peers", "micro batches", "at work", "GPU-hours", "price", "energy"});
  for (const KindPlayed& it : of.kinds)
    table.add({base::cut_to(it.kind.name, 16),
               fmt::format("{:.1f}", it.share.present_s / of.outcome.total_s),
               std::to_string(it.share.micro_batches),
               share_of(it.share.busy_s, it.share.present_s),
               in_hundredths(it.share.present_s / 3600),
               it.kind.dollars_per_hour > 0 ? '$' + in_hundredths(it.dollars()) : "-",
               it.busy_w > 0 ? base::format_si(it.energy_j(), "J") : "-"});
  return table.text(kWidth);
}

std::string cost_text(const Swarm& of) {
  const double tokens = of.tokens_a_step * static_cast<double>(of.outcome.step_s.size());
  const double dollars = base::sum(of.kinds, &KindPlayed::dollars);
  std::string text;
  if (dollars > 0)
    text += swarm_fact("Price", fmt::format("${}, ${:.3g} for a million tokens",
                                            in_hundredths(dollars), dollars / tokens * 1e6));
  for (const KindPlayed& it : of.kinds)
    if (!it.fits)
      text += swarm_fact("Memory",
                         fmt::format("a stage does not fit into {} ({}) with the micro batches "
                                     "that it holds",
                                     it.kind.name, it.gpu));
  return text.empty() ? text : text + '\n';
}

std::string widths_table(const Swarm& of) {
  base::Table table("<8 >12 >12 >10 >6");
  table.add({"Width", "compute", "transfers", "ratio", "pays"});
  for (const swarm::Width& it : of.widths)
    table.add({std::to_string(it.hidden), base::format_seconds(it.compute_s),
               base::format_seconds(it.transfer_s), in_hundredths(it.compute_s / it.transfer_s),
               it.pays() ? "yes" : "no"});
  return base::wrap(fmt::format("Square-cube law: a micro batch of a stage on {}, by hidden size",
                                of.widths_of),
                    kWidth, 0) +
         '\n' + table.text(kWidth);
}

}  // namespace

std::string swarm_text(const Swarm& of) {
  int64_t peers = 0;
  for (const KindPlayed& it : of.kinds) peers += it.kind.count;
  std::string text = base::wrap(
      fmt::format("{} on {} in {}: {} micro batches a step; between stages {}, gradients {}",
                  of.model, counted(peers, "peer"), counted(std::ssize(of.outcome.stages), "stage"),
                  of.micro_batches, spec::compression_text(of.activations),
                  spec::compression_text(of.gradients)),
      kWidth, 0);
  text += "\n\n" + pace_text(of) + '\n' + stages_table(of) + '\n' + kinds_table(of) + '\n' +
          cost_text(of) + widths_table(of) + '\n';
  return text +
         base::wrap(
             "Assumed: lines are full duplex; a peer sends one message after the other. No "
             "measured "
             "swarm was compared: how far off this is, is not known. What compression does to "
             "convergence is not predicted.",
             kWidth, 0) +
         '\n';
}

}  // namespace ergometer::report
