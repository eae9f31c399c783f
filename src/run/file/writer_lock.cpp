#include "run/file/writer_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace ergometer::run {
namespace {

/// One byte beyond what any Run has, SQLite's own locks included.
struct flock lock_on_our_byte() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(int64_t{1} << 46);
  lock.l_len = 1;
  return lock;
}

}  // namespace

WriterLock::WriterLock(WriterLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}
WriterLock::~WriterLock() {
  if (file_ >= 0) ::close(file_);
}

WriterLock WriterLock::take(const std::string& path) {
  WriterLock result;
  result.file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock = lock_on_our_byte();
  if (result.file_ >= 0) (void)::fcntl(result.file_, F_OFD_SETLK, &lock);
  return result;
}

bool WriterLock::is_held(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct flock lock = lock_on_our_byte();
  const bool held = ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(file);
  return held;
}

}  // namespace ergometer::run
