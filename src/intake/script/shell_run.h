#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "intake/shell/shell_state.h"

namespace ergometer::intake {

/// A program that a script starts, with its words as it would get them.
struct ShellCommand {
  static constexpr int kOfNone = 0;  ///< `aside` and `batch` of the script itself
  static constexpr int kBesideAll =
      -1;  ///< `aside`: whether it ends before the next begins is not known

  /// Launchers around an inner shell (`srun -N 2 bash -c ...`) stand in front.
  std::vector<ShellText> words;
  size_t around = 0;  ///< words of these launchers
  int line = 0;
  /// Its environment, as far as it is known.
  std::map<std::string, std::string, std::less<>> environment;
  bool is_remote = false;  ///< ssh or pdsh starts it on other hosts
  /// The list behind `&` that it is of, by number: what follows that list runs beside it.
  int aside = 0;
  int waits = 0;  ///< so often had `wait` let lists behind `&` end before
  int batch = 0;  ///< the script that is queued (sbatch, qsub, bsub) it is of, by number
  std::string
      depends_on;  ///< not empty: what decides whether it is started, which is not known here
};

struct ShellRun {
  static constexpr size_t kMostCommands = 2'000;
  std::vector<ShellCommand> commands;  ///< no more than these
  ShellState state;                    ///< at the end
  ShellSession session;
};

/// Follows a script as bash would, without starting anything: assignments, arrays, arithmetic,
/// tests, `case`, loops, functions, here-documents, `eval`, `source` of files that are there, `bash
/// -c`. Variables that nobody sets are empty, as they are for bash, and are noted. What cannot be
/// known (a date, the output of a program, a file on the cluster) is a mark in the text it reaches;
/// where it decides about a branch, all branches are followed, and what differs behind them is a
/// mark. Refused, naming the line: what bash refuses, and loops or nesting without end.
Result<ShellRun> run_shell(const std::string& script, const std::string& file,
                           const ScriptContext& context);

/// Follows one program further: the inner shell that it starts, or itself. Appends to `run`, whose
/// variables are the program's environment. `lines` as of StartedProgram.
void run_shell_program(const std::vector<std::string>& words, const std::vector<int>& lines,
                       ShellRun& run);

}  // namespace ergometer::intake
