#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ergometer::spec {

/// One scalar (or list of scalars, joined by commas) of a YAML file, under its dotted path.
struct FlatValue {
  std::string text;
  int line = 0;
};
using FlatYaml = std::map<std::string, FlatValue, std::less<>>;

/// All values of a nested YAML file by path ("model.optim.name", "callbacks.0.name"). Nulls are
/// left out; duplicate keys are errors. OmegaConf's references `${a.b}`, `${.sibling}` and
/// `${multiply:4,${.hidden_size}}` are replaced by what they mean; others stay as they are.
base::Result<FlatYaml> flatten_yaml(std::string_view text, const std::string& file);

}  // namespace ergometer::spec
