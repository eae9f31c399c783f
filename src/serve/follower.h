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

/// How far a file was read.
struct ReadSoFar {
  std::string recorder = {};  ///< whose file it was
  int64_t row = 0;            ///< of its readings
};

/// What a Run holds behind what was read of it, as a push whose sequence is the last row's number;
/// without a batch where there is nothing new, or it cannot be read now. The recorder is called by
/// the file's name and when the recording began, so that another recording in the place of the one
/// that was read is another recorder's, and read from its start.
Push read_growth(const std::string& path, const ReadSoFar& before);

}  // namespace ergometer::serve
