#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/result.h"
#include "run/study.h"

namespace ergometer::run {

/// What is finished of a study, kept beside its Run file while it runs: a text file of one line a
/// point, each written in one piece. Whatever kills the program costs at most the line that it was
/// writing. One process at a time.
class StudyJournal {
 public:
  /// Opens the journal or begins it. `identity` (one line) says what it belongs to; a journal of
  /// something else is an input error, and so is one that another process writes.
  static base::Result<StudyJournal> open(const std::string& path, const std::string& identity);
  StudyJournal(StudyJournal&& other) noexcept;
  StudyJournal& operator=(StudyJournal&&) = delete;
  ~StudyJournal();

  /// By position, what former runs finished.
  std::map<size_t, StudyPoint>& finished() { return finished_; }
  base::Result<void> append(size_t position, const StudyPoint& point);
  /// At the end: the Run file holds everything.
  void remove();

 private:
  explicit StudyJournal(std::string path) : path_(std::move(path)) {}
  base::Result<void> read(const std::string& identity);
  base::Result<void> write(const std::string& line);

  std::string path_;
  int file_ = -1;
  std::map<size_t, StudyPoint> finished_;
};

}  // namespace ergometer::run
