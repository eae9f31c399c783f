#include "report/explain/collective_formulas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace ergometer::report {
namespace {

using workload::CollectiveKind;

/// The group of one collective, and what it depends on.
class Writer {
 public:
  Writer(const spec::Job& job, const workload::Operator& op, const plan::GroupPlacement& where)
      : job_(job), op_(op), where_(where) {}

  CollectiveFormulas write(bool low_latency) const {
    CollectiveFormulas formulas;
    by_kind(low_latency, formulas.latency, formulas.transfer);
    formulas.latency += waits(low_latency);
    return formulas;
  }

 private:
  /// What a fabric that makes every further node or step of a ring wait adds to the latency.
  std::string waits(bool low_latency) const {
    const base::ParameterSet& fabric = job_.cluster.fabric.parameters;
    const bool rings = op_.collective == CollectiveKind::kAllGather ||
                       op_.collective == CollectiveKind::kReduceScatter;
    if (where_.nodes < 2 || (!rings && !reduces_all())) return "";
    std::vector<std::string_view> terms;
    const auto term = [&](bool applies, const char* name, std::string_view formula) {
      if (applies && fabric.value_or(name, 0) > 0) terms.push_back(formula);
    };
    term(rings, "collective.ring_step", "collective.ring_step x (ranks - 1)");
    term(true, "collective.node_step", "collective.node_step x sqrt((nodes - 1) (ranks - 1))");
    term(reduces_all() && where_.nodes > 2 && !low_latency, "collective.all_reduce_wait",
         "collective.all_reduce_wait");
    if (terms.empty()) return "";
    const std::string list = fmt::format("{}", fmt::join(terms, ", "));
    return terms.size() > 1 ? fmt::format(" + max({})", list) : " + " + list;
  }

  void by_kind(bool low_latency, std::string& latency, std::string& transfer) const {
    if (op_.collective == CollectiveKind::kSendRecv) {
      latency = "collective.send_latency";
      transfer = where_.nodes > 1 ? "buffer / (nic x collective.line_efficiency)"
                                  : "buffer / collective.pair_bandwidth";
    } else if (op_.routing.choices > 0) {
      token_formulas(latency, transfer);
    } else if (op_.collective == CollectiveKind::kAllToAll) {
      all_to_all_formulas(latency, transfer);
    } else if (low_latency) {
      low_latency_formulas(latency, transfer);
    } else {
      high_bandwidth_formulas(latency, transfer);
    }
  }

  bool reduces_all() const { return op_.collective == CollectiveKind::kAllReduce; }
  const char* wire() const {
    return reduces_all() ? "2 (ranks - 1) / ranks x buffer" : "(ranks - 1) / ranks x buffer";
  }

  /// Every token once to each member that needs it.
  void token_formulas(std::string& latency, std::string& transfer) const {
    const bool network = where_.nodes > 1;
    const auto ranks = static_cast<double>(where_.size), nodes = static_cast<double>(where_.nodes);
    latency = fmt::format(
        "collective.ring_base + collective.{} + ramp / 2 x buffer / (buffer + ramp_half_size), the "
        "ramp that of the node",
        network ? "ring_hop_latency" : "domain_hop_latency");
    transfer = fmt::format(
        "buffer x {:.4g} ranks a token needs x (1 - nodes / ranks) / all_to_all_bandwidth of the "
        "node",
        workload::expected_members(op_.routing, ranks));
    if (network)
      transfer = fmt::format(
          "max({}, buffer x {:.4g} nodes a token needs x (1 - 1 / nodes) / (nic / p x "
          "collective.line_efficiency)), p: ranks on the node that holds fewest",
          transfer, workload::expected_members(op_.routing, nodes));
  }

  void all_to_all_formulas(std::string& latency, std::string& transfer) const {
    const bool network = where_.nodes > 1;
    latency = fmt::format(
        "collective.ring_base + collective.{} + collective.peer_latency x max(0, ranks - 9) + "
        "ramp / 2 x buffer / (buffer + ramp_half_size), the ramp that of the node",
        network ? "ring_hop_latency" : "domain_hop_latency");
    const bool uneven = op_.leaving != 1;
    transfer = fmt::format("buffer x {} / ranks / all_to_all_bandwidth of the node{}",
                           uneven ? "(ranks - 1 - leaving x (ranks - p))" : "(ranks / nodes - 1)",
                           job_.cluster.node.parameters.value_or("collective.mesh_links", 0) > 0
                               ? " / min(1, (ranks / nodes - 1) / mesh_links)"
                               : "");
    if (network)
      transfer = fmt::format(
          "max({}, buffer x {}(ranks - p) / ranks / (nic / p x "
          "collective.all_to_all_line_efficiency)), p: ranks on the node that holds fewest",
          transfer, uneven ? "leaving x " : "");
  }

  void low_latency_formulas(std::string& latency, std::string& transfer) const {
    transfer = fmt::format("{} / bandwidth", wire());
    if (where_.nodes <= 1)
      latency = fmt::format("collective.low_latency_base + {}(ranks - 1) x low_latency_hop",
                            reduces_all() ? "2 " : "");
    else if (reduces_all())
      latency =
          "low_latency_base + 2 (ranks / nodes - 1) x low_latency_hop of the node + 2 log2(nodes) "
          "x low_latency_tree_latency (log2 in straight lines between powers of two)";
    else
      latency =
          "low_latency_base + (ranks - nodes) x low_latency_domain_hop + (nodes - 1) x "
          "low_latency_hop between nodes";
  }

  void high_bandwidth_formulas(std::string& latency, std::string& transfer) const {
    transfer = fmt::format("{} / bandwidth", wire());
    const std::string_view ramp = "x buffer / (buffer + collective.ramp_half_size)";
    if (where_.nodes <= 1) {
      latency = reduces_all() ? fmt::format("collective.latency + collective.ramp {}", ramp)
                              : fmt::format(
                                    "collective.ring_base + (ranks - 1) x "
                                    "collective.domain_hop_latency + collective.ramp / 2 {}",
                                    ramp);
      return;
    }
    latency =
        reduces_all()
            ? fmt::format(
                  "collective.latency + 2 log2(nodes) x collective.tree_latency + collective.ramp "
                  "{}, all between nodes (log2 in straight lines between powers of two)",
                  ramp)
            : "ring_base + (ranks - nodes) x domain_hop_latency of the node + (nodes - 1) x "
              "ring_hop_latency";
  }

  const spec::Job& job_;
  const workload::Operator& op_;
  const plan::GroupPlacement& where_;
};

}  // namespace

CollectiveFormulas collective_formulas(const spec::Job& job, const workload::Operator& op,
                                       const plan::GroupPlacement& where, bool low_latency) {
  return Writer(job, op, where).write(low_latency);
}

}  // namespace ergometer::report
