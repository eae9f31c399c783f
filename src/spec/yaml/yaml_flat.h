#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ergometer::spec {

/// One scalar (or list of scalars, joined by commas) of a YAML file, under its dotted path.
struct FlatValue {
  std::string text;
  int line = 0;
  std::string from{};  ///< where it stands if not in the file: "run.sh:12"
};
using FlatYaml = std::map<std::string, FlatValue, std::less<>>;

/// What a file's references may take from outside it.
struct YamlContext {
  std::map<std::string, std::string, std::less<>> environment;  ///< `${oc.env:NAME,default}`
  FlatYaml overrides;  ///< values in place of the file's, before references; `~a.b` takes it away
  /// Where not null: "NAME = default" of variables that the environment lacks.
  std::set<std::string>* defaults_taken = nullptr;
  FlatYaml* nulls = nullptr;  ///< where not null: what the file says is null, with its line
};

/// All values of a nested YAML file by path ("model.optim.name", "callbacks.0.name"). Nulls are
/// left out; duplicate keys are errors. OmegaConf's references `${a.b}`, `${.sibling}`,
/// `${oc.env:NAME,default}`, `${oc.decode:...}` and NeMo's arithmetic
/// (`${multiply:4,${.hidden_size}}`) are replaced by what they mean; others stay as they are.
Result<FlatYaml> flatten_yaml(std::string_view text, const std::string& file,
                              const YamlContext& context = {});

}  // namespace ergometer::spec
