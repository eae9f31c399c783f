#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "report/explain/explain.h"
#include "run/link_kinds.h"
#include "spec/job/circuits.h"
#include "spec/job/host_link.h"

namespace ergometer::report {
namespace {

/// How many ends the rates of a kind of link are divided by.
Explanation senders(const spec::Job& job, const run::Link& link) {
  if (link.kind != "nic") return explain_setting(job, "gpus");
  const auto nics =
      static_cast<double>(job.nodes()) * static_cast<double>(job.cluster.node.nics.size());
  return number_node(
      "NICs", nics, "",
      fmt::format("{} nodes x {} a node", job.nodes(), job.cluster.node.nics.size()));
}

Explanation line_rate(const spec::Job& job, const run::Link& link) {
  const spec::Node& node = job.cluster.node;
  for (const spec::Dimension& it : spec::dimensions_of(job))
    if (it.name == link.kind)
      return number_node("line rate", it.link_bytes_per_s, "B/s",
                         it.links > 0 ? "one link, one direction"
                                      : "all links between two neighbours along it together, one "
                                        "direction",
                         "fabric of " + job.cluster.name);
  if (link.kind == "uplink" || link.kind == "socket")
    return number_node(
        "line rate", link.utilization > 0 ? link.mean_gb_per_s * 1e9 / link.utilization : 0, "B/s",
        link.kind == "uplink" ? "the fullest PCIe switch's link upward, one direction"
                              : "what passes between sockets, one direction",
        "node " + node.name);
  if (link.kind == "host")
    return number_node("line rate",
                       node.gpu.parameters.value_or("host_link", spec::kAssumedHostLink), "B/s",
                       "one GPU's link to the host, one direction", "GPU " + node.gpu.name);
  if (link.kind != "nic")
    return number_node("line rate", node.intra_bytes_per_s, "B/s",
                       "one GPU, one direction, all its links together", "node " + node.name);
  const double rate = node.nics.empty() ? 0 : node.nics.front().bytes_per_s;
  return number_node("line rate", rate, "B/s", "one network card, one direction",
                     "node " + node.name);
}

Explanation traffic(const std::string& name, const run::Link& link) {
  if (run::joins_switches(link.kind))
    return number_node(
        name, link.bytes_per_step, "B",
        "what the fullest link of the kind carries: over every transfer, what a node sends x the "
        "share of it that the pattern puts on one link; stages send forth and back on the link's "
        "two directions");
  if (link.kind == "host")
    return number_node(
        name, link.bytes_per_step, "B",
        "what every rank copies to the host's memory, or from it where that is more");
  return number_node(name, link.bytes_per_step, "B",
                     "over every transfer of every rank, the bytes that it puts on this kind of "
                     "link, counted at the sender");
}

Explanation mean_rate(const std::string& name, const run::Run& run, const spec::Job& job,
                      const run::Link& link) {
  const bool divided = !run::joins_switches(link.kind);
  const char* ends = !divided ? "" : link.kind == "nic" ? " / NICs" : " / gpus";
  Explanation mean = number_node(name, link.mean_gb_per_s, "",
                                 fmt::format("bytes_per_step{} / step_time_s", ends));
  mean.inputs = {traffic("bytes_per_step", link)};
  if (divided) mean.inputs.push_back(senders(job, link));
  mean.inputs.push_back(number_node("step_time_s", run.performance.step_time_s, "s"));
  return mean;
}

}  // namespace

Result<Explanation> explain_link(const run::Run& run, const spec::Job& job,
                                 const std::string& name) {
  const std::string_view rest = std::string_view(name).substr(std::string_view("links.").size());
  const size_t dot = rest.find('.');
  const std::string_view kind = rest.substr(0, dot);
  const std::string_view field =
      dot == std::string_view::npos ? "bytes_per_step" : rest.substr(dot + 1);
  const auto link = std::ranges::find(run.links, kind, &run::Link::kind);
  if (link == run.links.end()) {
    const std::vector<std::string> kinds = base::mapped(run.links, &run::Link::kind);
    return input_error("--explain {}: this job uses no such link; it uses {}", name,
                       kinds.empty() ? "none" : fmt::format("{}", fmt::join(kinds, ", ")));
  }
  if (field == "bytes_per_step") return traffic(name, *link);
  if (field == "mean_gb_per_s") return mean_rate(name, run, job, *link);
  if (field == "peak_gb_per_s")
    return number_node(name, link->peak_gb_per_s, "",
                       "the highest mean rate of any single operator on this kind of link, or the "
                       "mean where several at once come to more");
  if (field == "utilization") {
    Explanation share = number_node(name, link->utilization, "", "mean_gb_per_s / line rate");
    share.inputs = {mean_rate("mean_gb_per_s", run, job, *link), line_rate(job, *link)};
    return share;
  }
  return input_error(
      "--explain {}: a link has bytes_per_step, mean_gb_per_s, peak_gb_per_s and utilization",
      name);
}

}  // namespace ergometer::report
