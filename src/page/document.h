#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/work/shape_table.h"
#include "base/result.h"
#include "run/run.h"
#include "study/neighbours/what_if.h"

namespace ergometer::page {

struct NamedRun {
  std::string name;  ///< what the user calls it
  run::Run run;
};

struct DocumentOptions {
  std::string title;           ///< empty: the Runs' names, or the study's title
  std::vector<int64_t> ranks;  ///< whose timelines; empty: one rank a stage
  bool all_ranks = false;      ///< those of every rank that has one
  // Of two Runs, jobs between them are simulated.
  size_t threads = 1;
  int64_t most_simulations = 256;
  std::function<void(int64_t done, int64_t total)> progress = {};  ///< from any thread
  /// Data-sheet peaks of the GPU that traces ran on, where the caller knows them.
  std::function<std::optional<analysis::DevicePeak>(const std::vector<run::RankTrace>&)> peak_of =
      {};
  const study::WhatIf* what_if = nullptr;  ///< of one Run: its neighbours
};

/// What the page is called.
std::string title_of(const std::vector<NamedRun>& runs, const DocumentOptions& options);

/// What `ergometer report` puts into the page, as JSON: the ReportDocument of web/src/document.ts.
/// Of a study, the study; else every Run with what its traces and telemetry tell. An input error:
/// a rank that is asked for has no timeline in any of the Runs.
Result<std::string> document(std::vector<NamedRun> runs, const DocumentOptions& options);

}  // namespace ergometer::page
