#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace ergometer::base {
namespace {

constexpr int kNameAttempts = 100;  // another process may hold some of the temporary names

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return tl::unexpected(Error{kind_of(error), fmt::format("{}: cannot be written: {}", path,
                                                          std::generic_category().message(error))});
}

/// The file behind symbolic links, so that the rename replaces it and not the link.
Result<std::string> follow_links(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr && kind_of(errno) == ErrorKind::kMissing)
    return cannot_write(path, errno);
  if (resolved == nullptr) return path;
  std::string target = resolved;
  std::free(resolved);
  return target;
}

/// Opens a new file beside `target` and says its name; -1 with errno set when that fails.
int open_temporary(const std::string& target, std::string& name) {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    name = fmt::format("{}.partial-{}-{}", target, ::getpid(), attempt);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/// Where a command answers on standard output, what it writes besides has a name.
Result<void> check_name(const std::string& path) {
  if (path == "-")
    return input_error(
        "-: is no file name; allowed: a name (./- for this one), or /dev/stdout for standard "
        "output");
  return {};
}

}  // namespace

Result<OutputFile> OutputFile::open(const std::string& path) {
  if (path.empty()) return input_error("an empty text is no file name");
  ERGOMETER_TRY(check_name(path));
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return input_error("{}: is a folder; give the name of a file in it", path);
  OutputFile file(path);
  const bool straight = exists && !S_ISREG(status.st_mode);
  int descriptor = -1;
  if (straight) {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    ERGOMETER_ASSIGN(file.target_, follow_links(path));
    remove_abandoned(file.target_);
    descriptor = open_temporary(file.target_, file.temporary_);
  }
  if (descriptor < 0) return cannot_write(path, errno);
  file.file_ = ::fdopen(descriptor, "wb");
  if (file.file_ == nullptr) {
    const int error = errno;
    ::close(descriptor);
    if (!straight) ::unlink(file.temporary_.c_str());
    return cannot_write(path, error);
  }
  // A large file takes a call a buffer, and the library's holds 4 KiB.
  constexpr size_t kBufferBytes = 64 << 10;
  file.buffer_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);
  std::setvbuf(file.file_, file.buffer_.get(), _IOFBF, kBufferBytes);
  if (exists && !straight && ::fchmod(descriptor, status.st_mode & 07777) != 0)
    return cannot_write(path, errno);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      buffer_(std::move(other.buffer_)),
      file_(std::exchange(other.file_, nullptr)),
      error_(other.error_) {}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno;
}

Result<void> OutputFile::commit() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0 && !temporary_.empty()) error_ = rename_durably(temporary_, target_);
  if (error_ == 0) return {};
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  return cannot_write(path_, error_);
}

int rename_durably(const std::string& from, const std::string& to) {
  const auto sync = [](const std::string& path, int how) {
    const int file = ::open(path.c_str(), how | O_CLOEXEC);
    if (file < 0) return errno;
    const int error = ::fsync(file) == 0 ? 0 : errno;
    ::close(file);
    // Some file systems have nothing to sync.
    return error == EINVAL || error == ENOTSUP ? 0 : error;
  };
  // A file without permission to be read was written all the same.
  if (const int error = sync(from, O_RDONLY); error != 0 && error != EACCES) return error;
  if (std::rename(from.c_str(), to.c_str()) != 0) return errno;
  const std::string folder = std::filesystem::path(to).parent_path().string();
  // The file is in its place; a folder that cannot be synced only makes it less sure to stay.
  (void)sync(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  return 0;
}

void remove_abandoned(const std::string& target) {
  namespace fs = std::filesystem;
  constexpr auto kYoung = std::chrono::hours(1);
  const fs::path path(target);
  const std::string start = path.filename().string() + ".partial-";
  std::error_code error;
  fs::directory_iterator entries(path.parent_path().empty() ? "." : path.parent_path(), error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.starts_with(start)) continue;
    const auto process =
        parse_integer(name.substr(start.size(), name.find('-', start.size()) - start.size()));
    if (!process || *process <= 0 || *process > INT32_MAX) continue;
    if (::kill(static_cast<pid_t>(*process), 0) == 0 || errno != ESRCH) continue;
    std::error_code ignored;
    const auto written = entries->last_write_time(ignored);
    if (!ignored && fs::file_time_type::clock::now() - written > kYoung)
      ::unlink(entries->path().c_str());
  }
}

Result<void> check_folder(const std::string& path) {
  ERGOMETER_TRY(check_name(path));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) return {};
  ERGOMETER_ASSIGN(const std::filesystem::file_type type, file_type(folder));
  if (type == std::filesystem::file_type::directory) return {};
  return input_error("{}: there is no folder {}", path, folder);
}

Result<void> check_replaces(const std::string& path, std::string_view what,
                            std::string_view beginning) {
  ERGOMETER_ASSIGN(const std::string head, read_head(path, beginning.size()));
  if (head.empty() || head == beginning) return {};
  return input_error("{}: exists and is not {}; remove it first or choose another name", path,
                     what);
}

Result<void> write_file_atomically(const std::string& path, std::string_view text) {
  ERGOMETER_ASSIGN(OutputFile file, OutputFile::open(path));
  file.write(text);
  return file.commit();
}

}  // namespace ergometer::base
