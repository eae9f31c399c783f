#pragma once

#include <functional>

#include "cli/console/command.h"
#include "spread/crew.h"
#include "spread/shard.h"

namespace ergometer::cli {

Flag shard_flag();
Result<spread::Shard> shard_of(const Arguments& arguments);

/// Whether this process is a rank of a job that another rank speaks for. Ranks with --shard are
/// each on their own.
bool is_spoken_for(const std::vector<std::string>& words);

using CrewCommand = std::function<Result<int>(spread::Crew&, const Console&)>;
/// Runs a command whose work is spread over the ranks of a job, or over threads where there is one
/// process. Ranks that do not lead are silent; what fails there alone, the leader notes.
Result<int> with_crew(const Arguments& arguments, const Console& console,
                      const CrewCommand& command);

}  // namespace ergometer::cli
