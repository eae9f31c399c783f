#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/result.h"

namespace ergometer::spread {

/// What is finished of a work, kept beside its output while it runs: a text file of one line a
/// piece, each with its checksum and written in one go. Whatever kills the program costs at most
/// the line that it was writing. One process at a time.
class Journal {
 public:
  /// Opens the journal or begins it. `kind` says what is done, in a word, and `identity`, in a
  /// line, which one; a journal of something else is an input error, and so is one that another
  /// process writes.
  static Result<Journal> open(const std::string& path, const std::string& kind,
                              const std::string& identity);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  /// By piece, the answers of former runs. What a damaged line held is not among them.
  std::map<size_t, std::string>& finished() { return finished_; }
  Result<void> append(size_t piece, const std::string& answer);
  /// At the end: the output holds everything.
  void remove();

 private:
  explicit Journal(std::string path) : path_(std::move(path)) {}
  Result<void> read(const std::string& kind, const std::string& identity);
  Result<void> write(const std::string& line);

  std::string path_;
  int file_ = -1;
  std::map<size_t, std::string> finished_;
};

}  // namespace ergometer::spread
