#include "report/explain/explain_taxes.h"

#include <fmt/format.h>

#include "report/format.h"

namespace ergometer::report {
namespace {

Explanation share(std::string name, double seconds, double step_s, std::string formula = {}) {
  Explanation node = number_node(std::move(name), seconds, "s", std::move(formula));
  if (step_s > 0) node.text += fmt::format(", {} of the step", format_share(seconds / step_s));
  return node;
}

Explanation tax(std::string name, const compare::Tax& tax, double step_s, std::string meaning) {
  Explanation node = share(std::move(name), tax.share_s, step_s, std::move(meaning));
  node.inputs = {number_node("step_time_s without it", tax.without_s, "s")};
  return node;
}

Explanation collective_waiting(const compare::Taxes& taxes) {
  Explanation node = tax("collective_waiting", taxes.collective_waiting, taxes.step_s,
                         "ranks in collectives before the last one comes, and at the end of the "
                         "step; divided by what waiting there alone would cost:");
  for (const auto& [site, seconds] : taxes.sites)
    node.inputs.push_back(share(site, seconds, taxes.step_s));
  return node;
}

Explanation bulk_synchrony(const compare::Taxes& taxes) {
  Explanation node = tax("bulk_synchrony", taxes.bulk_synchrony, taxes.step_s,
                         "everybody waits for the last; without it every rank goes on for itself, "
                         "and a step takes what ranks take on average");
  node.inputs.push_back(collective_waiting(taxes));
  node.inputs.push_back(tax("host_sync", taxes.host_sync, taxes.step_s,
                            "the host waits for the GPU, which then waits for its launches"));
  return node;
}

Explanation memory_round_trips(const compare::Taxes& taxes) {
  Explanation node = tax("memory_round_trips", taxes.memory_round_trips, taxes.step_s,
                         "upper bound: what one kernel writes to memory and the next one reads");
  node.inputs.push_back(number_node("pairs", taxes.pairs, "",
                                    "of kernels one behind the other, a step, mean over ranks"));
  node.inputs.push_back(number_node("bytes", taxes.pair_bytes, "B", "written and read by these"));
  return node;
}

}  // namespace

Explanation explain_taxes(const compare::Taxes& taxes) {
  Explanation root = share("taxes", taxes.gap_s(), taxes.step_s,
                           "step_time_s - untaxed_step_time_s, divided by the mean effect of each "
                           "over all orders in which they can be taken away:");
  root.inputs = {
      number_node("step_time_s", taxes.step_s, "s"),
      number_node("untaxed_step_time_s", taxes.untaxed_s, "s",
                  "the same step played without any of them, at the same clocks"),
      bulk_synchrony(taxes),
      memory_round_trips(taxes),
      tax("launch", taxes.launch, taxes.step_s,
          "the host's launches, as far as the GPU waits for them, and the latency between a "
          "kernel and the next"),
  };
  return root;
}

}  // namespace ergometer::report
