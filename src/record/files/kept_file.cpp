#include "record/files/kept_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <utility>

namespace ergometer::record {

KeptFile::KeptFile(KeptFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      error_(other.error_) {}

KeptFile& KeptFile::operator=(KeptFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  error_ = other.error_;
  return *this;
}

KeptFile::~KeptFile() { close(); }

void KeptFile::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

std::optional<std::string_view> KeptFile::read() {
  if (descriptor_ < 0) descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = descriptor_ < 0 ? -1 : ::pread(descriptor_, text_.data(), text_.size(), 0);
  if (bytes < 0) {
    error_ = errno;
    close();
    return std::nullopt;
  }
  return std::string_view(text_.data(), static_cast<size_t>(bytes));
}

std::optional<double> leading_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  double value = 0;
  const std::errc error =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ec;
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::string> read_line(const std::string& path) {
  KeptFile file(path);
  const auto text = file.read();
  if (!text) return std::nullopt;
  return std::string(text->substr(0, text->find('\n')));
}

}  // namespace ergometer::record
