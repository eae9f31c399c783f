#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "intake/programs/shell_utilities.h"
#include "intake/script/inner_shell.h"
#include "intake/script/shell_launch.h"
#include "intake/script/shell_run.h"
#include "intake/shell/shell_expand.h"

namespace ergometer::intake {

/// How a command left the list it stands in.
enum class Flow { kNext, kBreak, kContinue, kReturn, kExit };

/// Text that a command reads, and where what it prints goes.
struct Streams {
  std::string* input;
  std::string* output;
};

/// Calls of functions, files and texts within each other.
inline constexpr int kDeepestCall = 60;

/// What run_shell() follows a script with. Its parts: control flow (shell_run.cpp), what cannot be
/// told (shell_branches.cpp), simple commands with their assignments and redirections
/// (shell_command.cpp), the shell's own commands (shell_builtins.cpp), programs and inner shells
/// (shell_programs.cpp).
class ScriptRunner {
 public:
  explicit ScriptRunner(ShellRun& run)
      : run_(run),
        session_(run.session),
        state_(run.state),
        expander_(session_, state_,
                  [this](std::string_view script, int line) { return substitute(script, line); }) {}
  void run_text(const std::string& text, const std::string& file);
  void run_started(const std::vector<ShellText>& words);

 private:
  using Words = std::vector<ShellText>;
  bool stopped() const { return session_.failed(); }
  Flow run_file(const std::string& text, const std::string& file, Streams streams);
  /// A text inside a line: of eval, bash -c, $(...).
  Flow run_inner(const std::string& text, Streams streams);
  Flow run_parsed(const std::string& text, const std::string& file, int line, bool counts,
                  Streams streams);
  std::string substitute(std::string_view script, int line);
  /// A subshell: what it changes ends with it, except for files; so does its own trap of EXIT.
  template <class Body>
  void in_copy(Streams streams, const Body& body) {
    ShellState kept = copy_of_state();
    state_.exit_trap.clear();
    auto around = std::exchange(leaving_, {});
    body();
    leaving_ = std::move(around);
    run_exit_trap(streams);
    kept.files = std::move(state_.files);
    kept.status = state_.status;
    state_ = std::move(kept);
  }
  ShellState copy_of_state();
  /// What `trap TEXT EXIT` left, once.
  void run_exit_trap(Streams streams);
  void run_trap(const Words& words);
  void run_shopt(const Words& words);
  Words without_alias(const ShellNode& node, Words words);
  Words alias_words(const std::string& text, const Words& words) const;
  Flow run(const ShellNode& node, Streams streams);
  Flow run_compound(const ShellNode& node, Streams streams);
  Flow run_list(const ShellNode& node, Streams streams);
  Flow run_pipeline(const ShellNode& node, Streams streams);
  Flow run_and_or(const ShellNode& node, Streams streams);
  Flow run_if(const ShellNode& node, size_t at, Streams streams);
  /// Any of these may run, or none (null): what decides is the last status, which is not known.
  Flow either(int line, const std::vector<const ShellNode*>& nodes, Streams streams);
  /// Follows every branch from the same state. One that ends the script is taken not to happen:
  /// there is a job. One that leaves a loop or a function is kept for its end.
  Flow branches(int line, std::string_view because, const std::vector<std::function<Flow()>>& ways,
                Streams streams);
  /// A pass of a loop (kContinue), a loop (kBreak) or a function (kReturn), with the states in
  /// which it may have been left before its end.
  struct Leaving {
    Flow flow;
    std::vector<ShellState> states;
    std::string reason;
  };
  Leaving* leaving_of(Flow flow);
  /// Keeps the state of a way that leaves by `flow`; false where that cannot be followed.
  bool keep_leaving(Flow flow, const std::string& reason, Streams streams);
  /// Runs what can be left by `kind`; behind it the state is one of those of all its ends.
  Flow leave_perhaps(Flow kind, const std::function<Flow()>& body);
  Flow run_pass(const ShellNode& body, Streams streams);
  void go_on_from(const std::vector<ShellState>& ends, const std::string& reason,
                  const std::string& why);
  /// What one of several ways printed, which of them is not known.
  void print_one_of(std::vector<std::string> printed, const std::string& reason, Streams streams);
  Flow run_while(const ShellNode& node, Streams streams);
  /// Whether variables, arguments, functions, files and the folder are what they were.
  bool is_as(const ShellState& before) const;
  static Flow ends_loop(Flow flow);
  /// break and continue count loops; true: `flow` concerns who stands around the loop.
  bool leaves_loop(Flow& flow);
  Flow run_for(const ShellNode& node, Streams streams);
  Flow run_count(const ShellNode& node, Streams streams);
  Flow run_case(const ShellNode& node, Streams streams);
  void set_status(std::optional<bool> answer, const std::vector<RawWord>& words);
  void redirect(const std::vector<ShellRedirection>& list, std::string& input, bool& reads,
                std::string& target);
  void write(const std::string& target, const std::string& text);
  /// A file that the script wrote, or one beside it; else a mark.
  std::string text_of_file(const std::string& path);
  /// A path as it stands, from the current folder or the script's own; of one that begins with
  /// something unknown ("$ROOT/../env.sh") the rest, from the script's folder.
  std::optional<std::string> find_beside(const std::string& path) const;
  Flow run_simple(const ShellNode& node, Streams streams);
  static bool is_declaration(std::string_view word);
  void assign(const ShellAssignment& assignment, const Words& declaration);
  void assign_array(const ShellAssignment& assignment, bool is_map);
  /// `export NAME`, `declare -A NAME`; the assignments have been made.
  void declare(const Words& words, const std::vector<ShellAssignment>& assignments);
  void export_name(const std::string& name);
  /// `declare -n NAME=OTHER`: the value is the name that it stands for.
  void refer(const std::string& name);
  void keep_local(const std::string& name);
  Flow run_words(const Words& words, Streams streams);
  /// As `command WORDS`: a function of that name is another one.
  Flow run_beside_functions(const Words& words, Streams streams);
  Flow call(const ShellTree& body, const Words& words, Streams streams);
  static int64_t count_of(const Words& words, int64_t fallback);
  static Words behind(const Words& words, size_t at);
  /// Commands of the shell itself; nothing when it has none of that name.
  std::optional<Flow> run_builtin(const std::string& name, const Words& words, Streams streams);
  /// exit, return, break and continue.
  std::optional<Flow> run_leaving(const std::string& name, const Words& words);
  void change_folder(const std::string& target);
  std::string folder_text() const;  ///< as `pwd` prints it
  /// What a command answers.
  Flow print(std::string_view text, int status, Streams streams);
  /// A variable, a function, or one item: `unset 'ARGS[2]'`. Items behind it keep their place only
  /// for who counts them.
  void unset(const std::string& name);
  void run_set(const Words& words);
  static std::string reason_of(const Words& words);
  /// Commands that read text or run other words.
  std::optional<Flow> run_reader(const std::string& name, const Words& words, Streams streams);
  Flow run_source(const Words& words, Streams streams);
  /// A line of the input into variables.
  Flow run_read(const Words& words, Streams streams);
  Flow run_mapfile(const Words& words, Streams streams);
  Flow run_xargs(const Words& words, Streams streams);
  Flow run_cat(const Words& words, Streams streams);
  /// getopts "n:t:h" name: the next option of the arguments.
  Flow run_getopts(const Words& words);
  Flow run_program(const Words& words, Streams streams);
  /// `env NAME=VALUE COMMAND`; nothing where there is no command.
  std::optional<Flow> run_env(const Words& words, Streams streams);
  /// What a program prints that is followed; nothing: it is not.
  std::optional<UtilityResult> output_of(const Words& words, const std::string& input);
  void edit_in_place(const Words& words);
  std::string with_environment(const Words& words, const std::string& text);
  static bool prints_one_word(std::string_view program);
  std::string host_names();
  void record(const Words& words);
  void check_is_kept(const ShellCommand& command);
  bool is_installer(const std::string& text) const;
  Flow run_inner_shell(const Words& words, const InnerShell& inner, Streams streams);
  void keep_exported();
  void hide_variables(const std::string& program, const Words& words);
  std::string text_of_inner(const InnerShell& inner);
  std::optional<std::string> script_of(const std::string& path);
  ShellRun& run_;
  ShellSession& session_;
  ShellState& state_;
  ShellExpander expander_;
  std::vector<std::map<std::string, std::optional<ShellVariable>>> locals_;
  std::vector<Words> contexts_;
  std::vector<std::string> conditions_;
  std::vector<Leaving> leaving_;          ///< what is being run and can be left, the innermost last
  const std::string* printed_ = nullptr;  ///< the script's own output, which nobody reads
  std::string reason_;                    ///< why the last status is not known
  size_t option_letter_ = 1;              ///< of getopts, in a word of several
  int64_t levels_ = 0;                    ///< loops that the last break or continue leaves
  bool flow_was_break_ = false;
  int64_t substitutions_ = 0;  ///< $(...) that were run
  int calls_ = 0;
  int remote_ = 0;  ///< shells on other hosts that the current one is within
  int aside_ = ShellCommand::kOfNone, batch_ = ShellCommand::kOfNone;  ///< as of ShellCommand
  int asides_ = 0, batches_ = 0, waits_ = 0;                           ///< so many there were
  int64_t copied_ = 0;
  int64_t environments_ = 0;  ///< characters kept of the environments of programs
};

}  // namespace ergometer::intake
