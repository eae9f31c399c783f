#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "import/byte_source.h"
#include "run/gpu_trace.h"

namespace ergometer::importer {

/// Text as a source, for tests.
class TestSource : public ByteSource {
 public:
  explicit TestSource(std::string text) : text_(std::move(text)) {}
  base::Result<size_t> read(char* to, size_t bytes) override {
    const size_t count = std::min(bytes, text_.size() - at_);
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  size_t at_ = 0;
};

/// How much of a trace's file was left out for a reason.
inline int64_t dropped(const run::RankTrace& trace, std::string_view reason) {
  for (const run::Dropped& d : trace.dropped)
    if (d.reason == reason) return d.count;
  return 0;
}

/// What `read` makes of a text, or its error.
template <class Read>
auto read_text(Read read, const std::string& text, const std::string& file) {
  TestSource source(text);
  return read(source, file);
}

}  // namespace ergometer::importer
