#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ergometer::importer {

/// Bytes one after the other, from a file, unpacked, or out of an archive.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Up to `bytes` bytes; 0 only at the end.
  virtual Result<size_t> read(char* to, size_t bytes) = 0;
  /// Whether the source ended before what it announced (packed data that is cut off).
  virtual bool cut_off() const { return false; }
};

/// A file, a pipe or a device; `path` begins every message.
Result<std::unique_ptr<ByteSource>> open_file(const std::string& path);

/// A text that is there already.
class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  Result<size_t> read(char* to, size_t bytes) override;

 private:
  std::string text_;
  size_t given_ = 0;
};

/// Looks at the first bytes of a source and gives them again to who reads.
class PeekSource : public ByteSource {
 public:
  explicit PeekSource(ByteSource& source) : source_(source) {}

  /// The first `bytes` bytes, fewer at the end of the source. Call it before `read`.
  Result<std::string_view> peek(size_t bytes);
  Result<size_t> read(char* to, size_t bytes) override;
  bool cut_off() const override { return source_.cut_off(); }

 private:
  ByteSource& source_;
  std::string head_;
  size_t given_ = 0;
};

}  // namespace ergometer::importer
