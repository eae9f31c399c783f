#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// Words of a command line that choose a group's file: "model" to "large".
using HydraChoices = std::map<std::string, std::string, std::less<>>;

/// A file with Hydra's defaults list, composed of the files that it names: `- model: small` is
/// model/small.yaml beside it, whose keys lie under "model" unless `# @package` says where; a later
/// file's keys count, the file's own at `_self_`, else last. `read` gives the text of a path. What
/// of `choices` names a group is taken out. Empty where there is no such list.
Result<spec::FlatYaml> hydra_defaults(
    const std::string& text, const std::string& path,
    const std::function<Result<std::string>(const std::string& path)>& read, HydraChoices& choices);

}  // namespace ergometer::intake
