#include "intake/shell_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "intake/shell_expand.h"
#include "intake/shell_launch.h"
#include "intake/shell_merge.h"
#include "intake/shell_test.h"
#include "intake/shell_utilities.h"
#include "spec/read.h"

namespace ergometer::intake {
namespace {

using NodeKind = ShellNode::Kind;
using Words = std::vector<ShellText>;

constexpr int64_t kMostSteps = 200'000;
constexpr int kDeepestCall = 60;
constexpr size_t kMostCommands = 2'000;

/// How a command left the list it stands in.
enum class Flow { kNext, kBreak, kContinue, kReturn, kExit };

/// Text that a command reads, and where what it prints goes.
struct Streams {
  std::string* input;
  std::string* output;
};

class ScriptRunner {
 public:
  explicit ScriptRunner(ShellRun& run)
      : run_(run),
        session_(run.session),
        state_(run.state),
        expander_(session_, state_,
                  [this](std::string_view script, int line) { return substitute(script, line); }) {}

  void run_text(const std::string& text, const std::string& file) {
    std::string input, output;
    Streams streams = {&input, &output};
    Flow flow = Flow::kNext;
    run_file(text, file, streams, flow);
  }

  void run_started(const Words& words) {
    std::string input, output;
    run_program(words, {&input, &output});
  }

 private:
  bool stopped() const { return session_.failed(); }

  Flow run_file(const std::string& text, const std::string& file, Streams streams, Flow& flow) {
    constexpr size_t kMostFiles = 200;
    if (session_.files.size() >= kMostFiles) {
      session_.fail("more than 200 files are read");
      return flow = Flow::kExit;
    }
    const int first = static_cast<int>(session_.files.size()) * kLinesOfFile + 1;
    session_.files.push_back(file);
    return flow = run_parsed(text, file, first, true, streams);
  }
  /// A text inside a line: of eval, bash -c, $(...).
  Flow run_inner(const std::string& text, Streams streams) {
    const auto index = static_cast<size_t>(session_.line / kLinesOfFile);
    const std::string file = index < session_.files.size() ? session_.files[index] : session_.name;
    return run_parsed(text, file, session_.line, false, streams);
  }
  Flow run_parsed(const std::string& text, const std::string& file, int line, bool counts,
                  Streams streams) {
    if (++calls_ > kDeepestCall) {
      session_.fail("calls nest deeper than 60");
      return Flow::kExit;
    }
    session_.steps += static_cast<int64_t>(text.size()) / 64;
    const auto tree = parse_shell(text, file, line, counts);
    Flow flow = Flow::kExit;
    if (!tree) {
      if (!session_.failed()) session_.failure = tree.error().message;
    } else {
      flow = run(**tree, streams);
    }
    --calls_;
    return flow;
  }

  std::string substitute(std::string_view script, int line) {
    session_.line = line;
    std::string input, output;
    // $(< file)
    std::string text(script);
    if (const size_t at = text.find_first_not_of(" \t\n"); at != text.npos && text[at] == '<')
      text.insert(at, "cat ");
    in_copy([&] { run_inner(text, {&input, &output}); });
    while (output.ends_with('\n')) output.pop_back();
    return output;
  }

  /// A subshell: what it changes ends with it, except for files.
  template <class Body>
  void in_copy(const Body& body) {
    ShellState kept = copy_of_state();
    body();
    kept.files = std::move(state_.files);
    kept.status = state_.status;
    state_ = std::move(kept);
  }
  ShellState copy_of_state() {
    constexpr int64_t kMostCopied = 400'000'000;
    copied_ += size_of(state_);
    if (copied_ > kMostCopied) session_.fail("the script starts too many subshells");
    return state_;
  }

  Flow run(const ShellNode& node, Streams streams) {
    if (stopped()) return Flow::kExit;
    session_.line = node.line;
    if (++session_.steps > kMostSteps) {
      session_.fail("does not end within 200,000 commands");
      return Flow::kExit;
    }
    if (node.kind == NodeKind::kSimple) return run_simple(node, streams);
    if (node.redirections.empty()) return run_compound(node, streams);
    std::string input, output;
    bool reads = false;
    std::string target;
    redirect(node.redirections, input, reads, target);
    const Flow flow = run_compound(
        node, {reads ? &input : streams.input, target.empty() ? streams.output : &output});
    write(target, output);
    return flow;
  }

  Flow run_compound(const ShellNode& node, Streams streams) {
    switch (node.kind) {
      case NodeKind::kList: return run_list(node, streams);
      case NodeKind::kPipeline: return run_pipeline(node, streams);
      case NodeKind::kAnd:
      case NodeKind::kOr: return run_and_or(node, streams);
      case NodeKind::kSubshell: {
        Flow flow = Flow::kNext;
        in_copy([&] { flow = run(*node.parts[0], streams); });
        return Flow::kNext;
      }
      case NodeKind::kIf: return run_if(node, 0, streams);
      case NodeKind::kWhile: return run_while(node, streams);
      case NodeKind::kFor: return run_for(node, streams);
      case NodeKind::kForCount: return run_count(node, streams);
      case NodeKind::kCase: return run_case(node, streams);
      case NodeKind::kFunction:
        state_.functions[node.name] = node.parts[0];
        state_.status = 0;
        return Flow::kNext;
      case NodeKind::kArithmetic: {
        const std::string value = expander_.arithmetic(node.words[0].text);
        state_.status = ShellUnknowns::in(value) ? kUnknownStatus : value == "0" ? 1 : 0;
        reason_ = ShellUnknowns::in(value) ? session_.unknowns.entry(value).reason : "";
        return Flow::kNext;
      }
      case NodeKind::kCondition:
        set_status(shell_condition(node.words, expander_, session_, state_), node.words);
        return Flow::kNext;
      case NodeKind::kSimple: break;
    }
    return Flow::kNext;
  }

