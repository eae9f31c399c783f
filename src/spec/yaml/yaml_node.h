#pragma once

#include <string>
#include <vector>

namespace YAML {
class Node;
}

namespace ergometer::spec {

/// The documents of a text that say something, as the library's nodes: none of them is null.
/// Throws YAML::Exception where the text is no YAML.
std::vector<YAML::Node> yaml_nodes(const std::string& text);
/// The first of them; null where there is none.
YAML::Node yaml_node(const std::string& text);

}  // namespace ergometer::spec
