#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/parameter.h"
#include "base/result.h"
#include "spec/collective/algorithm.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::spec {

/// The key of a node or a cluster that lists MSCCL files.
inline constexpr std::string_view kGivenAlgorithms = "collectives_from";

/// Whether an entry of the list is the XML itself, as a job has it that needs no file.
bool is_inline_algorithm(std::string_view word);

/// `map["collectives_from"]`, a list of paths that start from the file's folder, into the node's
/// parameters, in the place of what they say of it; not required. Every algorithm is checked
/// (check_algorithm.h).
void read_given_algorithms(YamlMap& map, base::ParameterSet& parameters);

/// The same of one text: "collectives_from.NUMBER", as a parameter whose value tells the algorithm
/// from others of this process, and whose source is its name.
Result<void> give_algorithm(std::string_view xml, const std::string& file,
                            base::ParameterSet& parameters);

/// What a node's parameters hold, in the order of the file.
std::vector<std::shared_ptr<const Algorithm>> given_algorithms(
    const base::ParameterSet& parameters);

}  // namespace ergometer::spec
