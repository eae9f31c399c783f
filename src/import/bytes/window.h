#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/bytes/byte_source.h"

namespace ergometer::importer {

/// The part of a source that is looked at: a buffer that slides over it, so that a file of any size
/// is read in little memory. It grows only when one piece (an event) does not fit.
class Window {
 public:
  static constexpr size_t kFirstBytes = size_t{1} << 19;
  static constexpr size_t kMostBytes = size_t{1} << 24;
  /// Bytes that may be read, and changed, behind the text, and one in front of it.
  static constexpr size_t kPadding = 128;

  explicit Window(ByteSource& source, size_t first_bytes = kFirstBytes);

  std::string_view text() const { return {buffer_.data() + begin_, end_ - begin_}; }
  char* data() { return buffer_.data() + begin_; }
  size_t size() const { return end_ - begin_; }
  /// How many bytes of the source lie before the text.
  uint64_t offset() const { return offset_; }

  void consume(size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }
  /// Reads on until the buffer is full, makes room first. False when nothing came: at the end of
  /// the source (`at_end`), or when the text already fills the largest buffer.
  Result<bool> more();
  bool at_end() const { return at_end_; }
  bool cut_off() const { return source_.cut_off(); }
  /// Room for simdjson's reading beyond the end.
  size_t capacity_behind(size_t bytes) const { return buffer_.size() - begin_ - bytes; }

 private:
  size_t room() const { return buffer_.size() - kPadding; }

  ByteSource& source_;
  std::vector<char> buffer_;
  size_t begin_ = 1, end_ = 1;
  uint64_t offset_ = 0;
  bool at_end_ = false;
};

}  // namespace ergometer::importer
