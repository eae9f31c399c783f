#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "cli/terminal.h"

namespace ergometer::cli {
namespace {

constexpr size_t kWidth = 30;

}  // namespace

Progress::Progress(const Console& console, std::string what, size_t total)
    : stream_(!console.quiet && total > 0 && is_terminal(console.err) ? console.err : nullptr),
      what_(std::move(what)),
      total_(total) {
  if (stream_ != nullptr) draw();
}

Progress::~Progress() {
  if (stream_ == nullptr) return;
  fmt::print(stream_, "\r{:{}}\r", "",
             what_.size() + kWidth + 2 * fmt::formatted_size("{}", total_) + 7);
  std::fflush(stream_);
}

void Progress::advance() {
  if (stream_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  ++done_;
  const size_t percent = 100 * done_ / total_;
  if (percent == drawn_percent_) return;
  drawn_percent_ = percent;
  draw();
}

void Progress::draw() const {
  const size_t full = kWidth * done_ / total_;
  fmt::print(stream_, "\r{} [{:#<{}}{:.<{}}] {} / {}", what_, "", full, "", kWidth - full, done_,
             total_);
  std::fflush(stream_);
}

}  // namespace ergometer::cli
