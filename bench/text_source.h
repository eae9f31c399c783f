#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "import/bytes/byte_source.h"

/// A text that outlives it, as a source.
class TextSource : public ergometer::importer::ByteSource {
 public:
  explicit TextSource(const std::string& text) : text_(text) {}
  ergometer::Result<size_t> read(char* to, size_t bytes) override {
    const size_t count = std::min(bytes, text_.size() - at_);
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  const std::string& text_;
  size_t at_ = 0;
};
