#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/text.h"

namespace ergometer::base {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 16;

/// An open file that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  bool open() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

Result<void> check_path(const std::string& path) {
  if (path.empty()) return input_error("an empty text is no file name");
  if (path.find('\0') != std::string::npos)
    return input_error("a file name cannot hold a NUL character");
  return {};
}

ssize_t read_some(int file, char* to, size_t bytes) {
  ssize_t got = 0;
  do got = ::read(file, to, bytes);
  while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

tl::unexpected<Error> cannot_read(const std::string& path, int error) {
  return tl::unexpected(Error{kind_of(error), fmt::format("{}: cannot be read: {}", path,
                                                          std::generic_category().message(error))});
}

tl::unexpected<Error> open_failed(const std::string& path, int error) {
  if (error == ENOENT) return input_error("{}: no such file", path);
  if (error == EACCES) return missing_error("{}: no permission to read it", path);
  return cannot_read(path, error);
}

ErrorKind kind_of(int system_error) {
  switch (system_error) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ESTALE: return ErrorKind::kMissing;
    default: return ErrorKind::kInput;
  }
}

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  ERGOMETER_TRY(check_path(path));
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return open_failed(path, errno);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) return cannot_read(path, errno);
  if (S_ISDIR(status.st_mode)) return input_error("{}: is a directory, not a file", path);

  std::string text;
  // The size a file states is a hint only: pipes and /proc state none, and a file may grow while it
  // is read.
  if (S_ISREG(status.st_mode))
    text.reserve(std::min(max_bytes, static_cast<size_t>(status.st_size)) + 1);
  std::string chunk(kChunkBytes, '\0');
  for (;;) {
    const ssize_t got = read_some(file.number(), chunk.data(), chunk.size());
    if (got < 0) return cannot_read(path, errno);
    if (got == 0) break;
    if (text.size() + static_cast<size_t>(got) > max_bytes)
      return input_error("{}: is larger than {}, the most that is read of such a file", path,
                         format_binary_bytes(static_cast<double>(max_bytes)));
    text.append(chunk, 0, static_cast<size_t>(got));
  }
  if (text.empty()) return input_error("{}: is empty", path);
  return text;
}

Result<std::string> read_head(const std::string& path, size_t bytes) {
  ERGOMETER_ASSIGN(const std::filesystem::file_type type, file_type(path));
  if (type != std::filesystem::file_type::regular) return std::string();
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return open_failed(path, errno);
  std::string head(bytes, '\0');
  size_t size = 0;
  while (size < bytes) {
    const ssize_t got = read_some(file.number(), head.data() + size, bytes - size);
    if (got < 0) return cannot_read(path, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  head.resize(size);
  return head;
}

Result<std::filesystem::file_type> file_type(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::none && kind_of(error.value()) == ErrorKind::kMissing)
    return cannot_read(path, error.value());
  return type == std::filesystem::file_type::none ? std::filesystem::file_type::not_found : type;
}

}  // namespace ergometer::base
