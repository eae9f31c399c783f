#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "run/operations.h"

namespace ergometer::importer {

/// Whether a file begins as a timeline of operations: a list of complete events (`ph` X) whose
/// category is such an operation, with `step` and `mb_id` among their arguments, or with names of
/// threads by their place in the job.
bool is_operations(std::string_view start);

/// What an operation of that name is; names that are not known count as computation, unless they
/// say that something is sent or gathered.
run::OperationRole operation_role(std::string_view name);

/// Sizes of the parallel groups: lines of `dp_size`, `pp_size`, `tp_size`, `vpp_size`, `dsp_size`
/// and `world_size`; the rest is passed over. `dp_size` and `pp_size` must be there. Input error
/// names file, line, what was found and what is allowed.
Result<run::OperationGroups> read_operation_groups(std::string_view text, const std::string& file);

/// Reads the events. A thread that is named "PP rank 1, TP rank 0, ..." belongs to that stage and
/// lane; its replica is that of the process's name, "DP rank [1]", or the process number, or, where
/// these are too many to be replicas, that of the rank of this number. In a file without such names
/// the process number is the rank, or a fifth of the thread number where all of these agree with
/// processes that are replicas. Input error: no valid JSON; an event without step or category,
/// with a negative time or duration; a rank outside the groups; the same operation twice.
Result<run::OperationTimeline> read_operations(ByteSource& source, const std::string& file,
                                               const run::OperationGroups& groups);

/// Opens, unpacks and reads the file at `path`, where it is such a timeline; nothing where it is
/// anything else. The groups are read from `groups_path`, or, where it is empty, from the file of
/// the same name that ends in .yaml or .yml. Input error also: there is none.
Result<std::optional<run::OperationTimeline>> open_operations(const std::string& path,
                                                              const std::string& groups_path);

}  // namespace ergometer::importer
