#include "import/bytes/window.h"

#include <cstring>

namespace ergometer::importer {

Window::Window(ByteSource& source, size_t first_bytes)
    : source_(source), buffer_(first_bytes + kPadding) {}

Result<bool> Window::more() {
  if (at_end_) return false;
  if (begin_ > 1) {
    std::memmove(buffer_.data() + 1, data(), size());
    end_ = 1 + size();
    begin_ = 1;
  }
  if (end_ == room()) {
    if (buffer_.size() > kMostBytes) return false;
    buffer_.resize(2 * room() + kPadding);
  }
  const size_t had = end_;
  while (end_ < room()) {
    ERGOMETER_ASSIGN(const size_t got, source_.read(buffer_.data() + end_, room() - end_));
    at_end_ = got == 0;
    if (at_end_) break;
    end_ += got;
  }
  return end_ > had;
}

}  // namespace ergometer::importer
