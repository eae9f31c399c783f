#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace ergometer::base {
namespace {

constexpr int kNameAttempts = 100;  // another process may hold some of the temporary names

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return input_error(
      fmt::format("{}: cannot be written: {}", path, std::generic_category().message(error)));
}

/// The file behind symbolic links, so that the rename replaces it and not the link.
std::string follow_links(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
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

}  // namespace

Result<OutputFile> OutputFile::open(const std::string& path) {
  if (path.empty()) return input_error("an empty text is no file name");
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return input_error(fmt::format("{}: is a folder; give the name of a file in it", path));
  OutputFile file(path);
  const bool straight = exists && !S_ISREG(status.st_mode);
  int descriptor = -1;
  if (straight) {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    file.target_ = follow_links(path);
    descriptor = open_temporary(file.target_, file.temporary_);
  }
  if (descriptor < 0) return cannot_write(path, errno);
  file.file_ = ::fdopen(descriptor, "wb");
  if (exists && !straight && ::fchmod(descriptor, status.st_mode & 07777) != 0)
    return cannot_write(path, errno);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
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
  if (error_ == 0 && !temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0)
    error_ = errno;
  if (error_ == 0) return {};
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  return cannot_write(path_, error_);
}

Result<void> write_file_atomically(const std::string& path, std::string_view text) {
  ERGOMETER_ASSIGN(OutputFile file, OutputFile::open(path));
  file.write(text);
  return file.commit();
}

}  // namespace ergometer::base
