#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <optional>

#include "base/result.h"
#include "record/child.h"

namespace ergometer::record {

/// Takes over the signals that end a recording or are for its command, until it goes away. Made
/// before the first thread, for threads inherit it. What was ignored stays so (nohup).
class Signals {
 public:
  /// `forwarding`: there is a command, to which signals are passed on.
  explicit Signals(bool forwarding);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_; }
  /// What a command needs in order to begin as it would without us.
  Child::Options for_child() const;

 private:
  sigset_t former_{}, taken_{}, defaults_{};
  int descriptor_ = -1;
};

/// A process that is not our child.
class Process {
 public:
  static Result<Process> open(pid_t pid);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  /// Readable when it ends; -1 where the kernel has none (before Linux 5.3).
  int descriptor() const { return descriptor_; }
  bool ended() const;

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  int descriptor_ = -1;
};

/// What may end a recording; what is empty does not.
struct Until {
  Child* child = nullptr;
  const Process* process = nullptr;
  std::optional<double> seconds;
  std::function<bool()> finished;
};

/// Waits until the first of them happens or, without a command, a signal asks for the end. Passes
/// signals on to the command, but those of the terminal: it sends them to both. Calls `look` about
/// five times a second.
void wait_until(const Signals& signals, const Until& until, const std::function<void()>& look);

}  // namespace ergometer::record
