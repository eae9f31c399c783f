#include "run/study_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "run/study_json.h"

namespace ergometer::run {
namespace {

constexpr std::string_view kHead = "ergometer study, unfinished: ";

base::Result<std::string> whole(int file, const std::string& path) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0)
      return base::input_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
    text.append(buffer.data(), static_cast<size_t>(count));
  }
}

/// "POSITION JSON"; nothing of a line that is damaged: its point is computed again.
std::optional<std::pair<size_t, StudyPoint>> parse_line(std::string_view line) {
  size_t position = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), position);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return std::nullopt;
  auto point = study_point(std::string(end + 1, line.data() + line.size()));
  if (!point) return std::nullopt;
  return std::pair{position, *std::move(point)};
}

}  // namespace

StudyJournal::StudyJournal(StudyJournal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      finished_(std::move(other.finished_)) {}

StudyJournal::~StudyJournal() {
  if (file_ >= 0) ::close(file_);
}

base::Result<StudyJournal> StudyJournal::open(const std::string& path,
                                              const std::string& identity) {
  StudyJournal journal(path);
  journal.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (journal.file_ < 0)
    return base::input_error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  if (::flock(journal.file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return base::input_error(
        fmt::format("{}: another ergometer is running this study into the same file", path));
  ERGOMETER_TRY(journal.read(identity));
  return journal;
}

base::Result<void> StudyJournal::read(const std::string& identity) {
  ERGOMETER_ASSIGN(const std::string text, whole(file_, path_));
  const std::string head = fmt::format("{}{}\n", kHead, identity);
  // A program that was killed while it wrote the first line has finished nothing.
  if (head.starts_with(text) && text.size() < head.size()) {
    if (::ftruncate(file_, 0) != 0 || ::lseek(file_, 0, SEEK_SET) != 0)
      return base::input_error(
          fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
    return write(head);
  }
  if (!text.starts_with(head))
    return base::input_error(
        fmt::format("{}: was left by another study, another shard or another version of this "
                    "one; remove it, or write to another file",
                    path_));
  size_t at = head.size();
  for (size_t end = text.find('\n', at); end != std::string::npos; end = text.find('\n', at)) {
    if (auto line = parse_line(std::string_view(text).substr(at, end - at)))
      finished_.insert(*std::move(line));
    at = end + 1;
  }
  if (::ftruncate(file_, static_cast<off_t>(at)) != 0 ||
      ::lseek(file_, static_cast<off_t>(at), SEEK_SET) < 0)
    return base::input_error(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  return {};
}

base::Result<void> StudyJournal::write(const std::string& line) {
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(file_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return base::input_error(
          fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
    written += static_cast<size_t>(count);
  }
  return {};
}

base::Result<void> StudyJournal::append(size_t position, const StudyPoint& point) {
  return write(fmt::format("{} {}\n", position, to_json(point)));
}

void StudyJournal::remove() { std::remove(path_.c_str()); }

}  // namespace ergometer::run
