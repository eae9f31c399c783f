#pragma once

#include <string>
#include <vector>

#include "base/json_writer.h"
#include "page/document.h"

namespace ergometer::page {

/// A setting or fact of the job that is not the same in all Runs.
struct Difference {
  std::string name;                 ///< path in the job's JSON: "parallelism.tp"
  std::vector<std::string> values;  ///< one a Run, as JSON writes it, text without quotes; empty:
                                    ///< that Run does not say
};

/// In the order of the first Run's job, then what only others say. Sources of numbers are left out:
/// they differ with what they are sources of.
std::vector<Difference> differences(const std::vector<std::string>& job_jsons);

/// The member `differences`.
void write_differences(base::JsonWriter& json, const std::vector<NamedRun>& runs);

}  // namespace ergometer::page
