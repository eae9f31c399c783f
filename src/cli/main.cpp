#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "base/nearest.h"
#include "base/version.h"
#include "cli/console/command.h"
#include "cli/console/crew.h"
#include "cli/help.h"

namespace {

namespace base = ergometer::base;
namespace cli = ergometer::cli;

constexpr int kOurBug = 70;

/// What other tools call what these commands do.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kOtherCommands = {
    {{"predict", "simulate"},
     {"estimate", "simulate"},
     {"explain", "simulate MODEL --explain"},
     {"tune", "search"},
     {"plan", "search"},
     {"profile", "record"},
     {"monitor", "record"},
     {"plot", "report"},
     {"run", "launch"}}};

base::Result<int> unknown_command(const std::string& word) {
  std::vector<std::string_view> names = {"help"};
  for (const cli::Command& command : cli::commands()) names.push_back(command.name);
  const char* what = word.starts_with("-") ? "option" : "command";
  auto guess = base::nearest(word, names);
  for (const auto& [other, name] : kOtherCommands)
    if (other == word) guess = name;
  return base::input_error("unknown {} '{}'{} (all commands: ergometer --help)", what, word,
                           base::did_you_mean(guess));
}

base::Result<int> run_command(const cli::Command& command, const std::vector<std::string>& words) {
  const auto parsed = cli::parse_arguments(command, words);
  if (!parsed && command.spreads && cli::is_spoken_for(words))
    return static_cast<int>(parsed.error().kind);
  ERGOMETER_ASSIGN(const cli::Arguments arguments, parsed);
  cli::Console console;
  console.quiet = arguments.has("quiet");
  if (arguments.has("help")) {
    console.answer(cli::command_help(command, arguments.value("help") == "all"));
    return 0;
  }
  return command.run(arguments, console);
}

base::Result<int> help(const std::vector<std::string>& words) {
  if (words.empty()) {
    cli::Console().answer(cli::program_help());
    return 0;
  }
  const cli::Command* command = cli::find_command(words.front());
  if (command == nullptr) return unknown_command(words.front());
  cli::Console().answer(cli::command_help(*command, true));
  return 0;
}

base::Result<int> run(std::vector<std::string> words) {
  if (words.empty()) {
    cli::say(stderr, cli::program_help());
    return static_cast<int>(base::ErrorKind::kInput);
  }
  const std::string name = words.front();
  words.erase(words.begin());
  if (name == "help" || name == "--help" || name == "-h") return help(words);
  if (name == "--version" || name == "-V") {
    cli::Console().answer(
        fmt::format("ergometer {} ({})\n", base::version(), base::build_description()));
    return 0;
  }
  const cli::Command* command = cli::find_command(name);
  return command != nullptr ? run_command(*command, words) : unknown_command(name);
}

/// An answer that did not reach its reader is not given: a full disk behind `> file` must not look
/// like success.
int finish(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  cli::say(stderr, "ergometer: standard output cannot be written\n");
  return static_cast<int>(base::ErrorKind::kMissing);
}

/// Where a standard stream is closed, the first file that is opened would take its number, and get
/// what is meant for the stream.
void fill_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) == -1 && ::open("/dev/null", O_RDONLY) != stream) std::abort();
}

/// By itself glibc gives every 128 KiB that are free at the heap's end back at once and asks for
/// them again, page by page; so it does for every block of more than 32 MiB, as a million GPUs have
/// them, of which a job asks for one after the other: a third of such a job's time.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMiB = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 256 * kMiB);
  mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
  mallopt(M_TOP_PAD, 2 * kMiB);
#endif
}

/// `message` is said without asking for memory.
int out_of_memory(std::string_view message) {
  cli::say(stderr, message);
  return static_cast<int>(base::ErrorKind::kMissing);
}

std::terminate_handler abort_loudly = nullptr;

std::atomic<bool> memory_failed = false;

void on_failed_allocation() {
  memory_failed = true;
  throw std::bad_alloc();
}

/// Libraries have functions that ask for memory and that no exception may leave (the destructor of
/// nlohmann::json, copies of tl::expected): where there is none, that is no bug of ours either.
/// Files that were being written stay under their temporary names.
[[noreturn]] void terminate() {
  if (memory_failed && (std::current_exception() != nullptr || std::uncaught_exceptions() > 0))
    ::_exit(out_of_memory("ergometer: out of memory; unfinished files (*.partial-*) are left\n"));
  abort_loudly();
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  keep_freed_memory();
  std::set_new_handler(on_failed_allocation);
  abort_loudly = std::set_terminate(terminate);
  try {
    const base::Result<int> result =
        run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    if (result) return finish(*result);
    cli::say(stderr, fmt::format("ergometer: {}\n", result.error().message));
    return static_cast<int>(result.error().kind);
  } catch (const std::bad_alloc&) {
    return out_of_memory("ergometer: out of memory\n");
  } catch (const std::system_error& error) {
    cli::say(stderr, fmt::format("ergometer: this machine refuses: {}\n", error.what()));
    return static_cast<int>(base::ErrorKind::kMissing);
  } catch (const std::exception& error) {
    cli::say(stderr, fmt::format("ergometer: internal error: {}\n", error.what()));
    return kOurBug;
  }
}
