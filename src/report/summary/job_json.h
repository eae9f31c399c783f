#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "spec/job/job.h"

namespace ergometer::report {

/// The `job` object of the summary: model, cluster, parallelism, training, conditions, as resolved.
/// It is stored in the Run, so that whoever reads a Run later needs nothing else to know what was
/// run.
std::string job_json(const spec::Job& job);

std::string_view to_word(spec::IntraKind kind);
std::string_view to_word(spec::FabricKind kind);

}  // namespace ergometer::report
