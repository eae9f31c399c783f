#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "record/stop_flag.h"
#include "serve/push_format.h"

namespace ergometer::serve {

/// Runs that recorders write into a folder, read as if they were pushed: for nodes that share a
/// file system and may not open connections. Once a second, of every file that grew, the latest
/// reading of each metric; the files hold all of them. It only reads.
class Follower {
 public:
  static constexpr size_t kMostFiles = 4096, kMostWaiting = 4096;

  explicit Follower(const std::string& folder);
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  ~Follower();

  /// What came since the last call. A file that was not written to lately is left out until it is.
  std::vector<Push> take();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
  record::StopFlag stop_;
  std::thread thread_;
};

/// What a Run holds behind row `after` of its readings, as a push whose sequence is the last row's
/// number; without a batch where there is nothing new, or it cannot be read now.
Push read_growth(const std::string& path, int64_t after);

}  // namespace ergometer::serve
