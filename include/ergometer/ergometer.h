// Ergometer in a program: what an LLM training job costs before it runs, and what recorded jobs did.
//
//   const ergometer::Document job =
//       ergometer::simulate({"llama3-70b"}, {{"cluster", "hgx-h100"}, {"gpus", 64}, {"tp", 8}});
//   double seconds = job.number("performance.step_time_s");
//
// A function is a command of the program `ergometer`, an Option one of its options (`ergometer simulate --help all`), the
// answer its --json document. Names and units of numbers are those of docs/json.md: a unit is the end of a name (_s seconds,
// _w watts, _j joules, _c degrees Celsius, _bytes, _pct percent), shares run from 0 to 1, lists count from 0.
//
// What cannot be answered is thrown as an Error. Calls print nothing, handle no signals, start no programs but those that
// the option megatron-run asks for, and may come from several threads at once. They take milliseconds (simulate) to minutes
// (search, sweep), on as many threads as the option threads says. They read and write only the files that they are given.
//
// What is declared here stays as it is, in source and in binaries, while the library's name, libergometer.so.0, does.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#define ERGOMETER_API __attribute__((visibility("default")))

namespace ergometer {

/// The version of the names in documents, which is also their `schema_version`. It rises when a name changes its meaning; new
/// names may come without.
constexpr int kSchemaVersion = 1;

/// The version of the library, "0.1.0".
ERGOMETER_API std::string_view version() noexcept;

/// The program's message, as what().
class ERGOMETER_API Error : public std::runtime_error {
 public:
  Error(const std::string& message, int status);
  ~Error() override;
  /// The program's exit status: 2 wrong input, 3 this machine lacks something (a file's permission, space), 70 a bug of ours.
  int status() const noexcept;

 private:
  int status_;
};

/// One option: its long or short name, with dashes or underscores, and a text, a number, or true (--NAME) or false (--no-NAME).
/// Of several values one text, with commas: {"with", "tp=8,pp=2"}.
class ERGOMETER_API Option {
 public:
  Option(const std::string& name, const std::string& value);
  Option(const std::string& name, const char* value);
  Option(const std::string& name, bool on);
  Option(const std::string& name, long long value);
  Option(const std::string& name, double value);
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  Option(const std::string& name, Number value)
      : Option(name, static_cast<std::conditional_t<std::is_integral_v<Number>, long long, double>>(value)) {}
  /// As on the command line: "--tp=8".
  const std::string& word() const noexcept;

 private:
  std::string word_;
};

using Options = std::vector<Option>;
/// Words that are no options: a model's name, and paths.
using Files = std::vector<std::string>;

/// A command's answer. Copies share it; any number of threads may read it.
class ERGOMETER_API Document {
 public:
  /// A value by its name in docs/json.md: "performance.mfu", "memory.stages[0].activations_bytes". An Error where there is
  /// none, where it is null (not known), and where it is of another kind.
  double number(std::string_view name) const;
  bool truth(std::string_view name) const;
  std::string text(std::string_view name) const;
  /// Entries of a list or an object.
  std::size_t size(std::string_view name) const;
  /// Whether there is such a value, and it is not null.
  bool has(std::string_view name) const;

  /// The whole document, or a part of it, as JSON.
  std::string json(std::string_view name = {}) const;
  /// What the command prints for people, UTF-8. The command runs again.
  std::string summary() const;
  /// What the command noted beside its answer, line by line.
  const std::vector<std::string>& notes() const noexcept;
  /// Whether that is the answer: a job that does not fit in memory, say.
  bool answer_is_no() const noexcept;

 private:
  struct Content;
  explicit Document(std::shared_ptr<const Content> content);
  friend ERGOMETER_API Document command(const std::string& name, const Files& files, const Options& options);
  std::shared_ptr<const Content> content_;
};

/// One job: step time, memory, links, power, heat. `files`: a model's name, or files that say the job.
ERGOMETER_API Document simulate(const Files& files, const Options& options = {});
/// The same, and under `explain` where one number comes from: "mfu", "memory.peak_bytes", "op:qkv".
ERGOMETER_API Document explain(const std::string& number, const Files& files, const Options& options = {});
/// The best of all layouts of a job, in `best`.
ERGOMETER_API Document search(const Files& files, const Options& options = {});
/// Every job of a study, in `rows`: a name of the catalog, a study file, or a table of jobs.
ERGOMETER_API Document sweep(const Files& study, const Options& options = {});
/// Why one job is faster than another, in `causes`; the option with makes the second out of the first.
ERGOMETER_API Document compare(const Files& jobs, const Options& options = {});
/// The same job placed, divided, capped and clocked better.
ERGOMETER_API Document optimize(const Files& files, const Options& options = {});
/// A whole training run, in `campaign`: days, energy, cost, failures; the option tokens says how long it is.
ERGOMETER_API Document plan(const Files& files, const Options& options = {});
/// A small job that keeps what limits a large one, in `rows`; the option gpus says on how many GPUs.
ERGOMETER_API Document proxy(const Files& files, const Options& options = {});
/// Where the time and power of recorded jobs go: traces, telemetry, Run files.
ERGOMETER_API Document analyze(const Files& files, const Options& options = {});
/// What several nodes recorded of one job, or shards of a study or search, joined in the file that the option out names.
ERGOMETER_API Document merge(const Files& files, const Options& options = {});
/// Run files (the option run of `simulate`) shown in one HTML page, which is written to `page`.
ERGOMETER_API Document report(const Files& runs, const std::string& page, const Options& options = {});
/// The built-in models, GPUs, nodes, clusters and software: {"list", "models"}, {"show", "llama3-70b"}.
ERGOMETER_API Document catalog(const Files& words, const Options& options = {});

/// Any of these commands by its name, and `validate` and `import`.
ERGOMETER_API Document command(const std::string& name, const Files& files, const Options& options = {});

}  // namespace ergometer
