#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace ergometer::record {

/// Exit statuses of a shell for a command that cannot be started.
inline constexpr int kNotExecutable = 126, kNotFound = 127;

/// Why a command cannot be started, in a shell's words and status.
struct NoCommand {
  int status = kNotFound;
  std::string message;
};
/// Looks for the program as a shell does, in $PATH where its name has no slash.
std::optional<NoCommand> check_command(const std::string& program);

/// How a command ended: by itself, or by a signal.
struct ExitStatus {
  int code = 0, signal = 0;
};

/// The command that is recorded. It has our process group, so that the terminal stops, continues
/// and interrupts both at once, and our standard streams.
class Child {
 public:
  struct Options {
    sigset_t mask{};               ///< the signals it begins with blocked
    sigset_t defaults{};           ///< those it begins with as if nobody had ignored them
    bool output_to_error = false;  ///< its standard output goes where its standard error goes
  };
  /// The error's message is a shell's; `status` then is what a shell would end with.
  static Result<Child> start(const std::vector<std::string>& words, const Options& options,
                             int& status);

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  /// Looks, without waiting, at what became of it. A stop by the terminal stops us, too, so that
  /// the shell has its prompt back.
  void look();
  const std::optional<ExitStatus>& ended() const { return ended_; }

 private:
  explicit Child(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  std::optional<ExitStatus> ended_;
};

/// Ends this process as the command was ended: by the same signal, without a core of its own.
/// Returns the shell's status for it, 128 + signal, if that signal ends nobody.
int die_by(int signal);

}  // namespace ergometer::record
