#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "base/table.h"
#include "base/text.h"
#include "report/decision/together_output.h"
#include "report/format.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

using together::Feed;
using together::JobBeside;
using together::Together;

std::string beside_fact(std::string_view name, const std::string& text) {
  constexpr size_t kNames = 14;
  return base::hanging(fmt::format("{:<{}}", name, kNames), text, kWidth);
}

/// Times that differ by less are told as one.
bool is_slower(double step_s, double than_s) { return step_s > 1.0005 * than_s; }

/// By how much a job is slower; a range where links are not followed.
std::string slower_text(const JobBeside& job, const Together& of) {
  if (of.meets_on_switches) return format_share(job.slower());
  return fmt::format("{:.1f} to {}", 100 * job.slower(), format_share(job.slower_at_most()));
}

std::string jobs_table(const Together& of) {
  base::Table table(of.has_power ? "<10 >6 >8 >9 >9 >10 >11" : "<10 >6 >8 >9 >9 >10");
  std::vector<std::string> head = {
      "Job", "GPUs", "nodes", "alone", of.meets_on_switches ? "beside" : "at least", "slower by"};
  if (of.has_power) head.emplace_back("mean");
  table.add(head);
  for (const JobBeside& job : of.jobs) {
    std::vector<std::string> row = {job.name,
                                    std::to_string(job.gpus),
                                    base::cut_to(together::place_text(job.place), 16),
                                    base::format_seconds(job.alone_step_s),
                                    base::format_seconds(job.step_s),
                                    slower_text(job, of)};
    if (of.has_power) row.push_back(base::format_si(job.mean_w, "W"));
    table.add(row);
  }
  return table.text(kWidth);
}

std::string names_of(const std::vector<size_t>& jobs, const Together& of) {
  return base::listed(base::mapped(jobs, [&](size_t job) { return of.jobs[job].name; }));
}

/// What its place does to a job, which may also help.
std::string place_reason(const JobBeside& job) {
  const bool shares = job.place.shares_node();
  if (is_slower(job.alone_step_s, job.placed_step_s))
    return fmt::format("{} shorter for {}", format_share(1 - job.placed_step_s / job.alone_step_s),
                       shares ? "its GPUs lie better in the node than the first ones"
                              : "fewer of its nodes share a switch's links than alone");
  if (is_slower(job.placed_step_s, job.alone_step_s))
    return fmt::format("{} longer for {}", format_share(job.placed_step_s / job.alone_step_s - 1),
                       shares ? "its GPUs lie worse in the node than the first ones"
                              : "its nodes lie under more switches than alone");
  return {};
}

std::string heat_reason(const JobBeside& job, const Together& of) {
  if (job.on_node.empty() || !is_slower(job.warmed_step_s, job.placed_step_s)) return {};
  return fmt::format("{} longer for the heat of {} on its node",
                     format_share(job.warmed_step_s / job.placed_step_s - 1),
                     names_of(job.on_node, of));
}

std::string link_reason(const JobBeside& job, const Together& of) {
  const together::TierUse* by = job.slowed_by();
  if (by == nullptr || !is_slower(job.step_s, job.warmed_step_s)) return {};
  const std::string links = by->is_pcie
                                ? fmt::format("on the PCIe link of {} of its node", by->tier)
                                : fmt::format("on the links above {} switches", by->tier);
  return fmt::format(
      "{} longer by {}, {}: it sends {} of the time, and they hold it up {:.2f} times (alone "
      "{:.2f})",
      format_share(job.step_s / job.warmed_step_s - 1), names_of(by->with, of), links,
      base::format_percent(by->busy_s / job.step_s), by->load * by->share, std::max(1.0, by->load));
}

/// Why a job takes longer: where it lies, the heat of who is beside it, who sends over the same
/// links.
std::string reasons(const JobBeside& job, const Together& of) {
  std::string text;
  for (const std::string& reason :
       {place_reason(job), heat_reason(job, of), link_reason(job, of)}) {
    if (reason.empty()) continue;
    text += (text.empty() ? "" : ", then ") + reason;
  }
  return text;
}

/// How much longer jobs may take on a network whose links are not followed.
std::string unknown_sharing(const Together& of) {
  const auto most = base::mapped(of.jobs, [](const JobBeside& job) {
    return fmt::format("{} takes {} to {}", job.name, base::format_seconds(job.step_s),
                       base::format_seconds(job.most_step_s));
  });
  return beside_fact("Network",
                     "no tree of switches: which links jobs share is not known. From "
                     "none to all of them shared by all jobs, " +
                         base::listed(most));
}

