#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ergometer::base {

/// A file that appears whole or not at all: what is written goes to a temporary name beside the
/// target, and `commit` renames it. Without `commit` (an error on the way) nothing is left. A pipe
/// or a device is written straight, because it cannot be renamed onto.
class OutputFile {
 public:
  static Result<OutputFile> open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Buffered; a failure shows in `commit`.
  void write(std::string_view text);
  Result<void> commit();

 private:
  OutputFile(std::string path, std::string written, std::FILE* file)
      : path_(std::move(path)), written_(std::move(written)), file_(file) {}

  std::string path_;     ///< what the user asked for
  std::string written_;  ///< what is open: the temporary name, or `path_` itself
  std::FILE* file_ = nullptr;
  bool failed_ = false;
};

}  // namespace ergometer::base
