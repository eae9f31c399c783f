#include "import/bytes/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace ergometer::importer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPattern = "ergometer-XXXXXX";

tl::unexpected<base::Error> no_room(const std::string& name, const std::string& why) {
  return missing_error(
      "{}: there is no room to unpack it in {}: {}; choose another place with TMPDIR", name,
      fs::temp_directory_path().string(), why);
}

/// Bytes that are free in the file's file system; all there can be where that is not known.
uint64_t room(int file) {
  struct statvfs status{};
  if (::fstatvfs(file, &status) != 0) return UINT64_MAX;
  return uint64_t{status.f_bavail} * status.f_frsize;
}

Result<void> copy(ByteSource& source, int to, const std::string& name) {
  constexpr size_t kPiece = size_t{1} << 18;
  std::vector<char> piece(kPiece);
  const uint64_t most = room(to) / 2;
  uint64_t copied = 0;
  for (;;) {
    ERGOMETER_ASSIGN(const size_t got, source.read(piece.data(), piece.size()));
    if (got == 0) return {};
    copied += got;
    if (copied > most) return no_room(name, "it takes more than half of what is free there");
    for (size_t done = 0; done < got;) {
      const ssize_t written = ::write(to, piece.data() + done, got - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return no_room(name, std::generic_category().message(errno));
      done += static_cast<size_t>(written);
    }
  }
}

/// A process holds a lock on each of its files as long as it lives.
void remove_abandoned(const fs::path& folder) {
  const std::string pattern = kPattern;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code ignored;
    if (name.size() != pattern.size() || !name.starts_with("ergometer-") ||
        !entries->is_regular_file(ignored) || entries->is_symlink(ignored))
      continue;
    const int file = ::open(entries->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) continue;
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(entries->path().c_str());
    ::close(file);
  }
}

}  // namespace

Result<TemporaryFile> TemporaryFile::of(ByteSource& source, const std::string& name) {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  remove_abandoned(folder);
  std::string path = (folder / kPattern).string();
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0)
    return missing_error("{}: no file can be made to unpack it into: {}", path,
                         std::generic_category().message(errno));
  // Shared, so that who only reads it is in nobody's way.
  (void)::flock(file, LOCK_SH);
  TemporaryFile result(std::move(path), file);
  ERGOMETER_TRY(copy(source, file, name));
  return result;
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, std::string())), file_(std::exchange(other.file_, -1)) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (file_ >= 0) ::close(file_);
}

}  // namespace ergometer::importer
