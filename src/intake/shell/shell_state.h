#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "intake/shell/shell_syntax.h"

namespace ergometer::intake {

/// A text and the line of the script it was written in.
struct ShellText {
  std::string text;
  int line = 0;
};

/// Stands in a list where `unset 'LIST[2]'` took an item away, or none was ever put.
inline constexpr std::string_view kUnsetItem = "\x03";

struct ShellVariable {
  enum class Kind { kText, kList, kMap };
  Kind kind = Kind::kText;
  std::vector<ShellText> items;              ///< kText: one
  std::map<std::string, ShellText> entries;  ///< kMap
  bool exported = false;
  bool integer = false;     ///< of `declare -i`: what is assigned is an expression
  std::string refers_to{};  ///< of `declare -n`: the variable that is meant
};

/// What cannot be known without running the script for real (a date, a node's name, what depends on
/// them) stands in texts as a mark that nothing else can hold; the mark leads to the reason.
class ShellUnknowns {
 public:
  struct Entry {
    std::string reason;                ///< "$(hostname), line 12"
    std::vector<std::string> choices;  ///< what it may be, where two branches end differently
    bool any_words = false;            ///< it may be several words, or none
    bool many_lines = false;           ///< it may be several lines
  };
  std::string mark(std::string reason, std::vector<std::string> choices = {});
  /// Stands for any number of words: what a program prints, what a missing file would set.
  std::string mark_words(std::string reason);
  /// One word as a value; printed, it may be several lines: the output of nvidia-smi.
  std::string mark_lines(std::string reason);
  static bool in(std::string_view text) { return text.find('\x01') != text.npos; }
  /// The first mark in a text that has one, itself a text.
  static std::string first(std::string_view text);
  /// What the first mark of a text stands for.
  const Entry& entry(std::string_view text) const;
  /// A mark may stand for anything but nothing, unless branches made it.
  /// "$(hostname) at run.sh:3, which is not known here"
  std::string reason(std::string_view text) const;
  /// Whether a word may be several: then what stands behind it in a list is not known either.
  bool may_be_several(std::string_view text) const {
    return in(text) && (entry(text).any_words || entry(text).many_lines);
  }
  bool may_be_empty(std::string_view text) const {
    return text.starts_with('\x01') && text.ends_with('\x02') && !entry(text).choices.empty();
  }

 private:
  std::vector<Entry> entries_;
};

/// Everything a command of the script can change. Copied where a branch cannot be told.
struct ShellState {
  std::map<std::string, ShellVariable, std::less<>> variables;
  std::map<std::string, ShellTree, std::less<>> functions;
  std::map<std::string, std::string, std::less<>> files;  ///< written by the script, path to text
  std::vector<ShellText> arguments;                       ///< $1, $2, ...
  std::string folder;  ///< the current one, empty where the program was started
  std::string here;    ///< the mark of $PWD where the program was started; empty: not asked for
  int status = 0;      ///< of the last command; kUnknownStatus
  bool exports_all = false;
  bool no_globs = false;         ///< set -f
  bool null_globs = false;       ///< shopt -s nullglob: a pattern that no file matches is no word
  bool any_case = false;         ///< shopt -s nocasematch
  bool last_pipes = false;       ///< shopt -s lastpipe: the last part of a pipeline is this shell
  bool stops_at_error = false;   ///< set -e
  bool expands_aliases = false;  ///< shopt -s expand_aliases, or sh: bash's scripts do not else
  std::map<std::string, std::string, std::less<>> aliases;  ///< name to what it stands for
  std::string exit_trap;                                    ///< what runs at the end of this shell
  /// The first file that `source` did not find: what it sets is not known from there on.
  std::string missing_source;
};
inline constexpr int kUnknownStatus = -1;

/// A file that the script wrote, by any spelling of its path ("./run.sh"); null: none.
const std::string* written_file(const ShellState& state, const std::string& path);

/// The variable that is meant by a name, which another one may stand for (`declare -n`).
std::string meant_variable(const ShellState& state, std::string_view name);

void export_variable(const std::string& name, const std::string& value, ShellState& state);

/// What a batch script asks Slurm for (#SBATCH, sbatch's options); 0: nothing.
struct BatchRequest {
  int64_t nodes = 0, tasks = 0, tasks_per_node = 0, gpus_per_node = 0, gpus = 0;
};

/// One run of a script, shared by everything that follows it.
struct ShellSession {
  std::vector<std::string> files;  ///< scripts read so far; `line / kLinesOfFile` is an index
  std::string name;                ///< $0
  ShellUnknowns unknowns;
  std::set<std::string, std::less<>> unset;  ///< variables that were read and nobody set
  std::set<std::string, std::less<>> given;  ///< variables of --env: stronger than Slurm's
  /// Those of --env that the script sets to something else: "4 at env.sh:1".
  std::map<std::string, std::string> overridden;
  std::set<std::string> installers;  ///< downloads that were run and taken to install something
  std::map<std::string, std::string, std::less<>> of_run;  ///< marks of what stays in a run: $$
  bool is_batch = false;  ///< has #SBATCH lines: the SLURM_ variables are there
  BatchRequest batch;
  std::string misspelt;  ///< what is wrong with an option of its #SBATCH lines; empty: nothing
  int line = 0;          ///< of the command being run
  int exit_line = 0;     ///< where the script ended by `exit`; 0: at its end
  int64_t steps = 0;
  std::string failure;   ///< the first reason why the script cannot be followed, with file and line
  int64_t expanded = 0;  ///< characters made by expansions

  bool failed() const { return !failure.empty(); }
  void fail(std::string_view what);  ///< names file and `line`
  /// "train.sh:12"
  std::string where(int at) const;
};

/// bash's test of a text against a pattern (`*`, `?`, `[a-z]`, `@(a|b)`, a backslash hides);
/// nothing when a mark decides.
std::optional<bool> matches_pattern(std::string_view text, std::string_view pattern,
                                    bool any_case = false);

}  // namespace ergometer::intake
