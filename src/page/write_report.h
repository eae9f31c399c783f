#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "page/document.h"

namespace ergometer::page {

/// Writes the page of these Runs: one HTML file that needs nothing else, whole or not at all.
Result<void> write_report(std::vector<NamedRun> runs, const DocumentOptions& options,
                          const std::string& path);

/// "runs/job.run": "job"
std::string name_of_file(const std::string& path);

}  // namespace ergometer::page
