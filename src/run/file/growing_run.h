#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/device_log.h"
#include "run/file/reading_rows.h"

namespace ergometer::run {

/// A recorded Run while it is written, by `record` or `serve`: look after look what came since the
/// last. It only reads, and holds nothing open between looks, so that it delays no commit.
class GrowingRun {
 public:
  static constexpr int64_t kMostRows = 50'000;  ///< of one look

  /// Input errors: the file is missing, is no Run, or holds no readings of devices.
  static Result<GrowingRun> open(std::string path);

  struct Growth {
    std::vector<ReadingCell> cells;  ///< in the order in which they were written
    bool more = false;               ///< at least as many wait
    bool closed = false;             ///< who wrote it said that nothing more comes
  };
  /// An input error: the file is gone, or another recording stands in its place: it began at
  /// another time, has fewer rows, or another row where the last one was read. Not by which file it
  /// is: a recorder whose file was removed writes it anew. One that holds the very same row there
  /// is taken for the same recording. One that cannot be read just now brings nothing.
  Result<Growth> look();

  const std::string& path() const { return path_; }
  const std::vector<Device>& devices() const { return devices_; }  ///< without series
  bool is_being_written() const;

 private:
  explicit GrowingRun(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::optional<std::string> begun_;  ///< when the recording did, of the first look
  std::vector<Device> devices_;
  int64_t row_ = 0;         ///< that was read last
  std::string row_values_;  ///< what it holds
};

}  // namespace ergometer::run
