#include "intake/script/shell_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "intake/shell/shell_condition.h"
#include "intake/shell/shell_merge.h"

namespace ergometer::intake {
namespace {

using NodeKind = ShellNode::Kind;

constexpr int64_t kMostSteps = 200'000;

/// "#!/bin/sh -e", "#!/usr/bin/env dash": POSIX's shell, whatever shell sh is.
bool is_posix_shell(const std::string& text) {
  std::string first = text.substr(0, text.find_first_of("\r\n"));
  if (!first.starts_with("#!")) return false;
  std::ranges::replace(first, '/', ' ');
  const std::vector<std::string> words = base::split(first, ' ');
  return base::contains(words, "sh") || base::contains(words, "dash");
}

}  // namespace

void ScriptRunner::run_text(const std::string& text, const std::string& file) {
  std::string input, output;
  Streams streams = {&input, &output};
  printed_ = &output;
  // In scripts as well, which bash alone does not.
  state_.expands_aliases = is_posix_shell(text);
  run_file(text, file, streams);
  run_exit_trap(streams);
}

void ScriptRunner::run_exit_trap(Streams streams) {
  const std::string text = std::move(state_.exit_trap);
  state_.exit_trap.clear();
  if (text.empty() || stopped()) return;
  if (ShellUnknowns::in(text))
    return session_.fail(
        fmt::format("what `trap` runs at the end depends on {}", session_.unknowns.reason(text)));
  const int status = state_.status;
  run_inner(text, streams);
  state_.status = status;
}

void ScriptRunner::run_started(const Words& words) {
  std::string input, output;
  printed_ = &output;
  aside_ = ShellCommand::kBesideAll;
  run_program(words, {&input, &output});
}

Flow ScriptRunner::run_file(const std::string& text, const std::string& file, Streams streams) {
  constexpr size_t kMostFiles = 200;
  if (session_.files.size() >= kMostFiles) {
    session_.fail("more than 200 files are read");
    return Flow::kExit;
  }
  const int first = static_cast<int>(session_.files.size()) * kLinesOfFile + 1;
  session_.files.push_back(file);
  return run_parsed(text, file, first, true, streams);
}

Flow ScriptRunner::run_inner(const std::string& text, Streams streams) {
  const auto index = static_cast<size_t>(session_.line / kLinesOfFile);
  const std::string file = index < session_.files.size() ? session_.files[index] : session_.name;
  return run_parsed(text, file, session_.line, false, streams);
}

Flow ScriptRunner::run_parsed(const std::string& text, const std::string& file, int line,
                              bool counts, Streams streams) {
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

std::string ScriptRunner::substitute(std::string_view script, int line) {
  session_.line = line;
  ++substitutions_;
  std::string input, output;
  // $(< file)
  std::string text(script);
  if (const size_t at = text.find_first_not_of(" \t\n"); at != text.npos && text[at] == '<')
    text.insert(at, "cat ");
  const Streams own = {&input, &output};
  in_copy(own, [&] { run_inner(text, own); });
  while (output.ends_with('\n')) output.pop_back();
  return output;
}

ShellState ScriptRunner::copy_of_state() {
  constexpr int64_t kMostCopied = 400'000'000;
  copied_ += size_of(state_);
  if (copied_ > kMostCopied) session_.fail("the script starts too many subshells");
  return state_;
}

Flow ScriptRunner::run(const ShellNode& node, Streams streams) {
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

Flow ScriptRunner::run_compound(const ShellNode& node, Streams streams) {
  switch (node.kind) {
    case NodeKind::kList: return run_list(node, streams);
    case NodeKind::kPipeline: return run_pipeline(node, streams);
    case NodeKind::kAnd:
    case NodeKind::kOr: return run_and_or(node, streams);
    case NodeKind::kSubshell:
      in_copy(streams, [&] { run(*node.parts[0], streams); });
      return Flow::kNext;
    case NodeKind::kBackground: {
      const bool is_known = aside_ != ShellCommand::kBesideAll;
      const int around = std::exchange(aside_, is_known ? ++asides_ : aside_);
      in_copy(streams, [&] { run(*node.parts[0], streams); });
      aside_ = around;
      state_.status = 0;
      return Flow::kNext;
    }
    case NodeKind::kIf: return run_if(node, 0, streams);
    case NodeKind::kWhile:
      return leave_perhaps(Flow::kBreak, [&] { return run_while(node, streams); });
    case NodeKind::kFor: return leave_perhaps(Flow::kBreak, [&] { return run_for(node, streams); });
    case NodeKind::kForCount:
      return leave_perhaps(Flow::kBreak, [&] { return run_count(node, streams); });
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

Flow ScriptRunner::run_list(const ShellNode& node, Streams streams) {
  for (const ShellTree& part : node.parts) {
    const Flow flow = run(*part, streams);
    if (flow != Flow::kNext || stopped()) return flow;
  }
  return Flow::kNext;
}

Flow ScriptRunner::run_pipeline(const ShellNode& node, Streams streams) {
  std::string between;
  Flow flow = Flow::kNext;
  for (size_t i = 0; i < node.parts.size(); ++i) {
    std::string input = std::move(between), output;
    between.clear();
    const bool last = i + 1 == node.parts.size();
    const Streams own = {i == 0 ? streams.input : &input, last ? streams.output : &output};
    if (node.parts.size() == 1 || (last && state_.last_pipes))
      flow = run(*node.parts[i], own);
    else
      in_copy(own, [&] { run(*node.parts[i], own); });
    between = std::move(output);
  }
  if (node.negated && state_.status != kUnknownStatus) state_.status = state_.status == 0 ? 1 : 0;
  return flow;
}

Flow ScriptRunner::run_and_or(const ShellNode& node, Streams streams) {
  const bool wants = node.kind == NodeKind::kAnd;
  const ShellNode& left = *node.parts[0];
  const bool chooses = !wants && left.kind == NodeKind::kAnd;
  Flow flow = run(chooses ? *left.parts[0] : left, streams);
  if (flow != Flow::kNext || stopped()) return flow;
  if (chooses && state_.status == kUnknownStatus) {
    // TEST && ONE || OTHER is either, never both halves of a way.
    return branches(node.line, reason_,
                    {[&] {
                       const Flow end = run(*left.parts[1], streams);
                       const bool fails = state_.status != 0 && state_.status != kUnknownStatus;
                       return end == Flow::kNext && fails ? run(*node.parts[1], streams) : end;
                     },
                     [&] { return run(*node.parts[1], streams); }},
                    streams);
  }
  if (chooses && state_.status == 0) flow = run(*left.parts[1], streams);
  if (flow != Flow::kNext || stopped()) return flow;
  if (state_.status == kUnknownStatus)
    return branches(node.line, reason_,
                    {[&] { return run(*node.parts[1], streams); },
                     [&] {
                       state_.status = wants ? 1 : 0;
                       return Flow::kNext;
                     }},
                    streams);
  if ((state_.status == 0) == wants) return run(*node.parts[1], streams);
  return Flow::kNext;
}

Flow ScriptRunner::run_if(const ShellNode& node, size_t at, Streams streams) {
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
                   [&] { return run_if(node, at + 2, streams); }},
                  streams);
}

Flow ScriptRunner::run_while(const ShellNode& node, Streams streams) {
  for (;;) {
    std::optional<ShellState> before;
    if (!leaving_.empty() && !leaving_.back().states.empty()) before = copy_of_state();
    const size_t unread = streams.input->size(), letter = option_letter_;
    Flow flow = run(*node.parts[0], streams);
    if (flow != Flow::kNext || stopped()) return flow;
    if (state_.status == kUnknownStatus) {
      // How often is not known: what the body sets is not known either.
      return branches(node.line, reason_,
                      {[&] { return ends_loop(run_pass(*node.parts[1], streams)); },
                       [] { return Flow::kNext; }},
                      streams);
    }
    if ((state_.status == 0) == node.negated) break;
    flow = run_pass(*node.parts[1], streams);
    if (leaves_loop(flow)) return flow;
    // One that may have been left goes on as it did: more passes are the same again.
    const bool reads = streams.input->size() != unread || option_letter_ != letter;
    if (flow_was_break_ || (before && !reads && is_as(*before))) break;
  }
  flow_was_break_ = false;
  state_.status = 0;
  return Flow::kNext;
}

bool ScriptRunner::is_as(const ShellState& before) const {
  const auto same_entry = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.text == b.second.text;
  };
  const auto same_variable = [&](const auto& a, const auto& b) {
    return a.first == b.first &&
           std::ranges::equal(a.second.items, b.second.items, {}, &ShellText::text,
                              &ShellText::text) &&
           std::ranges::equal(a.second.entries, b.second.entries, same_entry);
  };
  return before.folder == state_.folder && before.files == state_.files &&
         before.functions == state_.functions &&
         std::ranges::equal(before.arguments, state_.arguments, {}, &ShellText::text,
                            &ShellText::text) &&
         std::ranges::equal(before.variables, state_.variables, same_variable);
}

Flow ScriptRunner::ends_loop(Flow flow) {
  return flow == Flow::kBreak || flow == Flow::kContinue ? Flow::kNext : flow;
}

bool ScriptRunner::leaves_loop(Flow& flow) {
  flow_was_break_ = flow == Flow::kBreak;
  if (stopped()) {
    flow = Flow::kExit;
    return true;
  }
  if (flow == Flow::kReturn || flow == Flow::kExit) return true;
  if (flow == Flow::kNext || --levels_ <= 0) return false;
  return true;
}

Flow ScriptRunner::run_for(const ShellNode& node, Streams streams) {
  const Words items = node.has_in ? expander_.fields(node.words) : state_.arguments;
  for (const ShellText& item : items) {
    if (stopped()) return Flow::kExit;
    expander_.assign(node.name, item);
    if (ShellUnknowns::in(item.text) && session_.unknowns.entry(item.text).any_words) {
      // How many words there are is not known: what the body sets is not known either.
      const Flow flow = branches(node.line, session_.unknowns.entry(item.text).reason,
                                 {[&] { return ends_loop(run_pass(*node.parts[0], streams)); },
                                  [] { return Flow::kNext; }},
                                 streams);
      if (flow != Flow::kNext || stopped()) return flow;
      continue;
    }
    Flow flow = run_pass(*node.parts[0], streams);
    if (leaves_loop(flow)) return flow;
    if (flow_was_break_) break;
  }
  flow_was_break_ = false;
  return Flow::kNext;
}

Flow ScriptRunner::run_count(const ShellNode& node, Streams streams) {
  expander_.arithmetic(node.words[0].text);
  while (!stopped()) {
    if (++session_.steps > kMostSteps) session_.fail("does not end within 200,000 commands");
    const bool always = node.words[1].text.find_first_not_of(" \t") == std::string::npos;
    const std::string value = always ? "1" : expander_.arithmetic(node.words[1].text);
    if (ShellUnknowns::in(value))
      return branches(node.line, session_.unknowns.entry(value).reason,
                      {[&] { return ends_loop(run_pass(*node.parts[0], streams)); },
                       [] { return Flow::kNext; }},
                      streams);
    if (value == "0") break;
    Flow flow = run_pass(*node.parts[0], streams);
    if (leaves_loop(flow)) return flow;
    if (flow_was_break_) break;
    expander_.arithmetic(node.words[2].text);
  }
  flow_was_break_ = false;
  return Flow::kNext;
}

Flow ScriptRunner::run_case(const ShellNode& node, Streams streams) {
  const std::string word = expander_.text(node.words[0]).text;
  std::vector<const ShellNode*> possible;
  bool certain = false;
  for (size_t i = 0; i < node.parts.size() && !certain && !stopped(); ++i) {
    for (const RawWord& raw : node.patterns[i]) {
      const auto matches = matches_pattern(word, expander_.pattern(raw), state_.any_case);
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

void ScriptRunner::set_status(std::optional<bool> answer, const std::vector<RawWord>& words) {
  state_.status = !answer ? kUnknownStatus : *answer ? 0 : 1;
  reason_.clear();
  if (answer) return;
  for (const RawWord& word : words) reason_ += (reason_.empty() ? "" : " ") + word.text;
}

Result<ShellRun> run_shell(const std::string& script, const std::string& file,
                           const ScriptContext& context) {
  ShellRun run;
  run.session.name = file;
  std::string text;
  for (size_t i = 0; i < script.size(); ++i)
    if (script[i] != '\r' || i + 1 >= script.size() || script[i + 1] != '\n') text += script[i];
  // The marks' own characters have no place in a script.
  std::ranges::replace(text, '\x01', ' ');
  std::ranges::replace(text, '\x02', ' ');
  std::ranges::replace(text, '\0', ' ');
  for (const auto& [name, value] : context.environment) export_variable(name, value, run.state);
  for (const std::string& argument : context.arguments)
    run.state.arguments.push_back({argument, 0});
  for (const auto& [name, value] : context.environment) run.session.given.insert(name);
  set_batch_variables(text, {}, run.session, run.state);
  ScriptRunner(run).run_text(text, file);
  if (run.session.failed()) return input_error(run.session.failure);
  return run;
}

void run_shell_program(const std::vector<std::string>& words, const std::vector<int>& lines,
                       ShellRun& run) {
  std::vector<ShellText> texts;
  for (const std::string& word : words) {
    const size_t at = std::min(texts.size() + 1, lines.size());
    texts.push_back({word, at == 0 ? 0 : lines[at - 1]});
  }
  run.session.line = lines.empty() ? 0 : lines.front();
  if (!texts.empty()) ScriptRunner(run).run_started(texts);
}

}  // namespace ergometer::intake
