#include <ergometer/ergometer.h>
#include <fmt/format.h>

#include <array>
#include <new>

#include "base/check.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/console/memory_stream.h"
#include "library/content.h"
#include "run/run.h"

// The public interface: each call is a command of src/cli, run in this process with its words and
// its output in memory.

namespace ergometer {
namespace {

static_assert(kSchemaVersion == run::kSchemaVersion);

constexpr int kNo = static_cast<int>(base::ErrorKind::kNo), kOurBug = 70;

/// Those that neither start programs nor talk to terminals, assistants and sensors.
constexpr std::array<std::string_view, 17> kOffered = {
    "simulate", "search", "sweep",   "compare",  "optimize", "replan", "plan",   "proxy",  "loop",
    "together", "swarm",  "analyze", "validate", "import",   "merge",  "report", "catalog"};

const cli::Command& offered(const std::string& name) {
  for (const std::string_view each : kOffered)
    if (each == name) return *cli::find_command(each);
  throw Error(
      fmt::format("'{}' is no command of the library{}", name, base::did_you_mean(name, kOffered)),
      kWrongInput);
}

std::vector<std::string> words_of(const Files& files, const Options& options) {
  // In front: an option that may have a value takes none of them for it.
  std::vector<std::string> words = files;
  for (const std::string& file : files)
    if (file.starts_with('-'))
      throw Error(fmt::format("'{}' is an option, no file", file), kWrongInput);
  for (const Option& option : options) words.push_back(option.word());
  return words;
}

Answer ask_unguarded(const cli::Command& command, const std::vector<std::string>& words) {
  const auto refuse = [](const base::Error& error) {
    return Error(error.message, static_cast<int>(error.kind));
  };
  const auto arguments = cli::parse_arguments(command, words);
  if (!arguments) throw refuse(arguments.error());
  if (arguments->has("help"))
    throw Error("help is what the program prints: ergometer help", kWrongInput);
  cli::MemoryStream out, err;
  const cli::Console console{out.get(), err.get(), arguments->has("quiet"), true};
  const auto status = command.run(*arguments, console);
  Answer answer{out.text(), base::split(err.text(), '\n'), status.value_or(kNo)};
  if (!answer.notes.empty()) answer.notes.pop_back();  // behind the last line's end
  if (status) return answer;
  // A "no" behind an answer belongs to it: a study of which nothing can run.
  if (status.error().kind != base::ErrorKind::kNo || answer.out.empty())
    throw refuse(status.error());
  answer.notes.push_back(status.error().message);
  return answer;
}

Options with(const Options& options, Option last) {
  Options all = options;
  all.push_back(std::move(last));
  return all;
}

}  // namespace

std::string_view version() noexcept { return base::version(); }

Error::Error(const std::string& message, int status)
    : std::runtime_error(message), status_(status) {}
Error::~Error() = default;
int Error::status() const noexcept { return status_; }

Option::Option(const std::string& name, const std::string& value)
    : word_(fmt::format("--{}={}", name, value)) {}
Option::Option(const std::string& name, const char* value) : Option(name, std::string(value)) {}
Option::Option(const std::string& name, bool on)
    : word_(fmt::format("--{}{}", on ? "" : "no-", name)) {}
Option::Option(const std::string& name, long long value)
    : word_(fmt::format("--{}={}", name, value)) {}
Option::Option(const std::string& name, double value)
    : word_(fmt::format("--{}={}", name, value)) {}
const std::string& Option::word() const noexcept { return word_; }

Answer ask(const cli::Command& command, const std::vector<std::string>& words) {
  const base::ThrowFailedChecks thrown;
  try {
    return ask_unguarded(command, words);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error("out of memory", static_cast<int>(base::ErrorKind::kMissing));
  } catch (const std::exception& error) {
    throw Error(fmt::format("internal error: {}", error.what()), kOurBug);
  }
}

Document command(const std::string& name, const Files& files, const Options& options) {
  auto content = std::make_shared<Document::Content>();
  content->command = &offered(name);
  content->words = words_of(files, options);
  std::vector<std::string> words = content->words;
  words.emplace_back("--json");
  content->answer = ask(*content->command, words);
  content->tree = parse_document(content->answer.out);
  return Document(std::move(content));
}

Document simulate(const Files& files, const Options& options) {
  return command("simulate", files, options);
}
Document explain(const std::string& number, const Files& files, const Options& options) {
  return command("simulate", files, with(options, {"explain", number}));
}
Document search(const Files& files, const Options& options) {
  return command("search", files, options);
}
Document sweep(const Files& study, const Options& options) {
  return command("sweep", study, options);
}
Document compare(const Files& jobs, const Options& options) {
  return command("compare", jobs, options);
}
Document optimize(const Files& files, const Options& options) {
  return command("optimize", files, options);
}
Document plan(const Files& files, const Options& options) {
  return command("plan", files, options);
}
Document proxy(const Files& files, const Options& options) {
  return command("proxy", files, options);
}
Document analyze(const Files& files, const Options& options) {
  return command("analyze", files, options);
}
Document merge(const Files& files, const Options& options) {
  return command("merge", files, options);
}
Document report(const Files& runs, const std::string& page, const Options& options) {
  return command("report", runs, with(options, {"out", page}));
}
Document catalog(const Files& words, const Options& options) {
  return command("catalog", words, options);
}

}  // namespace ergometer
