#include "cli/console/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/console/terminal.h"

namespace ergometer::cli {
namespace {

constexpr size_t kBarWidth = 30;

}  // namespace

Progress::Progress(const Console& console, std::string what, size_t total)
    : what_(std::move(what)), total_(total) {
  if (console.quiet || total == 0 || !is_terminal(console.err)) return;
  stream_ = console.err;
  draw();
}

Progress::~Progress() {
  if (stream_ == nullptr) return;
  say(stream_, fmt::format("\r{:{}}\r", "", drawn_width_));
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

void Progress::draw() {
  const size_t full = kBarWidth * done_ / total_;
  std::string line = fmt::format("{} [{:#<{}}{:.<{}}] {} / {}", what_, "", full, "",
                                 kBarWidth - full, done_, total_);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (done_ > 0 && seconds > 0) {
    const double rate = static_cast<double>(done_) / seconds;
    line += fmt::format(", {:.3g}/s, {} left", rate,
                        base::format_seconds(static_cast<double>(total_ - done_) / rate));
  }
  // What a longer line left behind is wiped.
  say(stream_, fmt::format("\r{:<{}}", line, std::max(drawn_width_, line.size())));
  drawn_width_ = std::max(drawn_width_, line.size());
  std::fflush(stream_);
}

}  // namespace ergometer::cli
