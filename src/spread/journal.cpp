#include "spread/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace ergometer::spread {
namespace {

tl::unexpected<base::Error> cannot_write(const std::string& path) {
  return tl::unexpected(base::Error{
      base::kind_of(errno), fmt::format("{}: cannot be written: {}", path, std::strerror(errno))});
}

Result<std::string> whole(int file, const std::string& path) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0) return base::cannot_read(path, errno);
    text.append(buffer.data(), static_cast<size_t>(count));
  }
}

/// Whether a file is what a killed program, or a power cut, left of the first line's writing: it
/// has finished nothing. Bytes that did not reach the disk may be zero.
bool is_begun(std::string_view text, std::string_view head) {
  const auto written = [](char found, char wanted) { return found == wanted || found == '\0'; };
  return text.size() <= head.size() && text != head &&
         std::equal(text.begin(), text.end(), head.begin(), written);
}

/// Of a line that reached the disk in part, or not as it was written (FNV-1a).
uint32_t checksum(std::string_view text) {
  uint32_t sum = 2166136261u;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619u;
  return sum;
}

/// "CHECKSUM PIECE ANSWER"; nothing of a line that is damaged: its piece is done again.
std::optional<std::pair<size_t, std::string>> parse_line(std::string_view line) {
  uint32_t sum = 0;
  const auto [sum_end, wrong] = std::from_chars(line.data(), line.data() + line.size(), sum, 16);
  if (wrong != std::errc() || sum_end == line.data() + line.size() || *sum_end != ' ')
    return std::nullopt;
  line.remove_prefix(static_cast<size_t>(sum_end - line.data()) + 1);
  if (checksum(line) != sum) return std::nullopt;
  size_t piece = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), piece);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return std::nullopt;
  return std::pair{piece, std::string(end + 1, line.data() + line.size())};
}

}  // namespace

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      finished_(std::move(other.finished_)) {}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

Result<Journal> Journal::open(const std::string& path, const std::string& kind,
                              const std::string& identity) {
  Journal journal(path);
  journal.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (journal.file_ < 0) return cannot_write(path);
  if (::flock(journal.file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return input_error("{}: another ergometer is running this {} into the same file", path, kind);
  ERGOMETER_TRY(journal.read(kind, identity));
  return journal;
}

Result<void> Journal::read(const std::string& kind, const std::string& identity) {
  ERGOMETER_ASSIGN(const std::string text, whole(file_, path_));
  const std::string head = fmt::format("ergometer {}, unfinished: {}\n", kind, identity);
  if (is_begun(text, head)) {
    if (::ftruncate(file_, 0) != 0 || ::lseek(file_, 0, SEEK_SET) != 0) return cannot_write(path_);
    ERGOMETER_TRY(write(head));
    // After a power cut a line may be damaged, the first one may not: it says whose the others are.
    if (::fdatasync(file_) != 0 && errno != EINVAL && errno != ENOTSUP) return cannot_write(path_);
    return {};
  }
  if (!text.starts_with(head))
    return input_error(
        "{}: was left by another {}, another shard or another version of this "
        "one; remove it, or write to another file",
        path_, kind);
  size_t at = head.size();
  for (size_t end = text.find('\n', at); end != std::string::npos; end = text.find('\n', at)) {
    if (auto line = parse_line(std::string_view(text).substr(at, end - at)))
      finished_.insert(*std::move(line));
    at = end + 1;
  }
  if (::ftruncate(file_, static_cast<off_t>(at)) != 0 ||
      ::lseek(file_, static_cast<off_t>(at), SEEK_SET) < 0)
    return cannot_write(path_);
  return {};
}

Result<void> Journal::write(const std::string& line) {
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(file_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_write(path_);
    written += static_cast<size_t>(count);
  }
  return {};
}

Result<void> Journal::append(size_t piece, const std::string& answer) {
  const std::string line = fmt::format("{} {}", piece, answer);
  return write(fmt::format("{:08x} {}\n", checksum(line), line));
}

void Journal::remove() { std::remove(path_.c_str()); }

}  // namespace ergometer::spread
