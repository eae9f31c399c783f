#pragma once

#include <vector>

#include "analysis/tell.h"
#include "page/document.h"
#include "report/summary/job_view.h"

namespace ergometer::page {

/// A Run with what is told of it: what every part of the document is written from.
struct RunView {
  const NamedRun* named = nullptr;
  bool simulated = false;
  std::vector<run::RankTrace> traces;  ///< recorded, or a simulated Run's sampled ranks
  run::DeviceLog log;
  analysis::Told told;
  report::JobView job;

  const run::Run& run() const { return named->run; }
};

/// Takes the traces out of the Run. Of a simulated Run that holds the kernels of a part of its step
/// only, `told` is what tasks and telemetry tell.
RunView look_at(NamedRun& named, const DocumentOptions& options);

}  // namespace ergometer::page
