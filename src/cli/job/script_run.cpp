#include "cli/job/script_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/entries.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/console/option_values.h"
#include "intake/launch_script.h"
#include "record/bmc/program.h"
#include "spec/catalog/read.h"

namespace ergometer::cli {
namespace {

/// Programs that start training, here or elsewhere: they report their words and end well.
constexpr std::array kReporting = std::to_array<std::string_view>(
    {"torchrun", "deepspeed", "accelerate", "srun", "sbatch", "salloc", "mpirun", "mpiexec",
     "horovodrun", "ssh", "pdsh", "docker", "podman", "singularity", "apptainer", "enroot",
     "llamafactory-cli", "axolotl"});
constexpr std::array kPythons = std::to_array<std::string_view>({"python", "python3"});
/// What a login shell has and this one may not, or what only takes time.
constexpr std::array kSilent = std::to_array<std::string_view>({"module", "ml", "conda", "sleep"});

constexpr std::string_view kReport = R"(#!/bin/sh
started="$ERGOMETER_STARTED/$(date +%s%N)-$$"
printf '%s\0' "${0##*/}" "$@" > "$started.words"
env -0 > "$started.env"
)";
/// Texts that Python evaluates for the script are evaluated; files and modules are not started.
constexpr std::string_view kPython = R"(#!/bin/sh
case " $*" in
  *.py*|*" -m "*) ;;
  *) PATH=${PATH#*:} exec "${0##*/}" "$@" ;;
esac
)";

/// A folder that goes when this ends.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ergometer-XXXXXX").string();
    if (const char* made = mkdtemp(pattern.data())) path_ = made;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

bool write_program(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path) << text;
  std::error_code error;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  return !error && std::filesystem::exists(path);
}

bool write_stand_ins(const std::filesystem::path& folder) {
  bool all = true;
  for (const std::string_view name : kReporting) all = write_program(folder / name, kReport) && all;
  const std::string python =
      std::string(kPython) + std::string(kReport.substr(kReport.find('\n') + 1));
  for (const std::string_view name : kPythons) all = write_program(folder / name, python) && all;
  for (const std::string_view name : kSilent)
    all = write_program(folder / name, "#!/bin/sh\n") && all;
  return all;
}

std::vector<std::string> texts_of(const std::filesystem::path& path) {
  const auto text = base::read_file(path.string(), spec::kLargestWritten);
  if (!text) return {};
  std::vector<std::string> texts = base::split(*text, '\0');
  texts.pop_back();
  return texts;
}

/// The programs in the order in which they were started.
std::vector<intake::StartedProgram> started_programs(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  base::for_each_entry(folder.string(), [&](const std::filesystem::path& path) {
    if (path.extension() == ".words") files.push_back(path);
  });
  std::ranges::sort(files);
  std::vector<intake::StartedProgram> programs;
  for (std::filesystem::path& file : files) {
    intake::StartedProgram program;
    program.words = texts_of(file);
    for (const std::string& text : texts_of(file.replace_extension(".env"))) {
      const size_t equals = text.find('=');
      if (equals != text.npos)
        program.environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
    if (!program.words.empty()) programs.push_back(std::move(program));
  }
  return programs;
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && !base::is_digit(text[0]) &&
         std::ranges::all_of(text, [](char c) { return base::is_letter_or_digit(c) || c == '_'; });
}

}  // namespace

void add_script_flags(std::vector<Flag>& flags) {
  const auto add = [&](const char* name, const char* value, const char* help) {
    flags.push_back(option(name, value, "job", help));
  };
  add("env", "NAME=VALUE", "a variable that the launch script finds set, as often as needed");
  flags.back().repeats = true;
  add("script-args", "TEXT", "the launch script's arguments: \"70b 8\"");
  add("script-adds", "TEXT",
      "words behind the arguments of the program that it starts: \"--vocab-size 50257\"");
  add("script-line", "N", "of several jobs the one that is started there");
}

void add_run_flag(std::vector<Flag>& flags) {
  flags.push_back(
      option("megatron-run", "", "job",
             "run the command behind -- with stand-ins for torchrun, python, srun, ..., which only "
             "report how they were started, and read the job from that"));
}

Result<intake::ScriptContext> script_context(const Arguments& arguments) {
  intake::ScriptContext context;
  std::string name;
  if (arguments.has("env"))
    for (const std::string& part : base::split(arguments.value("env"), ',')) {
      // The options are joined by commas, and values may hold some.
      const size_t equals = part.find('=');
      if (equals != part.npos && is_variable_name(part.substr(0, equals))) {
        name = part.substr(0, equals);
        context.environment[name] = part.substr(equals + 1);
      } else if (!name.empty()) {
        context.environment[name] += "," + part;
      } else {
        return input_error("--env: found '{}'; allowed: NAME=VALUE", part);
      }
    }
  if (arguments.has("script-args")) {
    const auto words = intake::shell_words_of(arguments.value("script-args"));
    if (!words) return input_error("--script-args: " + words.error().message);
    context.arguments = *words;
  }
  if (arguments.has("script-adds")) {
    const auto words = intake::shell_words_of(arguments.value("script-adds"));
    if (!words) return input_error("--script-adds: " + words.error().message);
    context.more = *words;
  }
  ERGOMETER_ASSIGN(const int64_t line,
                   whole_number(arguments, "script-line", context.line, 1, 1'000'000));
  context.line = static_cast<int>(line);
  return context;
}

Result<intake::Reading> read_megatron_run(const Arguments& arguments) {
  if (arguments.command.empty())
    return input_error(
        "--megatron-run: the command is missing; behind --: ... --megatron-run -- bash train.sh");
  const ScratchFolder programs, reports;
  if (programs.path().empty() || reports.path().empty() || !write_stand_ins(programs.path()))
    return input_error(
        "--megatron-run: no folder for the stand-ins can be made in the temporary folder (TMPDIR)");
  const char* path = std::getenv("PATH");
  std::vector<std::string> words = {
      "env", fmt::format("PATH={}:{}", programs.path().string(), path == nullptr ? "" : path),
      fmt::format("ERGOMETER_STARTED={}", reports.path().string())};
  words.insert(words.end(), arguments.command.begin(), arguments.command.end());
  constexpr double kLongestRun_s = 120;
  const auto output = record::run_program(words, kLongestRun_s);
  const std::string command = fmt::format("{}", fmt::join(arguments.command, " "));
  const std::vector<intake::StartedProgram> started = started_programs(reports.path());
  if (started.empty())
    return input_error("{}: started none of torchrun, python, srun, deepspeed, mpirun, ...{}",
                       command,
                       output ? "" : fmt::format("; it ended with: {}", output.error().message));
  auto context = script_context(arguments);
  if (!context) return tl::unexpected(context.error());
  auto reading = intake::read_started_programs(started, command, *context);
  if (reading && !output)
    reading->notes.push_back(
        fmt::format("{} did not end well: {}", command, output.error().message));
  return reading;
}

}  // namespace ergometer::cli
