#pragma once

#include <optional>
#include <string_view>

#include "spec/yaml/yaml_map.h"
#include "study/file/definition.h"

namespace ergometer::study {

// Parts of the reader of study files; what is wrong is kept in the mapping.

/// The settings of a mapping, `cluster.*` among them; keys in `skip` are left to others.
Change read_change(spec::YamlMap& map, const std::string& file,
                   std::vector<std::string_view> skip = {});
std::vector<Axis> read_axes(spec::YamlMap& map, const std::string& file);
std::optional<Expression> read_expression(spec::YamlMap& map, std::string_view key);
void read_figures(spec::YamlMap& map, Definition& definition);

}  // namespace ergometer::study