/// How links are taken to be shared, where that makes a job slower.
std::string sharing_note(const Together& of) {
  const auto slows = [&](bool pcie) {
    return std::ranges::any_of(of.jobs, [&](const JobBeside& job) {
      const together::TierUse* by = job.slowed_by();
      return by != nullptr && by->is_pcie == pcie;
    });
  };
  std::vector<std::string> by;
  if (slows(false)) by.emplace_back("nodes");
  if (slows(true)) by.emplace_back("GPUs");
  if (by.empty()) return {};
  return beside_fact("", fmt::format("assumed: links are shared fairly by {}, phases are unrelated",
                                     base::listed(by)));
}

std::string all_reasons(const Together& of) {
  if (!of.meets_on_switches) return unknown_sharing(of);
  if (of.own_circuits)
    return beside_fact("Network", "every job has circuits of its own, and no other on its links");
  std::string text;
  for (const JobBeside& job : of.jobs)
    if (const std::string why = reasons(job, of); !why.empty())
      text += beside_fact(text.empty() ? "Why" : "", fmt::format("{}: {}", job.name, why));
  if (text.empty()) return beside_fact("Network", "no job takes links from another");
  return text + sharing_note(of);
}

/// What jobs on GPUs of one node share of its links.
std::string_view inside_text(const Together& of) {
  switch (of.intra) {
    case spec::IntraKind::kNvlinkSwitch:
      return "NVSwitch passes on all that every GPU's links carry, jobs take none of it from each "
             "other";
    case spec::IntraKind::kNvlinkMesh:
    case spec::IntraKind::kXgmiMesh: return "links join pairs of GPUs, those of a job are its own";
    case spec::IntraKind::kPcie:
      return of.follows_pcie ? "what jobs take of each other's PCIe links is followed"
                             : "their PCIe links are not known (the node says no pcie: tree), so "
                               "that what jobs take of each other's is left out";
  }
  return {};
}

/// Of jobs on GPUs of one node: what they share, and the hottest GPU of each.
std::string node_text(const Together& of) {
  if (!of.shares_nodes()) return {};
  std::string text = beside_fact(
      "Shared node",
      fmt::format("{}; memory and processors of the host are not followed", inside_text(of)));
  if (!of.has_power) return text;
  std::vector<std::string> hottest;
  for (const JobBeside& job : of.jobs)
    if (!job.on_node.empty())
      hottest.push_back(
          fmt::format("{} {:.0f} C (alone there {:.0f})", job.name, job.max_c, job.placed_max_c));
  return text + beside_fact("Hottest GPU", base::listed(hottest));
}

std::string feed_text(const Feed& feed) {
  const std::string limit = base::format_si(feed.limit_w, "W");
  if (feed.holds()) return beside_fact("Feed", limit + ": holds, even with all peaks at once");
  const std::string time =
      feed.exceeded_fraction > 0
          ? fmt::format("exceeded {} of the time", base::format_percent(feed.exceeded_fraction))
          : "exceeded when peaks fall together";
  const std::string caps = feed.caps_can_hold
                               ? fmt::format("it holds always with {} less at every GPU",
                                             base::format_si(feed.excess_w_per_gpu, "W"))
                               : "no cap that these GPUs take makes it hold always";
  return beside_fact("Feed", fmt::format("{}: {}, by {} at worst; {}", limit, time,
                                         base::format_si(feed.excess_w, "W"), caps));
}

std::string hall_text(const Together& of) {
  if (!of.has_power) return beside_fact("Power", "nothing is known of these GPUs' power");
  std::string text =
      beside_fact("Mean", base::format_si(of.mean_w, "W") + " at the nodes' plugs" +
                              (of.shares_nodes() ? "; host and idle GPUs of a shared node count "
                                                   "once, by its jobs' GPUs"
                                                 : ""));
  text += beside_fact("Peak, worst",
                      base::format_si(of.worst_peak_w, "W") + ": all jobs at their peaks at once");
  text += beside_fact("Peak, likely",
                      fmt::format("{}: exceeded {} of the time, if their phases are unrelated",
                                  base::format_si(of.likely_peak_w, "W"),
                                  base::format_percent(together::kUnlikely)));
  return of.feed ? text + feed_text(*of.feed) : text;
}

std::string memory_notes(const Together& of) {
  std::string text;
  for (const JobBeside& job : of.jobs)
    if (!job.fits) text += beside_fact("Memory", job.name + " does not fit into its GPUs");
  return text;
}

}  // namespace

std::string together_text(const Together& of) {
  const std::string nodes = of.cluster_nodes > 0
                                ? fmt::format("{} of {} nodes", of.nodes(), of.cluster_nodes)
                                : counted(of.nodes(), "node");
  return fmt::format("{} on {} ({}), {}\n\n", counted(std::ssize(of.jobs), "job"), of.cluster,
                     nodes, of.placement) +
         jobs_table(of) + '\n' + all_reasons(of) + node_text(of) + memory_notes(of) + '\n' +
         hall_text(of);
}

}  // namespace ergometer::report
