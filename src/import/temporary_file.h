#pragma once

#include <string>

#include "base/result.h"
#include "import/byte_source.h"

namespace ergometer::importer {

/// What a source holds, written into a file of its own that goes when this does: for SQLite, which
/// reads here and there. It lies where TMPDIR says.
class TemporaryFile {
 public:
  /// An input error, which begins with `name`, where the source cannot be read; a missing-thing
  /// error where there is no room.
  static base::Result<TemporaryFile> of(ByteSource& source, const std::string& name);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace ergometer::importer