  Flow run_list(const ShellNode& node, Streams streams) {
    for (const ShellTree& part : node.parts) {
      const Flow flow = run(*part, streams);
      if (flow != Flow::kNext || stopped()) return flow;
    }
    return Flow::kNext;
  }

  Flow run_pipeline(const ShellNode& node, Streams streams) {
    std::string between;
    Flow flow = Flow::kNext;
    for (size_t i = 0; i < node.parts.size(); ++i) {
      std::string input = std::move(between), output;
      between.clear();
      const bool last = i + 1 == node.parts.size();
      const Streams own = {i == 0 ? streams.input : &input, last ? streams.output : &output};
      if (node.parts.size() == 1)
        flow = run(*node.parts[i], own);
      else
        in_copy([&] { run(*node.parts[i], own); });
      between = std::move(output);
    }
    if (node.negated && state_.status != kUnknownStatus) state_.status = state_.status == 0 ? 1 : 0;
    return flow;
  }

  Flow run_and_or(const ShellNode& node, Streams streams) {
    const Flow flow = run(*node.parts[0], streams);
    if (flow != Flow::kNext || stopped()) return flow;
    const bool wants = node.kind == NodeKind::kAnd;
    if (state_.status == kUnknownStatus)
      return either(node.line, {node.parts[1].get(), nullptr}, streams);
    if ((state_.status == 0) == wants) return run(*node.parts[1], streams);
    return Flow::kNext;
  }

  Flow run_if(const ShellNode& node, size_t at, Streams streams) {
    if (at + 1 >= node.parts.size()) {
      if (at < node.parts.size()) return run(*node.parts[at], streams);
      state_.status = 0;
      return Flow::kNext;
    }
    const Flow flow = run(*node.parts[at], streams);
    if (flow != Flow::kNext || stopped()) return flow;
    if (state_.status == 0) return run(*node.parts[at + 1], streams);
    if (state_.status != kUnknownStatus) return run_if(node, at + 2, streams);
    const std::string reason = reason_;
    const int line = node.parts[at]->line;
    return branches(line, reason,
                    {[&] { return run(*node.parts[at + 1], streams); },
                     [&] { return run_if(node, at + 2, streams); }});
  }

  /// Any of these may run, or none (null): what decides is the last status, which is not known.
  Flow either(int line, const std::vector<const ShellNode*>& nodes, Streams streams) {
    std::vector<std::function<Flow()>> ways;
    for (const ShellNode* way : nodes)
      ways.emplace_back(
          [this, way, streams] { return way == nullptr ? Flow::kNext : run(*way, streams); });
    return branches(line, reason_, ways);
  }

  /// Follows every branch from the same state. One that ends the script is taken not to happen:
  /// there is a job.
  Flow branches(int line, const std::string& why, const std::vector<std::function<Flow()>>& ways) {
    const std::string reason =
        fmt::format("what is true at {}{}", session_.where(line), why.empty() ? "" : ": " + why);
    const ShellState before = copy_of_state();
    std::vector<ShellState> ends;
    conditions_.push_back(reason);
    Flow leaves = Flow::kNext;
    for (const auto& way : ways) {
      if (stopped()) break;
      state_ = before;
      const Flow flow = way();
      if (flow == Flow::kNext)
        ends.push_back(copy_of_state());
      else if (flow != Flow::kExit) {
        session_.line = line;
        session_.fail(fmt::format("whether the script goes on here depends on {}", reason));
      }
      leaves = flow;
    }
    conditions_.pop_back();
    if (stopped()) return Flow::kExit;
    if (ends.empty()) return leaves;
    state_ = merge_states(ends, reason, session_.unknowns);
    state_.status = ends.size() == 1 ? ends.front().status : 0;
    return Flow::kNext;
  }

  Flow run_while(const ShellNode& node, Streams streams) {
    for (;;) {
      Flow flow = run(*node.parts[0], streams);
      if (flow != Flow::kNext || stopped()) return flow;
      if (state_.status == kUnknownStatus) {
        // How often is not known: what the body sets is not known either.
        return branches(
            node.line, reason_,
            {[&] { return ends_loop(run(*node.parts[1], streams)); }, [] { return Flow::kNext; }});
      }
      if ((state_.status == 0) == node.negated) break;
      flow = run(*node.parts[1], streams);
      if (leaves_loop(flow)) return flow;
      if (flow_was_break_) break;
    }
    flow_was_break_ = false;
    state_.status = 0;
    return Flow::kNext;
  }
  static Flow ends_loop(Flow flow) {
    return flow == Flow::kBreak || flow == Flow::kContinue ? Flow::kNext : flow;
  }
  /// break and continue count loops; true: `flow` concerns who stands around the loop.
  bool leaves_loop(Flow& flow) {
    flow_was_break_ = flow == Flow::kBreak;
    if (stopped()) {
      flow = Flow::kExit;
      return true;
    }
    if (flow == Flow::kReturn || flow == Flow::kExit) return true;
    if (flow == Flow::kNext || --levels_ <= 0) return false;
    return true;
  }

