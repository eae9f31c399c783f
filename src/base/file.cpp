#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace ergometer::base {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 16;
constexpr int kNameAttempts = 100;  // other processes may hold some of the temporary names

/// An open file that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  bool open() const { return number_ >= 0; }
  int number() const { return number_; }
  /// False with errno set when the system reports a late write error.
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

std::string reason(int error) { return std::generic_category().message(error); }

tl::unexpected<Error> failed(const std::string& path, std::string_view action, int error) {
  return input_error(fmt::format("{}: cannot {}: {}", path, action, reason(error)));
}

tl::unexpected<Error> open_failed(const std::string& path, int error) {
  if (error == ENOENT) return input_error(fmt::format("{}: no such file", path));
  if (error == EACCES) return input_error(fmt::format("{}: no permission to read it", path));
  return failed(path, "open", error);
}

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

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Result<void> write_directly(const std::string& path, std::string_view text) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.open() || !write_all(file.number(), text) || !file.close())
    return failed(path, "write", errno);
  return {};
}

/// The file behind symbolic links, so that the rename replaces it and not the link.
std::string follow_links(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string target = resolved;
  std::free(resolved);
  return target;
}

/// Opens a new file beside `path` and says its name.
Descriptor open_temporary(const std::string& path, std::string& name) {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    name = fmt::format("{}.{}.{}.tmp", path, ::getpid(), attempt);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return Descriptor(file);
  }
  return Descriptor(-1);
}

Result<void> replace(const std::string& path, std::string_view text, const struct stat* old) {
  const std::string target = follow_links(path);
  std::string name;
  Descriptor file = open_temporary(target, name);
  if (!file.open()) return failed(path, "write", errno);
  const bool done = (old == nullptr || ::fchmod(file.number(), old->st_mode & 07777) == 0) &&
                    write_all(file.number(), text) && file.close() &&
                    std::rename(name.c_str(), target.c_str()) == 0;
  if (done) return {};
  const int error = errno;
  ::unlink(name.c_str());
  return failed(path, "write", error);
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  ERGOMETER_TRY(check_path(path));
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return open_failed(path, errno);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) return failed(path, "read", errno);
  if (S_ISDIR(status.st_mode))
    return input_error(fmt::format("{}: is a directory, not a file", path));

  std::string text;
  // The size a file states is a hint only: pipes and /proc state none, and a file may grow while it
  // is read.
  if (S_ISREG(status.st_mode))
    text.reserve(std::min(max_bytes, static_cast<size_t>(status.st_size)) + 1);
  std::string chunk(kChunkBytes, '\0');
  for (;;) {
    const ssize_t got = read_some(file.number(), chunk.data(), chunk.size());
    if (got < 0) return failed(path, "read", errno);
    if (got == 0) break;
    if (text.size() + static_cast<size_t>(got) > max_bytes)
      return input_error(fmt::format("{}: is larger than {}, the most that is read of such a file",
                                     path, format_binary_bytes(static_cast<double>(max_bytes))));
    text.append(chunk, 0, static_cast<size_t>(got));
  }
  if (text.empty()) return input_error(fmt::format("{}: is empty", path));
  return text;
}

Result<void> write_file_atomically(const std::string& path, std::string_view text) {
  ERGOMETER_TRY(check_path(path));
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return replace(path, text, nullptr);
  if (S_ISDIR(status.st_mode))
    return input_error(fmt::format("{}: cannot write: is a directory", path));
  if (!S_ISREG(status.st_mode)) return write_directly(path, text);
  return replace(path, text, &status);
}

}  // namespace ergometer::base
