#pragma once

#include <string>

namespace ergometer::run {

/// Says that a Run file is being recorded, to whoever would replace it. It goes with the process,
/// and it is a lock on a byte that SQLite does not use: readers and commits notice nothing of it.
/// A file system without locks has none.
class WriterLock {
 public:
  WriterLock() = default;
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  ~WriterLock();

  static WriterLock take(const std::string& path);
  /// By anybody, this process included. Not while this process commits to the file: closing it
  /// again would give up SQLite's locks.
  static bool is_held(const std::string& path);

 private:
  int file_ = -1;
};

}  // namespace ergometer::run