  Flow run_for(const ShellNode& node, Streams streams) {
    const Words items = node.has_in ? expander_.fields(node.words) : state_.arguments;
    for (const ShellText& item : items) {
      if (stopped()) return Flow::kExit;
      expander_.assign(node.name, item);
      Flow flow = run(*node.parts[0], streams);
      if (leaves_loop(flow)) return flow;
      if (flow_was_break_) break;
    }
    flow_was_break_ = false;
    return Flow::kNext;
  }

  Flow run_count(const ShellNode& node, Streams streams) {
    expander_.arithmetic(node.words[0].text);
    while (!stopped()) {
      if (++session_.steps > kMostSteps) session_.fail("does not end within 200,000 commands");
      const bool always = node.words[1].text.find_first_not_of(" \t") == std::string::npos;
      const std::string value = always ? "1" : expander_.arithmetic(node.words[1].text);
      if (ShellUnknowns::in(value))
        return branches(
            node.line, session_.unknowns.entry(value).reason,
            {[&] { return ends_loop(run(*node.parts[0], streams)); }, [] { return Flow::kNext; }});
      if (value == "0") break;
      Flow flow = run(*node.parts[0], streams);
      if (leaves_loop(flow)) return flow;
      if (flow_was_break_) break;
      expander_.arithmetic(node.words[2].text);
    }
    flow_was_break_ = false;
    return Flow::kNext;
  }

  Flow run_case(const ShellNode& node, Streams streams) {
    const std::string word = expander_.text(node.words[0]).text;
    std::vector<const ShellNode*> possible;
    bool certain = false;
    for (size_t i = 0; i < node.parts.size() && !certain && !stopped(); ++i) {
      for (const RawWord& raw : node.patterns[i]) {
        const auto matches = matches_pattern(word, expander_.pattern(raw));
        if (matches && !*matches) continue;
        possible.push_back(node.parts[i].get());
        certain = matches.has_value();
        break;
      }
    }
    if (possible.empty()) {
      state_.status = 0;
      return Flow::kNext;
    }
    if (possible.size() == 1 && certain) return run(*possible.front(), streams);
    if (!certain) possible.push_back(nullptr);
    reason_ = ShellUnknowns::in(word) ? session_.unknowns.entry(word).reason : "";
    return either(node.line, possible, streams);
  }

  void set_status(std::optional<bool> answer, const std::vector<RawWord>& words) {
    state_.status = !answer ? kUnknownStatus : *answer ? 0 : 1;
    reason_.clear();
    if (answer) return;
    for (const RawWord& word : words) reason_ += (reason_.empty() ? "" : " ") + word.text;
  }

  // Redirections.

  void redirect(const std::vector<ShellRedirection>& list, std::string& input, bool& reads,
                std::string& target) {
    for (const ShellRedirection& redirection : list) {
      if (redirection.operation == "<<") {
        input = redirection.quoted
                    ? redirection.target.text
                    : expander_.document(redirection.target.text, redirection.target.line);
        reads = true;
      } else if (redirection.operation == "<<<") {
        input = expander_.text(redirection.target).text + "\n";
        reads = true;
      } else if (redirection.operation == "<") {
        input = text_of_file(expander_.text(redirection.target).text);
        reads = true;
      } else if (redirection.operation.starts_with('>') && redirection.operation != ">&" &&
                 redirection.descriptor < 2) {
        target = expander_.text(redirection.target).text;
        if (redirection.operation != ">>" && !target.empty()) state_.files[target].clear();
      }
    }
  }
  void write(const std::string& target, const std::string& text) {
    constexpr size_t kLargestFile = 1'000'000;
    if (target.empty() || target == "/dev/null") return;
    std::string& file = state_.files[target];
    if (file.size() < kLargestFile) file += text;
  }
  /// A file that the script wrote, or one beside it; else a mark.
  std::string text_of_file(const std::string& path) {
    if (const auto it = state_.files.find(path); it != state_.files.end()) return it->second;
    const auto found = find_beside(path);
    if (found)
      if (auto text = base::read_file(*found, spec::kLargestWritten)) return *text;
    return session_.unknowns.mark_words(fmt::format("the file {}, which is not here", path)) + "\n";
  }
  /// A path as it stands, from the current folder or the script's own; of one that begins with
  /// something unknown ("$ROOT/../env.sh") the rest, from the script's folder.
  std::optional<std::string> find_beside(const std::string& path) const {
    const size_t slash = path.find('/');
    const std::string rest = slash == path.npos ? "" : path.substr(slash + 1);
    const bool starts_unknown = slash == 0 || ShellUnknowns::in(path.substr(0, slash));
    const std::filesystem::path script(session_.files.empty() ? "" : session_.files.front());
    for (const std::filesystem::path& full :
         {std::filesystem::path(state_.folder) / path, script.parent_path() / path,
          script.parent_path() / (starts_unknown ? rest : "")}) {
      std::error_code ignored;
      if (ShellUnknowns::in(full.string()) || path.empty()) continue;
      if (std::filesystem::is_regular_file(full, ignored)) return full.lexically_normal().string();
    }
    return std::nullopt;
  }

  // Simple commands.

