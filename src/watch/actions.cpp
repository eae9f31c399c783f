#include "watch/actions.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "record/push/broken_pipe.h"
#include "record/push/push_client.h"
#include "record/push/token_file.h"

extern char** environ;

namespace ergometer::watch {
namespace {

using SteadyClock = std::chrono::steady_clock;

Result<void> post(const Action& action, const std::string& json, int most_s) {
  record::PushTarget target;
  target.most_s = most_s;
  target.url = action.target;
  target.named = "webhook";
  target.type = "application/json";
  target.whole_url = true;
  if (!action.url_file.empty()) {
    ERGOMETER_ASSIGN(target.url, record::read_token(action.url_file));
  }
  if (!action.token_file.empty()) {
    ERGOMETER_ASSIGN(target.token, record::read_token(action.token_file));
  }
  constexpr int kOk = 200, kElsewhere = 300;
  const std::string whose = action.url_file.empty() ? action.target : action.url_file;
  const auto client = record::push_client(target);
  if (!client) return input_error("webhook {}: is no address", whose);
  const auto answer = (*client)->post(json);
  if (!answer) return missing_error("webhook {}: no answer", whose);
  if (answer->status >= kOk && answer->status < kElsewhere) return {};
  return missing_error("webhook {}: status {}", whose, answer->status);
}

Result<void> add_line(const std::string& path, const std::string& json) {
  constexpr int kMode = 0600;
  const int file = ::open(path.c_str(),
                          O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, kMode);
  const bool written =
      file >= 0 && ::write(file, json.data(), json.size()) == static_cast<ssize_t>(json.size());
  const int problem = errno;
  if (file >= 0) ::close(file);
  if (written) return {};
  return missing_error("{}: {}", path, std::strerror(problem));
}

/// A pipe whose ends no other child gets.
struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) ends = {-1, -1};
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) ::close(end);
  }
  std::array<int, 2> ends{};
};

/// The child in a process group of its own, with what we ignore as it usually is; its error's
/// number, or 0.
int spawn(const std::vector<std::string>& words, int input, pid_t& child) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t none, usual;
  sigemptyset(&none);
  sigfillset(&usual);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &usual);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setflags(&how,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int problem = ::posix_spawnp(&child, arguments[0], &files, &how, arguments.data(), environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return problem;
}

/// Its status, or nothing: it was ended, with all that it started, for its time was over.
std::optional<int> wait_for(pid_t child, int most_s) {
  constexpr std::chrono::milliseconds kLook{10};
  const auto end = SteadyClock::now() + std::chrono::seconds(most_s);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (SteadyClock::now() >= end) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(kLook);
  }
  return status;
}

Result<void> run_command(const Action& action, const std::string& json, int most_s) {
  const std::string& name = action.command.front();
  pid_t child = 0;
  {
    const record::NoBrokenPipeSignal no_signal;
    Pipe pipe;
    // Shorter than what a pipe holds: it is written before anybody reads.
    if (pipe.ends[1] < 0 || ::write(pipe.ends[1], json.data(), json.size()) < 0)
      return missing_error("{}: {}", name, std::strerror(errno));
    ::fcntl(pipe.ends[0], F_SETFL, 0);
    if (const int problem = spawn(action.command, pipe.ends[0], child); problem != 0)
      return missing_error("{}: {}", name, std::strerror(problem));
  }
  const auto status = wait_for(child, most_s);
  if (!status) return missing_error("{}: was ended after {} s", name, most_s);
  if (*status == 0) return {};
  return missing_error("{}: ended with status {}", name,
                       WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status));
}

}  // namespace

Result<void> perform(const Action& action, const std::string& json, int most_s) {
  switch (action.kind) {
    case Action::Kind::kWebhook: return post(action, json, most_s);
    case Action::Kind::kCommand: return run_command(action, json, most_s);
    case Action::Kind::kFile: return add_line(action.target, json);
    default: return {};
  }
}

Result<void> check_secrets(const std::vector<Rule>& rules) {
  for (const Rule& rule : rules)
    for (const std::string* file : {&rule.action.url_file, &rule.action.token_file}) {
      if (file->empty()) continue;
      ERGOMETER_TRY(record::read_token(*file));
    }
  return {};
}

struct Actions::State {
  Say say;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<Action, std::string>> waiting;
  bool ending = false, dropped = false;
  std::thread thread;

  void work();
  bool work_once();
};

/// False: it is over.
bool Actions::State::work_once() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return ending || !waiting.empty(); });
  if (ending) return false;
  const auto [action, json] = std::move(waiting.front());
  waiting.pop_front();
  const bool lost = std::exchange(dropped, false);
  lock.unlock();
  if (lost) say("alerts: actions take too long; some were left out");
  if (const auto done = perform(action, json); !done) say("alert: " + done.error().message);
  return true;
}

void Actions::State::work() {
  for (bool goes_on = true; goes_on;) {
    try {
      goes_on = work_once();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
}

Actions::Actions(Say say) : state_(std::make_unique<State>()) {
  state_->say = std::move(say);
  state_->thread = std::thread([state = state_.get()] { state->work(); });
}

Actions::~Actions() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

void Actions::put(const Action& action, std::string json) {
  if (action.kind == Action::Kind::kNone) return;
  const std::lock_guard lock(state_->mutex);
  state_->waiting.emplace_back(action, std::move(json));
  if (state_->waiting.size() > kMostWaiting) {
    state_->waiting.pop_front();
    state_->dropped = true;
  }
  state_->changed.notify_all();
}

}  // namespace ergometer::watch
