#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include "record/snapshot.h"

namespace ergometer::cli {

/// A line for each GPU with its latest readings; without GPUs, for each node and CPU.
std::string live_table(const std::vector<record::Snapshot::Latest>& latest);

/// The table drawn over itself on a terminal, once a second at most, and wiped away at the end.
class LiveTable {
 public:
  LiveTable(std::FILE* stream, const record::Snapshot& snapshot)
      : stream_(stream), snapshot_(snapshot) {}

  void draw();
  void finish();

 private:
  void go_up();

  std::FILE* stream_;
  const record::Snapshot& snapshot_;
  std::chrono::steady_clock::time_point drawn_{};
  size_t lines_ = 0;
};

}  // namespace ergometer::cli
