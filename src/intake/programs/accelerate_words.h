#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// Whether a word of `accelerate launch`, without dashes in front, stands alone.
bool is_accelerate_switch(std::string_view name);

/// A word of `accelerate launch` under the path that it has in its file: `--zero_stage 3` is
/// deepspeed_config.zero_stage.
std::pair<std::string, std::string> accelerate_value(const std::string& name,
                                                     const std::string& value);

/// What accelerate takes of its environment (ACCELERATE_USE_FSDP, FSDP_SHARDING_STRATEGY, ...), in
/// the words of its file; `script` is who set it.
spec::FlatYaml accelerate_environment(
    const std::map<std::string, std::string, std::less<>>& environment, const std::string& script);

/// The files that come with TRL, by the names that `--accelerate_config` has for them; nothing for
/// other names.
std::optional<spec::FlatYaml> accelerate_file_of_trl(const std::string& name);

}  // namespace ergometer::intake
