#include "cli/console/stop_at_signal.h"

#include <csignal>

namespace ergometer::cli {
namespace {

// A signal handler reaches nothing else.
std::atomic<bool> g_asked = false;
std::atomic<int> g_signal = SIGINT;
static_assert(std::atomic<bool>::is_always_lock_free);
void ask(int signal) {
  g_signal = signal;
  g_asked = true;
}

}  // namespace

StopAtSignal::StopAtSignal(bool hosted) : hosted_(hosted) {
  g_asked = false;
  if (hosted_) return;
  interrupt_ = std::signal(SIGINT, ask);
  // Where somebody has interrupts ignored (nohup, a shell's background), they stay so.
  if (interrupt_ == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  terminate_ = std::signal(SIGTERM, ask);
}

StopAtSignal::~StopAtSignal() {
  if (hosted_) return;
  std::signal(SIGINT, interrupt_);
  std::signal(SIGTERM, terminate_);
}

const std::atomic<bool>& StopAtSignal::asked() { return g_asked; }

int StopAtSignal::status() {
  constexpr int kBySignal = 128;
  return kBySignal + g_signal;
}

}  // namespace ergometer::cli
