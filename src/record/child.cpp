#include "record/child.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace ergometer::record {
namespace {

NoCommand no_command(const std::string& program, int error) {
  if (error == ENOENT) {
    const bool path = program.find('/') != std::string::npos;
    return {kNotFound, fmt::format("{}: {}", program,
                                   path ? "there is no such file" : "there is no such command")};
  }
  return {kNotExecutable, fmt::format("{}: cannot be executed: {}", program, strerror(error))};
}

/// 0 when the file can be executed, else errno.
int check_file(const std::string& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) return errno == ENOTDIR ? ENOENT : errno;
  if (S_ISDIR(found.st_mode)) return EISDIR;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

std::vector<std::string> search_path() {
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/bin:/usr/bin";
  std::vector<std::string> folders;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    folders.push_back(end > at ? path.substr(at, end - at) : ".");
    at = end + 1;
  }
  return folders;
}

}  // namespace

std::optional<NoCommand> check_command(const std::string& program) {
  int error = ENOENT;
  if (program.find('/') != std::string::npos) {
    error = check_file(program);
    return error == 0 ? std::nullopt : std::optional(no_command(program, error));
  }
  if (!program.empty()) {
    for (const std::string& folder : search_path()) {
      const int found = check_file(folder + "/" + program);
      if (found == 0) return std::nullopt;
      if (found == EACCES) error = EACCES;
    }
  }
  return no_command(program, error);
}

Result<Child> Child::start(const std::vector<std::string>& words, const Options& options,
                           int& status) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &options.mask);
  posix_spawnattr_setsigdefault(&attributes, &options.defaults);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.output_to_error)
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, arguments.front(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return Child(pid);
  NoCommand why = no_command(words.front(), error);
  status = why.status;
  return input_error(std::move(why.message));
}

void Child::send(int signal) const {
  if (!ended_) kill(pid_, signal);
}

void Child::look() {
  siginfo_t info{};
  while (!ended_ &&
         waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOHANG) == 0 &&
         info.si_pid == pid_) {
    if (info.si_code == CLD_EXITED) ended_ = ExitStatus{info.si_status, 0};
    if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
      ended_ = ExitStatus{0, info.si_status};
    const bool by_terminal =
        info.si_status == SIGTSTP || info.si_status == SIGTTIN || info.si_status == SIGTTOU;
    if (info.si_code == CLD_STOPPED && by_terminal) raise(SIGSTOP);
    info = {};
  }
}

int die_by(int signal) {
  prctl(PR_SET_DUMPABLE, 0);
  std::signal(signal, SIG_DFL);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  sigprocmask(SIG_UNBLOCK, &mask, nullptr);
  raise(signal);
  constexpr int kBySignal = 128;
  return kBySignal + signal;
}

}  // namespace ergometer::record
