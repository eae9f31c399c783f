#include "record/step_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "record/clock.h"
#include "record/source.h"

namespace ergometer::record {

StepLog::StepLog(std::string path) : path_(std::move(path)) {
  struct stat about = {};
  if (open_file() && fstat(file_, &about) == 0) offset_ = about.st_size;
}

StepLog::StepLog(StepLog&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      device_(other.device_),
      number_(other.number_),
      offset_(other.offset_),
      line_(std::move(other.line_)),
      too_long_(other.too_long_),
      reader_(other.reader_),
      otlp_(std::move(other.otlp_)) {}

StepLog::~StepLog() { close_file(); }

bool StepLog::open_file() {
  struct stat about = {};
  // What is no regular file is not even opened: that alone may change a device or wake a writer.
  if (stat(path_.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file_ < 0 || fstat(file_, &about) != 0 || !S_ISREG(about.st_mode)) {
    close_file();
    return false;
  }
  device_ = about.st_dev;
  number_ = about.st_ino;
  start_anew();
  return true;
}

void StepLog::close_file() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

void StepLog::start_anew() {
  offset_ = 0;
  line_.clear();
  too_long_ = false;
  reader_ = {};
  otlp_ = {};
}

/// Of a file that was removed, or moved without another in its place, more may come.
bool StepLog::is_another_file() const {
  struct stat about = {};
  return stat(path_.c_str(), &about) == 0 && (about.st_dev != device_ || about.st_ino != number_);
}

void StepLog::read(std::vector<run::TrainingStep>& steps) {
  if (file_ < 0 && !open_file()) return;
  struct stat about = {};
  if (fstat(file_, &about) == 0 && about.st_size < offset_) start_anew();
  for (size_t done = 0; done < kMostAtOnce; done += kMostLine)
    if (!read_some(steps)) break;
  if (fstat(file_, &about) != 0 || about.st_size > offset_ || !is_another_file()) return;
  close_file();
  if (open_file()) read_some(steps);
}

/// False at the file's end.
bool StepLog::read_some(std::vector<run::TrainingStep>& steps) {
  std::array<char, kMostLine> bytes;
  const ssize_t size = pread(file_, bytes.data(), bytes.size(), offset_);
  if (size <= 0) return size < 0 && errno == EINTR;
  offset_ += size;
  take({bytes.data(), static_cast<size_t>(size)}, now_ns(), steps);
  return true;
}

/// Lines end by what a terminal begins a new one, or the same one again, for.
void StepLog::take(std::string_view bytes, int64_t now_ns, std::vector<run::TrainingStep>& steps) {
  while (!bytes.empty()) {
    const size_t end = bytes.find_first_of("\n\r");
    const std::string_view part = bytes.substr(0, end);
    // What a line is shows at its beginning, which may come in two parts.
    constexpr size_t kBeginning = 128;
    const std::string start = line_.substr(0, kBeginning) + std::string(part.substr(0, kBeginning));
    const size_t most = importer::is_otlp_start(start) ? kMostDocument : kMostLine;
    too_long_ = too_long_ || line_.size() + part.size() > most;
    if (!too_long_) line_ += part;
    if (end == std::string_view::npos) return;
    end_line(now_ns, steps);
    bytes.remove_prefix(end + 1);
  }
}

void StepLog::end_line(int64_t now_ns, std::vector<run::TrainingStep>& steps) {
  const std::string line = std::exchange(line_, {});
  if (std::exchange(too_long_, false)) return;
  if (importer::is_otlp_start(line)) return add_otlp(line, now_ns, steps);
  auto step = reader_.take(std::string_view(line));
  if (!step) return;
  step->end_ns = step_end(step->end_ns, now_ns);
  steps.push_back(*step);
}

/// Its times have a zone, and come as late as the collector gathers what it writes.
void StepLog::add_otlp(const std::string& line, int64_t now_ns,
                       std::vector<run::TrainingStep>& steps) {
  const size_t before = steps.size();
  otlp_.add(std::string_view(line), steps);
  for (size_t i = before; i < steps.size(); ++i)
    steps[i].end_ns = std::min(steps[i].end_ns, now_ns);
}

int64_t step_end(int64_t stamp_ns, int64_t now_ns) {
  constexpr int64_t kQuarter = 900 * kNsPerSecond, kMostOff = 60 * kNsPerSecond;
  constexpr int64_t kWidestZone = 60 * kQuarter;
  const int64_t off = now_ns - stamp_ns;
  if (stamp_ns <= 0 || off > kWidestZone || off < -kWidestZone) return now_ns;
  const int64_t quarters = (off + (off < 0 ? -kQuarter : kQuarter) / 2) / kQuarter;
  const int64_t end_ns = stamp_ns + quarters * kQuarter;
  return std::abs(now_ns - end_ns) > kMostOff ? now_ns : std::min(end_ns, now_ns);
}

}  // namespace ergometer::record
