#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "report/decision/loop_output.h"
#include "report/format.h"
#include "spec/job/host_link.h"
#include "spec/job/job_words.h"
#include "workload/parameters.h"

// An iteration as the tree that `simulate --explain` makes of a step: what is added up, down to
// steps that the engine played, bytes over links, and what the loop's file says.

namespace ergometer::report {
namespace {

using campaign::Does;
using campaign::Loop;
using campaign::LoopPart;
using campaign::LoopPhase;
using campaign::LoopSwitch;
using campaign::PlayedLoopPhase;

Explanation said(std::string name, std::string text, std::string source) {
  return {std::move(name), std::move(text), {}, {}, std::move(source), {}};
}

/// What the file says of a phase, the loop's own settings among it.
void add_phase_settings(const LoopPhase& asked, Explanation& phase) {
  for (const auto& [name, value] : asked.settings.all()) {
    const std::string& key = value.origin.key;
    phase.inputs.push_back(
        said(name, value.text, value.origin.text + (key.empty() ? "" : ": " + key)));
  }
}

std::string part_name(const LoopPart& part) {
  switch (part.mode) {
    case spec::Mode::kDecode:
      return fmt::format("decode {} at once behind {} tokens", part.micro_batch, part.seq_length);
    case spec::Mode::kPrefill: return fmt::format("prefill of {} tokens", part.seq_length);
    default: return fmt::format("update on {} x {} tokens", part.global_batch, part.seq_length);
  }
}

Explanation explain_part(const LoopPart& part) {
  Explanation node = number_node(
      part_name(part), part.times * part.step_s, "s",
      fmt::format("{:.6g} {} x {} a step", part.times, part.times == 1 ? "step" : "steps",
                  number_node("", part.step_s, "s").text));
  node.source =
      fmt::format("engine: simulate --mode {} --mbs {} --gbs {} --seq {}", to_word(part.mode),
                  part.micro_batch, part.global_batch, part.seq_length);
  return node;
}

std::string phase_formula(const Loop& loop, const PlayedLoopPhase& phase) {
  switch (phase.does) {
    case Does::kRollout: {
      std::string formula =
          "the replica whose answers take most steps decodes them in stretches, each at the mean "
          "of its batch and context; prompts are read first";
      if (loop.program.tokens_of_tools() > 0) formula += ", and what tools tell";
      return formula + (phase.tools_s > 0 ? "; its last answer waits for tools" : "");
    }
    case Does::kScore:
      return "one forward over all answers, in parts that fill the pipeline and keep no cache";
    case Does::kTrain: break;
  }
  return "an update for every global batch of the answers";
}

/// What a phase leaves on its GPUs while others run.
Explanation explain_resident(const LoopPhase& asked, const PlayedLoopPhase& phase) {
  Explanation node = memory_node("left by " + phase.name, phase.resident_bytes,
                                 "what no offload sends to the host");
  const auto add = [&](const char* name, double bytes, bool offloaded, const char* option) {
    if (bytes > 0 && !offloaded) node.inputs.push_back(memory_node(name, bytes));
    if (bytes > 0 && offloaded) node.inputs.push_back(said(name, "on the host", option));
  };
  add("weights", phase.weights_bytes, asked.param_offload, "param_offload");
  if (asked.does != Does::kTrain) return node;
  add("gradients", phase.gradients_bytes, asked.grad_offload, "grad_offload");
  add("optimizer states", phase.optimizer_bytes, asked.optimizer_offload, "optimizer_offload");
  return node;
}

Explanation explain_beside(const Loop& loop, const PlayedLoopPhase& phase) {
  Explanation node = memory_node("beside_bytes", phase.beside_bytes,
                                 "what other phases leave on its GPUs, shared weights once");
  for (size_t i = 0; i < loop.phases.size(); ++i) {
    const PlayedLoopPhase& other = loop.phases[i];
    if (&other != &phase && other.pool == phase.pool && other.resident_bytes > 0)
      node.inputs.push_back(explain_resident(loop.program.phases[i], other));
  }
  return node;
}

Explanation explain_phase(const Loop& loop, size_t i) {
  const PlayedLoopPhase& phase = loop.phases[i];
  Explanation node = number_node(phase.name, phase.seconds, "s", phase_formula(loop, phase));
  for (const LoopPart& part : phase.parts) node.inputs.push_back(explain_part(part));
  if (phase.tools_s > 0)
    node.inputs.push_back(number_node("tools", phase.tools_s, "s", "tool_calls x tool_seconds",
                                      loop.program.file + ": loop"));
  node.inputs.push_back(explain_beside(loop, phase));
  add_phase_settings(loop.program.phases[i], node);
  return node;
}

Explanation parameter_node(const char* name, const base::ParameterSet& parameters, double assumed,
                           std::string_view unit) {
  const base::Parameter* const found = parameters.find(name);
  return number_node(name, parameters.value_or(name, assumed), unit, {},
                     found == nullptr ? "assumed" : credit(*found));
}

Explanation explain_host_bandwidth(const Loop& loop, const spec::Node& node) {
  const double said = loop.program.host_bytes_per_s;
  if (said > 0)
    return number_node("host_bandwidth", said, "B/s", {},
                       loop.program.file + ": loop.host_bandwidth");
  if (spec::tree_sets_host_rate(node))
    return number_node("host_bandwidth", spec::host_bytes_per_s(node), "B/s",
                       "0.8 x min(host_link, uplink / GPUs below it), of the node's PCIe tree");
  Explanation bandwidth = number_node("host_bandwidth", spec::host_bytes_per_s(node), "B/s",
                                      "host_link x host.link_share");
  bandwidth.inputs = {
      parameter_node("host_link", node.gpu.parameters, spec::kAssumedHostLink, "B/s"),
      parameter_node("host.link_share", node.parameters, spec::kAssumedHostShare, {})};
  return bandwidth;
}

Explanation explain_host_switch(const Loop& loop, const LoopSwitch& one) {
  const auto of = std::ranges::find(loop.phases, one.phase, &PlayedLoopPhase::name);
  const LoopPhase& asked = loop.program.phases[static_cast<size_t>(of - loop.phases.begin())];
  const bool weights = one.bytes != of->optimizer_bytes || !asked.optimizer_offload;
  Explanation node = number_node(one.what, one.seconds, "s", "bytes / host_bandwidth");
  Explanation bytes =
      number_node("bytes", one.bytes, "B",
                  fmt::format("{}{}{} of {} on its fullest GPU", weights ? "weights" : "",
                              weights && asked.optimizer_offload ? " and " : "",
                              asked.optimizer_offload ? "optimizer states" : "", one.phase));
  node.inputs = {std::move(bytes), explain_host_bandwidth(loop, of->job.cluster.node)};
  return node;
}

Explanation explain_weights(const Loop& loop, const LoopSwitch& one) {
  const auto of = std::ranges::find(loop.phases, one.phase, &PlayedLoopPhase::name);
  const bool sent = !one.other_pool.empty();
  Explanation node =
      number_node(one.what, one.seconds, "s",
                  fmt::format("{} of {} GPUs in {}, priced as a step's collectives are",
                              sent ? "a send and a receive" : "an all-gather", one.ranks,
                              counted(one.domains, "NVLink or xGMI domain")));
  const auto parameters = static_cast<double>(workload::count_parameters(of->job.model).total);
  Explanation bytes = number_node("bytes", one.bytes, "B", "2 B x parameters: 16 bit on their way");
  bytes.inputs = {number_node("parameters", parameters, "", "", of->job.model.name)};
  node.inputs = {std::move(bytes)};
  return node;
}

Explanation explain_latency(const Loop& loop) {
  Explanation node =
      number_node("latency_s", loop.latency_s, "s", "phases and switches, one behind the other:");
  for (size_t i = 0; i < loop.phases.size(); ++i) node.inputs.push_back(explain_phase(loop, i));
  for (const LoopSwitch& one : loop.switches)
    node.inputs.push_back(one.ranks > 0 ? explain_weights(loop, one)
                                        : explain_host_switch(loop, one));
  return node;
}

Explanation explain_iteration(const Loop& loop) {
  Explanation node = number_node("iteration_s", loop.iteration_s, "s",
                                 "the busiest pool, or latency_s / (1 + staleness) where that is "
                                 "longer");
  node.inputs = {explain_latency(loop)};
  for (const campaign::LoopPool& pool : loop.pools)
    node.inputs.push_back(number_node("pool " + pool.name, pool.busy_s, "s",
                                      "its phases and the switches that take its GPUs"));
  node.inputs.push_back(said(
      "staleness", fmt::format("{}", loop.program.staleness),
      loop.program.staleness > 0 ? loop.program.file + ": loop" : "0 unless the loop says more"));
  return node;
}

Explanation explain_loop_energy(const Loop& loop) {
  Explanation node = number_node("energy_j_per_iteration", loop.energy_j, "J",
                                 "what phases draw at the plug, and standing GPUs beside them");
  double phases_j = 0;
  for (const PlayedLoopPhase& phase : loop.phases) {
    phases_j += phase.energy_j;
    node.inputs.push_back(number_node("energy of " + phase.name, phase.energy_j, "J",
                                      "its steps x what the engine found that one draws"));
  }
  node.inputs.push_back(number_node("standing", loop.energy_j - phases_j, "J",
                                    "of every pool, its power without work x the time it waits, "
                                    "for switches and tools too"));
  return node;
}

/// Those that can be asked for by name: what an iteration takes, its phases and switches, energy.
std::vector<const Explanation*> named_nodes(const Explanation& whole) {
  const Explanation& iteration = whole.inputs.front();
  const Explanation& latency = iteration.inputs.front();
  std::vector<const Explanation*> nodes = {&iteration, &latency};
  if (whole.inputs.size() > 1) nodes.push_back(&whole.inputs[1]);
  for (const Explanation& input : latency.inputs) nodes.push_back(&input);
  return nodes;
}

}  // namespace

Result<Explanation> explain_loop(const Loop& loop, const std::string& name) {
  Explanation whole = said(loop.program.name, "", "");
  whole.inputs = {explain_iteration(loop)};
  if (loop.has_power) whole.inputs.push_back(explain_loop_energy(loop));
  if (name.empty()) return whole;
  std::vector<std::string> names;
  for (const Explanation* const node : named_nodes(whole)) {
    if (node->name == name) return Explanation(*node);
    names.push_back(node->name);
  }
  return input_error("--explain: found '{}'; allowed: {}{}", name, fmt::join(names, ", "),
                     base::did_you_mean(name, names));
}

}  // namespace ergometer::report
