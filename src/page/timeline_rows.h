#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "page/run_view.h"

namespace ergometer::page {

/// Texts by number, in the order in which they came up.
class TextTable {
 public:
  int64_t number(std::string_view text);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, int64_t, std::less<>> numbers_;
  std::vector<std::string> texts_;
};

/// One kernel or wait; texts are numbers of `TimelineRows`' tables.
struct KernelRow {
  int64_t stream = 0, name = 0, category = 0;
  int64_t start_ns = 0, duration_ns = 0, micro_batch = -1, layer = -1;
};

struct RankRows {
  int64_t rank = 0, stage = 0;
  std::vector<run::PipelineTask> tasks;
  std::vector<KernelRow> kernels;  ///< in order of time
};

/// Timelines of ranks, from one zero on.
struct TimelineRows {
  TextTable names, categories, streams;
  std::vector<RankRows> ranks;
  std::vector<run::StepWindow> windows;  ///< whose kernels are there, in order
  bool whole = true;                     ///< they are all of the step, or of the recording
};

/// Without those ranks of a recording that have no trace.
TimelineRows timeline_rows(const RunView& view, const std::vector<int64_t>& ranks);

/// Leaves `most` kernels at most: those in windows at the start, in the middle and at the end, or
/// in those that there are, all shortened alike.
void keep_windows(TimelineRows& rows, size_t most);

}  // namespace ergometer::page
