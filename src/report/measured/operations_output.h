#pragma once

#include <string>

#include "analysis/operations/operation_slowdown.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What slowed a job's steps down, for a terminal of 80 columns: the three step times, slowdowns by
/// operation, stage and replica, a heat map of workers, what mending would bring, findings.
std::string operations_text(const analysis::OperationSlowdown& of, const std::string& file,
                            const TextStyle& style);
/// The same as a document: `operations` and `findings`. docs/guide/find-a-straggler.md says what
/// its members are.
std::string operations_json(const analysis::OperationSlowdown& of, const std::string& file);

}  // namespace ergometer::report
