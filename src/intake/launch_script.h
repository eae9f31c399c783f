#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "intake/reading.h"

namespace ergometer::intake {

/// A launch script, followed as bash would (intake/shell_run.h), to the training program that it
/// starts; or a file of arguments alone, or one of Megatron-LM's test files. Refused, naming the
/// line: what cannot be told without the cluster and counts, several different jobs, none.
base::Result<Reading> parse_launch_script(const std::string& text, const std::string& file,
                                          const ScriptContext& context = {});

/// The same from text for Megatron-LM's arguments; leftovers by name.
base::Result<spec::Settings> parse_megatron_arguments(const std::string& text,
                                                      const std::string& file,
                                                      std::vector<std::string>& ignored);
base::Result<spec::Settings> read_megatron_arguments(const std::string& path,
                                                     std::vector<std::string>& ignored);

}  // namespace ergometer::intake
