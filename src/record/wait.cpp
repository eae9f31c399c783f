#include "record/wait.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

namespace ergometer::record {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookMs = 200;
constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kForwarded = {SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP};

bool is_ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Passes on what has come; true when it asks for the end.
bool take_signals(const Signals& signals, Child* child) {
  bool end = false;
  signalfd_siginfo info{};
  while (read(signals.descriptor(), &info, sizeof info) == ssize_t{sizeof info}) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    const bool from_terminal = info.ssi_code > 0;
    if (child == nullptr) {
      end = true;
    } else if (!from_terminal) {
      child->send(signal);
    }
  }
  return end;
}

}  // namespace

Signals::Signals(bool forwarding) {
  sigemptyset(&taken_);
  sigemptyset(&defaults_);
  for (const int signal : kEnding)
    if (!is_ignored(signal)) sigaddset(&taken_, signal);
  if (forwarding) {
    // Whoever ignores it is not told how a command ended.
    if (is_ignored(SIGCHLD)) std::signal(SIGCHLD, SIG_DFL);
    sigaddset(&taken_, SIGCHLD);
    for (const int signal : kForwarded)
      if (!is_ignored(signal)) sigaddset(&taken_, signal);
  }
  sigprocmask(SIG_BLOCK, &taken_, &former_);
  descriptor_ = signalfd(-1, &taken_, SFD_CLOEXEC | SFD_NONBLOCK);
  // A file that may not grow is an error to report, not an end.
  if (!is_ignored(SIGXFSZ)) {
    sigaddset(&defaults_, SIGXFSZ);
    std::signal(SIGXFSZ, SIG_IGN);
  }
}

Signals::~Signals() {
  close(descriptor_);
  if (sigismember(&defaults_, SIGXFSZ) == 1) std::signal(SIGXFSZ, SIG_DFL);
  sigprocmask(SIG_SETMASK, &former_, nullptr);
}

Child::Options Signals::for_child() const {
  Child::Options options;
  options.mask = former_;
  options.defaults = defaults_;
  return options;
}

Result<Process> Process::open(pid_t pid) {
  Process process(pid);
  process.descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process.descriptor_ < 0 && process.ended())
    return input_error("--attach: there is no process {}", pid);
  return process;
}

Process::Process(Process&& other) noexcept : pid_(other.pid_), descriptor_(other.descriptor_) {
  other.descriptor_ = -1;
}

Process::~Process() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Process::ended() const {
  if (descriptor_ < 0) return kill(pid_, 0) != 0 && errno == ESRCH;
  pollfd ready{descriptor_, POLLIN, 0};
  return poll(&ready, 1, 0) > 0;
}

void wait_until(const Signals& signals, const Until& until, const std::function<void()>& look) {
  const auto end = until.seconds ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                      std::chrono::duration<double>(*until.seconds))
                                 : Clock::time_point::max();
  for (;;) {
    if (take_signals(signals, until.child)) return;
    if (until.child != nullptr) until.child->look();
    if (until.child != nullptr && until.child->ended()) return;
    if (until.process != nullptr && until.process->ended()) return;
    const auto now = Clock::now();
    if (now >= end || (until.finished && until.finished())) return;
    look();
    const int process = until.process != nullptr ? until.process->descriptor() : -1;
    std::array<pollfd, 2> ready = {pollfd{signals.descriptor(), POLLIN, 0},
                                   pollfd{process, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now).count();
    poll(ready.data(), ready.size(), static_cast<int>(std::min<int64_t>(left, kLookMs)));
  }
}

}  // namespace ergometer::record
