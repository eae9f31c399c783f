#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "serve/job_state.h"
#include "watch/against_prediction.h"
#include "watch/alerts.h"

namespace ergometer::serve {

/// What the server itself went through since it started.
struct ServerCounts {
  int64_t requests = 0, batches = 0, repeated = 0;  ///< of /push; stored; seen before
  int64_t malformed = 0, unauthorized = 0, refused = 0;
  int64_t connections = 0;
};

/// A line of the list of jobs.
struct JobLine {
  std::string name;
  int64_t nodes = 0, gpus = 0, heard_ns = 0;
  bool live = false;
};

/// The document behind the page, /state.json: docs/push-format.md. Columns: one list a quantity,
/// a place a node or GPU; null where nothing was read.
struct StateDocument {
  int64_t now_ns = 0;
  std::string problem = {};        ///< why nothing can be stored now; empty: it can
  std::string rules_problem = {};  ///< why the rules file as it is now is not used; empty: it is
  ServerCounts counts;
  std::vector<JobLine> jobs;
  std::string job;                  ///< which is shown
  const JobState* state = nullptr;  ///< of it; none where there is no job yet
  std::span<const HistoryRow> history;
  std::span<const watch::FindingNow> findings;
  const watch::AgainstPrediction* against = nullptr;  ///< none where nothing is predicted
  std::span<const watch::Alert> alerts;
};
std::string state_json(const StateDocument& document);

}  // namespace ergometer::serve
