#include "study/charllm/counterfactual.h"

#include <fmt/format.h>

namespace ergometer::study::charllm {

std::string changed_cluster(const std::string& cluster, const std::string& name,
                            const Change& change) {
  std::string text = fmt::format("{{extends: {}, name: {}", cluster, name);
  if (change.nodes > 0) text += fmt::format(", nodes: {}", change.nodes);
  if (!change.gpu.empty()) text += ", gpu: " + change.gpu;
  if (!change.nic_bandwidth.empty()) text += ", nic_bandwidth: " + change.nic_bandwidth;
  std::string parameters;
  for (const auto& [parameter, value] : change.parameters)
    parameters += fmt::format("{}{}: {}", parameters.empty() ? "" : ", ", parameter, value);
  if (!parameters.empty()) text += fmt::format(", parameters: {{{}}}", parameters);
  return text + "}";
}

}  // namespace ergometer::study::charllm
