#include "study/charllm/counterfactual.h"

#include <fmt/format.h>

#include "spec/parameter_table.h"
#include "spec/read.h"

namespace ergometer::study::charllm {
namespace {

std::string value_text(const base::Parameter& parameter) {
  return fmt::format("{:.17g}{}{}", parameter.value, parameter.unit.empty() ? "" : " ",
                     parameter.unit);
}

std::string gpu_text(const spec::Gpu& gpu, const Change& change) {
  if (change.gpu.empty() && change.power.empty()) return gpu.entry;
  std::string parameters;
  for (const auto& [name, parameter] : gpu.parameters.all()) {
    if (spec::find_parameter(spec::ParameterOwner::kGpu, name) == nullptr) continue;
    const auto changed = change.gpu.find(name);
    parameters += fmt::format("{}{}: {{value: {}, source: {}, grade: assumed}}",
                              parameters.empty() ? "" : ", ", name,
                              changed == change.gpu.end() ? value_text(parameter) : changed->second,
                              changed == change.gpu.end() ? "as " + gpu.entry : "what if");
  }
  return fmt::format(
      "{{name: {}, vendor: {}, architecture: {}, kernels: {}, power: {}, dies_per_module: {}, "
      "parameters: {{{}}}}}",
      gpu.name, gpu.vendor, gpu.architecture, gpu.kernels,
      change.power.empty() ? gpu.power : change.power, gpu.dies_per_module, parameters);
}

/// What the node's own file says beside what its collectives, coolings and links brought in.
std::string node_parameters(const spec::Node& node) {
  std::string text;
  for (const auto& [name, parameter] : node.parameters.all())
    if (spec::find_parameter(spec::ParameterOwner::kNode, name) != nullptr)
      text += fmt::format("{}{}: {{value: {}, source: as {}, grade: assumed}}",
                          text.empty() ? "" : ", ", name, value_text(parameter), node.name);
  return text;
}

std::string slots_text(const spec::Node& node) {
  std::string text;
  for (const spec::Slot& slot : node.slots)
    text += fmt::format("{}{{row: {}, lane: {}}}", text.empty() ? "" : ", ", slot.row, slot.lane);
  return text;
}

std::string nics_text(const spec::Node& node, const Change& change) {
  std::string text;
  for (const spec::Nic& nic : node.nics) {
    std::string gpus;
    for (const int gpu : nic.gpus) gpus += fmt::format("{}{}", gpus.empty() ? "" : ", ", gpu);
    text += fmt::format("{}{{bandwidth: {}, gpus: [{}]}}", text.empty() ? "" : ", ",
                        change.nic_bandwidth.empty() ? fmt::format("{:.17g} B/s", nic.bytes_per_s)
                                                     : change.nic_bandwidth,
                        gpus);
  }
  return text;
}

}  // namespace

base::Result<std::string> changed_cluster(const std::string& cluster, const std::string& name,
                                          const Change& change) {
  ERGOMETER_ASSIGN(const spec::Cluster base, spec::read_cluster(cluster));
  const spec::Node& node = base.node;
  const std::string node_text = fmt::format(
      "{{name: {}, gpu: {}, gpus: {}, intra: {{kind: nvlink-switch, links_per_gpu: {}, bandwidth: "
      "{}}}, collectives: {}, cooling: air, coolings: {{air: hgx-air-hopper, liquid: cold-plate}}, "
      "slots: [{}], nics: [{}], parameters: {{{}}}}}",
      node.name, gpu_text(node.gpu, change), node.gpus, node.links_per_gpu,
      change.intra_bandwidth.empty() ? fmt::format("{:.17g} B/s", node.intra_bytes_per_s)
                                     : change.intra_bandwidth,
      node.collectives, slots_text(node), nics_text(node, change), node_parameters(node));
  return fmt::format(
      "{{name: {}, node: {}, nodes: {}, fabric: {{kind: single-switch, collectives: {}}}}}", name,
      node_text, change.nodes > 0 ? change.nodes : base.nodes, base.fabric.collectives);
}

base::Result<std::string> gpu_parameter(const std::string& cluster, const std::string& name) {
  ERGOMETER_ASSIGN(const spec::Cluster base, spec::read_cluster(cluster));
  return value_text(*base.node.gpu.parameters.find(name));
}

}  // namespace ergometer::study::charllm
