#pragma once

#include <signal.h>

#include <ctime>

namespace ergometer::record {

/// While it lives, writing to a connection that the other side closed is an error of the call and
/// no signal, in this thread and in threads that it starts. The library for HTTP would have the
/// whole program, and the programs it starts, ignore the signal.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;
  ~NoBrokenPipeSignal() {
    // One that came is taken back before it could be delivered.
    const timespec at_once = {};
    if (::sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&signal_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_, before_;
};

}  // namespace ergometer::record