  Flow run_simple(const ShellNode& node, Streams streams) {
    const Words words = expander_.fields(node.words);
    if (stopped()) return Flow::kExit;
    session_.line = node.line;
    std::string input, output, target;
    bool reads = false;
    redirect(node.redirections, input, reads, target);
    if (stopped()) return Flow::kExit;
    const bool declares = !words.empty() && is_declaration(words.front().text);
    if (words.empty() || declares) {
      state_.status = 0;
      for (const ShellAssignment& assignment : node.assignments)
        assign(assignment, declares ? words : Words());
      if (declares) declare(words, node.assignments);
      if (node.assignments.empty() && words.empty() && !node.redirections.empty())
        write(target, "");
      return stopped() ? Flow::kExit : Flow::kNext;
    }
    // NAME=value in front of a command holds for that command.
    std::map<std::string, std::optional<ShellVariable>> kept;
    for (const ShellAssignment& assignment : node.assignments) {
      const auto it = state_.variables.find(assignment.name);
      kept.emplace(assignment.name,
                   it == state_.variables.end() ? std::nullopt : std::optional(it->second));
      assign(assignment, {});
      state_.variables[assignment.name].exported = true;
    }
    const Flow flow = run_words(
        words, {reads ? &input : streams.input, target.empty() ? streams.output : &output});
    for (auto& [name, variable] : kept) {
      if (variable)
        state_.variables[name] = std::move(*variable);
      else
        state_.variables.erase(name);
    }
    write(target, output);
    return stopped() ? Flow::kExit : flow;
  }

  static bool is_declaration(std::string_view word) {
    return word == "export" || word == "local" || word == "declare" || word == "typeset" ||
           word == "readonly";
  }
  void assign(const ShellAssignment& assignment, const Words& declaration) {
    if (!declaration.empty() && declaration.front().text == "local") keep_local(assignment.name);
    bool is_map = false;
    for (const ShellText& word : declaration)
      is_map = is_map || (word.text.starts_with('-') && base::contains(word.text, "A"));
    if (assignment.is_array) return assign_array(assignment, is_map);
    const ShellText value = expander_.text(assignment.value);
    expander_.assign(
        assignment.has_index ? assignment.name + "[" + assignment.index + "]" : assignment.name,
        value, assignment.append);
  }
  void assign_array(const ShellAssignment& assignment, bool is_map) {
    std::vector<std::pair<std::string, RawWord>> keyed;
    std::vector<RawWord> plain;
    for (const RawWord& item : assignment.items) {
      const size_t close = item.text.starts_with('[') ? item.text.find("]=") : item.text.npos;
      if (close == item.text.npos)
        plain.push_back(item);
      else
        keyed.emplace_back(item.text.substr(1, close - 1),
                           RawWord{item.text.substr(close + 2), item.line});
    }
    Words items = expander_.fields(plain);
    ShellVariable& variable = state_.variables[assignment.name];
    if (!assignment.append) {
      variable.items.clear();
      variable.entries.clear();
      variable.kind = is_map ? ShellVariable::Kind::kMap : ShellVariable::Kind::kList;
    }
    is_map = variable.kind == ShellVariable::Kind::kMap;
    if (!is_map) variable.kind = ShellVariable::Kind::kList;
    constexpr size_t kMostItems = 20'000;
    if (variable.items.size() + items.size() < kMostItems)
      variable.items.insert(variable.items.end(), items.begin(), items.end());
    for (const auto& [index, raw] : keyed) {
      const ShellText value = expander_.text(raw);
      expander_.assign(assignment.name + "[" + index + "]", value);
    }
  }
  /// `export NAME`, `declare -A NAME`; the assignments have been made.
  void declare(const Words& words, const std::vector<ShellAssignment>& assignments) {
    bool exports = words.front().text == "export", map = false, list = false;
    const bool local = words.front().text == "local";
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      if (word.starts_with('-')) {
        exports = exports || base::contains(word, "x");
        map = map || base::contains(word, "A");
        list = list || base::contains(word, "a");
        continue;
      }
      const size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (ShellUnknowns::in(name) && state_.missing_source.empty())
        state_.missing_source = session_.unknowns.entry(name).reason;
      if (name.empty() || ShellUnknowns::in(name)) continue;
      if (local) keep_local(name);
      if (equals != word.npos) {
        expander_.assign(name, {word.substr(equals + 1), words[i].line});
      } else if (local || map || list) {
        ShellVariable& variable = state_.variables[name];
        if (local) variable = {};
        if (map) variable.kind = ShellVariable::Kind::kMap;
        if (list && !map) variable.kind = ShellVariable::Kind::kList;
      }
      if (exports) export_name(name);
    }
    if (exports)
      for (const ShellAssignment& assignment : assignments) export_name(assignment.name);
  }
  void export_name(const std::string& name) {
    const auto it = state_.variables.find(name);
    if (it != state_.variables.end()) it->second.exported = true;
  }
  void keep_local(const std::string& name) {
    if (locals_.empty()) return;
    const auto it = state_.variables.find(name);
    locals_.back().emplace(name,
                           it == state_.variables.end() ? std::nullopt : std::optional(it->second));
  }

  Flow run_words(const Words& words, Streams streams) {
    const std::string name = words.front().text;
    if (const auto it = state_.functions.find(name); it != state_.functions.end())
      return call(it->second, words, streams);
    if (const auto flow = run_builtin(name, words, streams)) return *flow;
    if (const auto flow = run_reader(name, words, streams)) return *flow;
    return run_program(words, streams);
  }

