#include "spec/yaml/yaml_node.h"

#include <yaml-cpp/yaml.h>

#include "spec/yaml/yaml_document.h"

namespace ergometer::spec {

std::vector<YAML::Node> yaml_nodes(const std::string& text) {
  walk_yaml(text);
  std::vector<YAML::Node> nodes = YAML::LoadAll(text);
  std::erase_if(nodes, [](const YAML::Node& node) { return node.IsNull(); });
  return nodes;
}

YAML::Node yaml_node(const std::string& text) {
  const std::vector<YAML::Node> nodes = yaml_nodes(text);
  return nodes.empty() ? YAML::Node() : nodes.front();
}

}  // namespace ergometer::spec
