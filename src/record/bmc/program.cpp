#include "record/bmc/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

extern char** environ;

namespace ergometer::record {
namespace {

using Clock = std::chrono::steady_clock;

/// A pipe, both ends closed on exec.
struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    read = ends[0];
    write = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(read);
    close(write);
  }
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

/// A process group of its own, so that what a script started is ended with it.
Result<pid_t> start(const std::vector<std::string>& arguments, const Pipe& out,
                    const Pipe& problems) {
  std::vector<char*> words;
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, problems.write, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t process = -1;
  const int failed = posix_spawnp(&process, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return missing_error("{}: {}", arguments[0], ::strerror(failed));
  return process;
}

/// Appends what is there; closes the end when there is nothing more.
void drain(int& from, std::string& to) {
  constexpr size_t kMost = 1 << 20;
  std::array<char, 4096> piece;
  const ssize_t bytes = ::read(from, piece.data(), piece.size());
  if (bytes < 0 && errno == EINTR) return;
  if (bytes <= 0) return Pipe::close(from);
  if (to.size() < kMost) to.append(piece.data(), static_cast<size_t>(bytes));
}

/// Whether both ends were closed in time.
bool read_both(Pipe& out, std::string& text, Pipe& problems, std::string& problem,
               Clock::time_point end) {
  while (out.read >= 0 || problems.read >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    std::array<pollfd, 2> ends = {{{out.read, POLLIN, 0}, {problems.read, POLLIN, 0}}};
    if (::poll(ends.data(), ends.size(), static_cast<int>(left.count())) <= 0) continue;
    if (ends[0].revents != 0) drain(out.read, text);
    if (ends[1].revents != 0) drain(problems.read, problem);
  }
  return true;
}

/// The status of a program that closed its output and may yet not have ended; nothing behind `end`.
std::optional<int> wait_until(pid_t process, Clock::time_point end) {
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    if (Clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

/// What it started is ended with it.
void end_now(pid_t process) {
  ::kill(-process, SIGKILL);
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {}
}

}  // namespace

Result<std::string> run_program(const std::vector<std::string>& arguments, double limit_s) {
  Pipe out, problems;
  if (out.read < 0 || problems.read < 0)
    return missing_error("{}: {}", arguments[0], ::strerror(errno));
  const auto end = Clock::now() + std::chrono::milliseconds(std::llround(limit_s * 1000));
  ERGOMETER_ASSIGN(const pid_t process, start(arguments, out, problems));
  Pipe::close(out.write);
  Pipe::close(problems.write);
  std::string text, problem;
  const bool closed = read_both(out, text, problems, problem, end);
  const auto status = closed ? wait_until(process, end) : std::nullopt;
  const std::string command = fmt::format("{}", fmt::join(arguments, " "));
  if (!status) {
    end_now(process);
    return missing_error("{}: no answer within {} s", command, limit_s);
  }
  if (*status == 0) return text;
  problem.resize(std::min(problem.size(), problem.find('\n')));
  if (problem.empty())
    problem = WIFEXITED(*status) ? fmt::format("ended with status {}", WEXITSTATUS(*status))
                                 : fmt::format("was ended by signal {}", WTERMSIG(*status));
  return missing_error("{}: {}", command, problem);
}

}  // namespace ergometer::record
