#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/output_file.h"

struct z_stream_s;

namespace ergometer::report {

/// A trace in JSON, packed by gzip where the path ends in ".gz". It appears whole or not at all,
/// and the same text gives the same bytes.
class TraceFile {
 public:
  /// An input error where a file of another kind stands at `path`.
  static Result<TraceFile> open(const std::string& path);
  TraceFile(TraceFile&&) noexcept;
  TraceFile& operator=(TraceFile&&) = delete;
  ~TraceFile();

  void write(std::string_view text);
  Result<void> commit();

 private:
  explicit TraceFile(base::OutputFile file);
  void pack(std::string_view text, bool last);

  base::OutputFile file_;
  std::unique_ptr<z_stream_s> packer_;  ///< null: the text as it is
  std::string waiting_;                 ///< to be packed in larger pieces
};

}  // namespace ergometer::report
