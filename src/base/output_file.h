#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace ergometer::base {

/// A file that appears whole or not at all: what is written goes to a temporary name beside the
/// target, and `commit` renames it, so a reader finds the old file or the new one, never half of
/// it. Without `commit` (an error on the way) nothing is left. An old file's mode and symbolic
/// links to it are kept. A pipe or a device (`/dev/stdout`) is written straight: it cannot be
/// renamed onto. "-" is no name: an input error.
class OutputFile {
 public:
  /// Of kind kMissing (as for `commit`): no room, no permission. What writers that are gone left
  /// half-written of the same file is removed.
  static Result<OutputFile> open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Buffered; a failure shows in `commit`.
  void write(std::string_view text);
  /// Once, at the end. What is there then outlives a power cut.
  Result<void> commit();

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}

  std::string path_;                ///< what the user asked for
  std::string target_;              ///< the same behind symbolic links
  std::string temporary_;           ///< what is open; empty when `path_` is written straight
  std::unique_ptr<char[]> buffer_;  ///< the file's, which outlives it
  std::FILE* file_ = nullptr;
  int error_ = 0;  ///< errno of the first failed write
};

/// The same in one call.
Result<void> write_file_atomically(const std::string& path, std::string_view text);

/// A name beside the target that a file is written under: what stands there goes, before and after,
/// unless it was renamed meanwhile.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path) : path_(std::move(path)) { std::remove(path_.c_str()); }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// That the folder a file is to be written in is there: said before the work, not after it.
Result<void> check_folder(const std::string& path);

/// Renames a written file over another so that a power cut leaves the one or the other, whole. The
/// errno of what failed, or 0.
int rename_durably(const std::string& from, const std::string& to);

/// Removes `TARGET.partial-PID...` of processes that are no more. Young ones stay, for a process of
/// another host, on a shared file system, is not seen from here.
void remove_abandoned(const std::string& target);

/// A wrong order of arguments must not cost a file: an input error where a file of another kind
/// stands at `path`. `what`: "a report"; its files begin with `beginning`.
Result<void> check_replaces(const std::string& path, std::string_view what,
                            std::string_view beginning);

}  // namespace ergometer::base