  Flow call(const ShellTree& body, const Words& words, Streams streams) {
    const ShellTree kept_body = body;  // the function may define itself anew
    if (++calls_ > kDeepestCall) session_.fail("calls nest deeper than 60");
    Words arguments(words.begin() + 1, words.end());
    std::swap(arguments, state_.arguments);
    locals_.emplace_back();
    const Flow flow = stopped() ? Flow::kExit : run(*kept_body, streams);
    for (auto& [name, variable] : locals_.back()) {
      if (variable)
        state_.variables[name] = std::move(*variable);
      else
        state_.variables.erase(name);
    }
    locals_.pop_back();
    state_.arguments = std::move(arguments);
    --calls_;
    return flow == Flow::kExit ? flow : Flow::kNext;
  }

  static int64_t count_of(const Words& words, int64_t fallback) {
    const auto number =
        words.size() > 1 ? base::parse_integer(words[1].text) : base::Result<int64_t>(fallback);
    return number ? *number : fallback;
  }
  static Words behind(const Words& words, size_t at) {
    return {words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())), words.end()};
  }

  /// Commands of the shell itself; nothing when it has none of that name.
  std::optional<Flow> run_builtin(const std::string& name, const Words& words, Streams streams) {
    const auto done = [&](int status = 0) {
      state_.status = status;
      return Flow::kNext;
    };
    if (name == ":" || name == "true" || name == "trap" || name == "wait" || name == "ulimit" ||
        name == "umask" || name == "shopt" || name == "alias" || name == "sleep")
      return done();
    if (name == "false") return done(1);
    if (name == "test" || name == "[") {
      Words tested = behind(words, 1);
      if (name == "[" && !tested.empty() && tested.back().text == "]") tested.pop_back();
      const auto answer = shell_test(tested, expander_, session_.unknowns, state_);
      state_.status = !answer ? kUnknownStatus : *answer ? 0 : 1;
      reason_ = answer ? "" : reason_of(words);
      return Flow::kNext;
    }
    if (name == "exit") return done(static_cast<int>(count_of(words, 0) & 255)), Flow::kExit;
    if (name == "return") {
      // `return` alone keeps the status.
      if (words.size() > 1) state_.status = static_cast<int>(count_of(words, 0) & 255);
      return Flow::kReturn;
    }
    if (name == "break" || name == "continue") {
      levels_ = count_of(words, 1);
      return name == "break" ? Flow::kBreak : Flow::kContinue;
    }
    if (name == "cd" || name == "pushd") {
      const std::string target = words.size() > 1 ? words.back().text : "";
      if (ShellUnknowns::in(target) || target.starts_with('/'))
        state_.folder = target;
      else if (!target.empty() && target != "-")
        state_.folder = (std::filesystem::path(state_.folder) / target).lexically_normal().string();
      return done();
    }
    if (name == "popd") return done();
    if (name == "pwd") {
      std::error_code ignored;
      const std::string folder = ShellUnknowns::in(state_.folder)
                                     ? state_.folder
                                     : std::filesystem::weakly_canonical(
                                           state_.folder.empty() ? "." : state_.folder, ignored)
                                           .string();
      *streams.output += folder + "\n";
      return done();
    }
    if (name == "shift") {
      const auto count = static_cast<size_t>(std::max<int64_t>(0, count_of(words, 1)));
      if (count > state_.arguments.size()) return done(1);
      state_.arguments.erase(state_.arguments.begin(),
                             state_.arguments.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                            count, state_.arguments.size())));
      return done();
    }
    if (name == "set") return run_set(words), done();
    if (name == "unset") {
      for (const ShellText& word : behind(words, 1)) {
        unset(word.text);
      }
      return done();
    }
    if (name == "let") {
      std::string value = "0";
      for (const ShellText& word : behind(words, 1)) value = expander_.arithmetic(word.text);
      return done(value == "0" ? 1 : 0);
    }
    if (name == "printf" && words.size() > 3 && words[1].text == "-v") {
      expander_.assign(words[2].text,
                       {shell_printf(words, words[3].text == "--" ? 4 : 3), session_.line});
      return done();
    }
    return std::nullopt;
  }
  /// A variable, a function, or one item: `unset 'ARGS[2]'`. Items behind it keep their place only
  /// for who counts them.
  void unset(const std::string& name) {
    const size_t bracket = name.find('[');
    if (bracket == name.npos) {
      state_.variables.erase(name);
      state_.functions.erase(name);
      return;
    }
    const auto it = state_.variables.find(name.substr(0, bracket));
    if (it == state_.variables.end() || !name.ends_with(']')) return;
    const std::string index = name.substr(bracket + 1, name.size() - bracket - 2);
    if (it->second.kind == ShellVariable::Kind::kMap) {
      it->second.entries.erase(index);
      return;
    }
    const auto at = base::parse_integer(expander_.arithmetic(index));
    if (!at || *at < 0)
      session_.fail(fmt::format("unset {}: the index is not known", name));
    else if (static_cast<size_t>(*at) < it->second.items.size())
      it->second.items[static_cast<size_t>(*at)] = {std::string(kUnsetItem), 0};
  }
  void run_set(const Words& words) {
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      if (word == "-a") state_.exports_all = true;
      if (word == "+a") state_.exports_all = false;
      if (word == "--") {
        state_.arguments = behind(words, i + 1);
        return;
      }
      if (word == "-o" || word == "+o")
        ++i;
      else if (!word.starts_with('-') && !word.starts_with('+')) {
        state_.arguments = behind(words, i);
        return;
      }
    }
  }
  static std::string reason_of(const Words& words) {
    std::string text;
    for (const ShellText& word : words)
      text += (text.empty() ? "" : " ") + (ShellUnknowns::in(word.text) ? "?" : word.text);
    return text;
  }

  /// Commands that read text or run other words.
  std::optional<Flow> run_reader(const std::string& name, const Words& words, Streams streams) {
    if (name == "eval") {
      std::string text;
      for (const ShellText& word : behind(words, 1)) text += (text.empty() ? "" : " ") + word.text;
      return run_inner(text, streams);
    }
    if (name == "source" || name == ".") return run_source(words, streams);
    if (name == "read") return run_read(words, streams);
    if (name == "mapfile" || name == "readarray") return run_mapfile(words, streams);
    if (name == "exec" && words.size() == 1) return Flow::kNext;
    if (name == "exec" || name == "nohup" || name == "builtin" || name == "nice") {
      const Flow flow = run_words(behind(words, 1), streams);
      return name == "exec" && flow == Flow::kNext ? Flow::kExit : flow;
    }
    if (name == "command") {
      // command -v asks whether a program is there.
      if (words.size() > 1 && !words[1].text.starts_with('-'))
        return run_words(behind(words, 1), streams);
      state_.status = kUnknownStatus;
      reason_ = reason_of(words);
      *streams.output += session_.unknowns.mark(reason_of(words)) + "\n";
      return Flow::kNext;
    }
    if (name == "cat" || name == "tee") return run_cat(words, streams);
    if (name == "grep" || name == "sed") {
      if (auto result = shell_filter(words, *streams.input, [this](const std::string& path) {
            return text_of_file(path);
          })) {
        *streams.output += result->output;
        state_.status = result->status;
        return Flow::kNext;
      }
    }
    if (name == "xargs") {
      Words all = behind(words, 1);
      for (const std::string& word : base::split(*streams.input, '\n'))
        for (const std::string& part : base::split(word, ' '))
          if (!part.empty()) all.push_back({part, session_.line});
      streams.input->clear();
      if (words.size() > 1) return run_words(all, streams);
      all.insert(all.begin(), {"echo", session_.line});  // what it does without a command
      return run_words(all, streams);
    }
    if (name == "getopts") return run_getopts(words);
    return std::nullopt;
  }

  Flow run_source(const Words& words, Streams streams) {
    state_.status = 0;
    if (words.size() < 2) return Flow::kNext;
    const std::string& path = words[1].text;
    if (const auto written = state_.files.find(path); written != state_.files.end())
      return run_inner(std::string(written->second), streams);
    if (const auto found = find_beside(path)) {
      const auto text = base::read_file(*found, spec::kLargestWritten);
      if (!text) return Flow::kNext;
      Flow flow = Flow::kNext;
      run_file(*text, *found, streams, flow);
      return flow == Flow::kReturn ? Flow::kNext : flow;
    }
    // Virtual environments and modules set paths of programs and nothing of the job.
    constexpr std::array kHarmless = std::to_array<std::string_view>(
        {"activate", "conda.sh", ".bashrc", ".bash_profile", ".profile", "/etc/", "setvars.sh",
         "/init/", "lmod", "set_env.sh", "/opt/"});
    for (const std::string_view part : kHarmless)
      if (base::contains(path, part)) return Flow::kNext;
    if (state_.missing_source.empty())
      state_.missing_source = ShellUnknowns::in(path) ? fmt::format("the file read at {}",
                                                                    session_.where(session_.line))
                                                      : path;
    return Flow::kNext;
  }

  /// A line of the input into variables.
  Flow run_read(const Words& words, Streams streams) {
    std::vector<std::string> names;
    bool list = false, whole = false;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      if (word == "-d" && i + 1 < words.size() && words[i + 1].text.empty()) whole = true;
      if (word == "-d" || word == "-p" || word == "-n" || word == "-t" || word == "-u")
        ++i;
      else if (word.starts_with('-'))
        list = list || base::contains(word, "a");
      else
        names.push_back(word);
    }
    if (streams.input->empty()) {
      state_.status = 1;
      return Flow::kNext;
    }
    const size_t end =
        whole ? streams.input->size() : std::min(streams.input->find('\n'), streams.input->size());
    std::string line = streams.input->substr(0, end);
    while (whole && line.ends_with('\n')) line.pop_back();
    streams.input->erase(0, end + 1);
    std::string separators = " \t";
    if (const auto ifs = state_.variables.find("IFS");
        ifs != state_.variables.end() && !ifs->second.items.empty())
      separators = ifs->second.items.front().text;
    Words parts;
    size_t at = 0;
    while (at < line.size()) {
      const size_t begin = line.find_first_not_of(separators, at);
      if (begin == line.npos) break;
      const bool rest = !list && parts.size() + 1 >= names.size();
      const size_t stop =
          rest ? line.size() : std::min(line.find_first_of(separators, begin), line.size());
      parts.push_back({line.substr(begin, stop - begin), session_.line});
      at = stop;
    }
    if (list && !names.empty()) {
      state_.variables[names.front()] = {ShellVariable::Kind::kList, parts, {}, false};
    } else {
      if (names.empty()) names.emplace_back("REPLY");
      for (size_t i = 0; i < names.size(); ++i)
        expander_.assign(names[i], i < parts.size() ? parts[i] : ShellText{"", session_.line});
    }
    state_.status = whole ? 1 : 0;  // the end it looks for is not there
    return Flow::kNext;
  }
  Flow run_mapfile(const Words& words, Streams streams) {
    Words lines;
    for (const std::string& line : base::split(*streams.input, '\n'))
      lines.push_back({line, session_.line});
    if (!lines.empty() && lines.back().text.empty()) lines.pop_back();
    streams.input->clear();
    const std::string name =
        words.size() > 1 && !words.back().text.starts_with('-') ? words.back().text : "MAPFILE";
    state_.variables[name] = {ShellVariable::Kind::kList, std::move(lines), {}, false};
    state_.status = 0;
    return Flow::kNext;
  }
  Flow run_cat(const Words& words, Streams streams) {
    std::string text;
    std::vector<std::string> paths;
    for (const ShellText& word : behind(words, 1))
      if (!word.text.starts_with('-') || word.text == "-") paths.push_back(word.text);
    if (words.front().text == "cat" && !paths.empty()) {
      for (const std::string& path : paths)
        text += path == "-" ? *streams.input : text_of_file(path);
    } else {
      text = std::move(*streams.input);
      streams.input->clear();
    }
    if (words.front().text == "tee")
      for (const std::string& path : paths) {
        state_.files[path].clear();
        write(path, text);
      }
    *streams.output += text;
    state_.status = 0;
    return Flow::kNext;
  }
  /// getopts "n:t:h" name: the next option of the arguments.
  Flow run_getopts(const Words& words) {
    state_.status = 1;
    if (words.size() < 3) return Flow::kNext;
    const auto kept = state_.variables.find("OPTIND");
    const auto number = kept == state_.variables.end() || kept->second.items.empty()
                            ? base::Result<int64_t>(1)
                            : base::parse_integer(kept->second.items.front().text);
    const auto at = static_cast<size_t>(number ? std::max<int64_t>(*number, 1) : 1);
    if (at > state_.arguments.size()) return Flow::kNext;
    const std::string word = state_.arguments[at - 1].text;
    if (word.size() < 2 || word[0] != '-' || word == "--") return Flow::kNext;
    // -rsp 2: one letter after the other.
    const size_t letter = std::min(std::max<size_t>(option_letter_, 1), word.size() - 1);
    const size_t found = words[1].text.find(word[letter]);
    const bool takes = found != std::string::npos && words[1].text.substr(found + 1, 1) == ":";
    const bool last = takes || letter + 1 >= word.size();
    option_letter_ = last ? 1 : letter + 1;
    size_t next = last ? at + 1 : at;
    if (takes) {
      const bool joined = word.size() > letter + 1;
      const std::string value = joined                         ? word.substr(letter + 1)
                                : at < state_.arguments.size() ? state_.arguments[at].text
                                                               : "";
      expander_.assign("OPTARG", {value, session_.line});
      if (!joined) ++next;
    }
    expander_.assign(
        words[2].text,
        {found == std::string::npos ? "?" : std::string(1, word[letter]), session_.line});
    expander_.assign("OPTIND", {std::to_string(next), session_.line});
    state_.status = 0;
    return Flow::kNext;
  }

  // Programs.

  Flow run_program(const Words& words, Streams streams) {
    if (const auto inner = inner_shell(words); inner && calls_ < kDeepestCall)
      return run_inner_shell(words, *inner, streams);
    if (words.front().text == "env") {
      size_t at = 1;
      while (at < words.size() &&
             (words[at].text.starts_with('-') || base::contains(words[at].text, "=")))
        ++at;
      if (at < words.size()) return run_words(behind(words, at), streams);
    }
    if (words.front().text == "scontrol" &&
        reason_of(words).starts_with("scontrol show hostname")) {
      if (const std::string names = host_names(); !names.empty()) {
        *streams.output += names;
        state_.status = 0;
        return Flow::kNext;
      }
    }
    if (words.front().text == "sed" && words.size() > 2 && words[1].text.starts_with("-i"))
      state_.files[words.back().text] = session_.unknowns.mark(fmt::format(
          "{}, which sed changes at {}", words.back().text, session_.where(session_.line)));
    if (auto result = shell_utility(words, *streams.input, session_)) {
      *streams.output += result->output;
      state_.status = result->status;
      return Flow::kNext;
    }
    record(words);
    // Of a pipeline the first program is the reason.
    const std::string reason = ShellUnknowns::in(*streams.input)
                                   ? session_.unknowns.entry(*streams.input).reason
                                   : fmt::format("$({}) at {}", reason_of(words).substr(0, 60),
                                                 session_.where(session_.line));
    *streams.output +=
        (prints_one_word(words.front().text) ? session_.unknowns.mark_lines(reason)
                                             : session_.unknowns.mark_words(reason)) +
        "\n";
    state_.status = kUnknownStatus;
    reason_ = reason_of(words).substr(0, 60);
    return Flow::kNext;
  }
  static bool prints_one_word(std::string_view program) {
    constexpr std::array kPrograms = std::to_array<std::string_view>(
        {"bc",       "awk",  "python", "python3",  "wc",    "nproc", "expr", "nvidia-smi",
         "rocm-smi", "head", "tail",   "hostname", "uname", "id",    "git",  "stat",
         "du",       "sort", "srun",   "ip",       "shuf",  "cut"});
    return std::find(kPrograms.begin(), kPrograms.end(), program) != kPrograms.end();
  }
  std::string host_names() {
    const auto it = state_.variables.find("SLURM_JOB_NUM_NODES");
    if (it == state_.variables.end() || it->second.items.empty()) return "";
    const auto count = base::parse_integer(it->second.items.front().text);
    constexpr int64_t kMostNodes = 20'000;
    if (!count || *count < 1 || *count > kMostNodes) return "";
    std::string names;
    for (int64_t i = 0; i < *count; ++i)
      names += session_.unknowns.mark("the name of a node") + "\n";
    return names;
  }

  void record(const Words& words) {
    if (run_.commands.size() >= kMostCommands) return;
    ShellCommand command;
    for (const Words& around : contexts_)
      command.words.insert(command.words.end(), around.begin(), around.end());
    command.words.insert(command.words.end(), words.begin(), words.end());
    command.line = session_.line;
    if (!conditions_.empty()) command.depends_on = conditions_.back();
    run_.commands.push_back(std::move(command));
  }

  Flow run_inner_shell(const Words& words, const InnerShell& inner, Streams streams) {
    // A job that queues its own successor is one job.
    const bool again = !inner.is_text && inner.text == session_.name;
    const std::optional<std::string> text = again                ? std::nullopt
                                            : inner.is_text      ? std::optional(inner.text)
                                            : inner.text.empty() ? std::optional(*streams.input)
                                                                 : script_of(inner.text);
    if (!text) {
      record(words);
      state_.status = kUnknownStatus;
      reason_ = reason_of(words).substr(0, 60);
      return Flow::kNext;
    }
    if (ShellUnknowns::in(*text) && text->find('\n') + 1 >= text->size())
      session_.fail(
          fmt::format("the script {} depends on {}", inner.text, session_.unknowns.reason(*text)));
    if (!inner.is_text && inner.text.empty()) streams.input->clear();
    contexts_.push_back(
        Words(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(inner.begin)));
    in_copy([&] {
      for (auto it = state_.variables.begin(); it != state_.variables.end();)
        it = it->second.exported ? std::next(it) : state_.variables.erase(it);
      state_.functions.clear();
      state_.arguments = behind(words, inner.arguments);
      set_exported(words, state_);
      set_batch_variables(*text, words, session_, state_);
      const std::string name = session_.name;
      if (!inner.is_text && !inner.text.empty()) session_.name = inner.text;
      Flow flow = Flow::kNext;
      const int line = session_.line;
      const auto file =
          inner.is_text || inner.text.empty() ? std::nullopt : find_beside(inner.text);
      if (file)
        run_file(*text, *file, streams, flow);
      else
        run_inner(*text, streams);
      session_.line = line;
      session_.name = name;
    });
    contexts_.pop_back();
    return Flow::kNext;
  }
  std::optional<std::string> script_of(const std::string& path) {
    if (const auto it = state_.files.find(path); it != state_.files.end()) return it->second;
    if (const auto found = find_beside(path))
      if (auto text = base::read_file(*found, spec::kLargestWritten)) return *text;
    return std::nullopt;
  }

  ShellRun& run_;
  ShellSession& session_;
  ShellState& state_;
  ShellExpander expander_;
  std::vector<std::map<std::string, std::optional<ShellVariable>>> locals_;
  std::vector<Words> contexts_;
  std::vector<std::string> conditions_;
  std::string reason_;        ///< why the last status is not known
  size_t option_letter_ = 1;  ///< of getopts, in a word of several
  int64_t levels_ = 0;        ///< loops that the last break or continue leaves
  bool flow_was_break_ = false;
  int calls_ = 0;
  int64_t copied_ = 0;
};

}  // namespace

