#include "import/bytes/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file.h"

namespace ergometer::importer {
namespace {

class FileSource : public ByteSource {
 public:
  FileSource(int file, std::string path) : file_(file), path_(std::move(path)) {}
  ~FileSource() override { ::close(file_); }

  Result<size_t> read(char* to, size_t bytes) override {
    ssize_t got = 0;
    do got = ::read(file_, to, bytes);
    while (got < 0 && errno == EINTR);
    if (got >= 0) return static_cast<size_t>(got);
    return base::cannot_read(path_, errno);
  }

 private:
  int file_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return base::open_failed(path, errno);
  }
  return std::make_unique<FileSource>(file, path);
}

Result<size_t> TextSource::read(char* to, size_t bytes) {
  const size_t count = std::min(bytes, text_.size() - given_);
  std::memcpy(to, text_.data() + given_, count);
  given_ += count;
  return count;
}

Result<std::string_view> PeekSource::peek(size_t bytes) {
  while (head_.size() < bytes) {
    const size_t had = head_.size();
    head_.resize(bytes);
    const auto got = source_.read(head_.data() + had, bytes - had);
    head_.resize(had + (got ? *got : 0));
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
  }
  return std::string_view(head_).substr(0, bytes);
}

Result<size_t> PeekSource::read(char* to, size_t bytes) {
  if (given_ == head_.size()) return source_.read(to, bytes);
  const size_t count = std::min(bytes, head_.size() - given_);
  std::memcpy(to, head_.data() + given_, count);
  given_ += count;
  return count;
}

}  // namespace ergometer::importer
