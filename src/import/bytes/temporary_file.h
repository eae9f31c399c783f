#pragma once

#include <string>

#include "base/result.h"
#include "import/bytes/byte_source.h"

namespace ergometer::importer {

/// What a source holds, written into a file of its own that goes when this does: for SQLite, which
/// reads here and there. It lies where TMPDIR says and takes at most half of the room that is free
/// there. What processes that were killed left is removed when the next is made.
class TemporaryFile {
 public:
  /// An input error, which begins with `name`, where the source cannot be read; a missing-thing
  /// error where there is no room.
  static Result<TemporaryFile> of(ByteSource& source, const std::string& name);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  const std::string& path() const { return path_; }

 private:
  TemporaryFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  int file_ = -1;  ///< open, with a lock that says that it is in use
};

}  // namespace ergometer::importer