base::Result<ShellRun> run_shell(const std::string& script, const std::string& file,
                                 const ScriptContext& context) {
  ShellRun run;
  run.session.name = file;
  std::string text;
  for (size_t i = 0; i < script.size(); ++i)
    if (script[i] != '\r' || i + 1 >= script.size() || script[i + 1] != '\n') text += script[i];
  // The marks' own characters have no place in a script.
  std::replace(text.begin(), text.end(), '\x01', ' ');
  std::replace(text.begin(), text.end(), '\x02', ' ');
  std::replace(text.begin(), text.end(), '\0', ' ');
  for (const auto& [name, value] : context.environment) export_variable(name, value, run.state);
  for (const std::string& argument : context.arguments)
    run.state.arguments.push_back({argument, 0});
  for (const auto& [name, value] : context.environment) run.session.given.insert(name);
  set_batch_variables(text, {}, run.session, run.state);
  ScriptRunner(run).run_text(text, file);
  if (run.session.failed()) return base::input_error(run.session.failure);
  return run;
}

void run_shell_program(const std::vector<std::string>& words, ShellRun& run) {
  Words texts;
  for (const std::string& word : words) texts.push_back({word, 0});
  if (!texts.empty()) ScriptRunner(run).run_started(texts);
}

}  // namespace ergometer::intake
