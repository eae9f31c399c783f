#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "cli/console/command.h"

namespace ergometer::cli {

/// How much of a long work is done, drawn over itself on standard error and wiped away at the end.
/// Says nothing with --quiet or when standard error is not a terminal. Any thread may advance it.
///
///   predict [##########..........] 412 / 885, 61/s, 8 s left
class Progress {
 public:
  Progress(const Console& console, std::string what, size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance();

 private:
  void draw();

  std::FILE* stream_ = nullptr;  ///< null: silent
  std::string what_;
  size_t total_, done_ = 0, drawn_percent_ = 0, drawn_width_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
};

}  // namespace ergometer::cli
