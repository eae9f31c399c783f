#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "intake/script/shell_runner.h"
#include "intake/shell/shell_merge.h"

// Ways of which one was taken, which of them is not known.

namespace ergometer::intake {

Flow ScriptRunner::either(int line, const std::vector<const ShellNode*>& nodes, Streams streams) {
  std::vector<std::function<Flow()>> ways;
  for (const ShellNode* way : nodes)
    ways.emplace_back(
        [this, way, streams] { return way == nullptr ? Flow::kNext : run(*way, streams); });
  return branches(line, reason_, ways, streams);
}

Flow ScriptRunner::branches(int line, std::string_view because,
                            const std::vector<std::function<Flow()>>& ways, Streams streams) {
  const std::string why(because);  // what the ways do moves the reasons that are kept
  const std::string reason =
      fmt::format("what is true at {}{}", session_.where(line), why.empty() ? "" : ": " + why);
  const ShellState before = copy_of_state();
  const size_t printed_before = streams.output->size();
  std::vector<std::string> printed;
  std::vector<ShellState> ends;
  const size_t depth = conditions_.size();
  conditions_.push_back(reason);
  Flow leaves = Flow::kExit;
  bool left = false;
  for (const auto& way : ways) {
    if (stopped()) break;
    state_ = before;
    const Flow flow = way();
    const std::string own = streams.output->substr(printed_before);
    streams.output->resize(printed_before);
    // What a way prints that ends the script may be all that there is.
    if (flow == Flow::kNext || !own.empty()) printed.push_back(own);
    left = left || conditions_.size() > depth + 1;
    conditions_.resize(depth + 1);
    if (flow == Flow::kNext) {
      ends.push_back(copy_of_state());
    } else if (flow != Flow::kExit) {
      session_.line = line;
      if (!keep_leaving(flow, reason, streams))
        session_.fail(fmt::format("whether the script goes on here depends on {}", reason));
      leaves = flow;
      left = true;
    }
  }
  conditions_.resize(depth);
  if (stopped()) return Flow::kExit;
  if (left) conditions_.push_back(reason);
  print_one_of(std::move(printed), reason, streams);
  if (!ends.empty())
    go_on_from(ends, reason, why);
  else if (leaves != Flow::kExit)
    state_ = leaving_of(leaves)->states.back();
  return ends.empty() ? leaves : Flow::kNext;
}

void ScriptRunner::go_on_from(const std::vector<ShellState>& ends, const std::string& reason,
                              const std::string& why) {
  const ShellState& first = ends.front();
  const auto all = [&](const auto& is_same) { return std::ranges::all_of(ends, is_same); };
  const bool same = all([&](const ShellState& end) { return end.status == first.status; });
  const bool same_trap =
      all([&](const ShellState& end) { return end.exit_trap == first.exit_trap; });
  const int status = same ? first.status : kUnknownStatus;
  state_ = merge_states(ends, reason, session_.unknowns);
  if (!same_trap) state_.exit_trap = session_.unknowns.mark(reason);
  state_.status = status;
  if (!same) reason_ = why;
}

ScriptRunner::Leaving* ScriptRunner::leaving_of(Flow flow) {
  for (auto it = leaving_.rbegin(); it != leaving_.rend(); ++it) {
    if (it->flow == flow) return &*it;
    if (it->flow == Flow::kReturn) return nullptr;  // break does not leave the function around
  }
  return nullptr;
}

bool ScriptRunner::keep_leaving(Flow flow, const std::string& reason, Streams streams) {
  Leaving* around = leaving_of(flow);
  // What is printed behind it would be the output of one way alone.
  if (around == nullptr || streams.output != printed_) return false;
  if (flow != Flow::kReturn && levels_ > 1) return false;
  // A loop that waits for something may go round for ever.
  constexpr size_t kMostKept = 200;
  if (around->states.size() >= kMostKept) return false;
  around->states.push_back(copy_of_state());
  around->reason = reason;
  return true;
}

Flow ScriptRunner::leave_perhaps(Flow kind, const std::function<Flow()>& body) {
  const size_t depth = conditions_.size();
  leaving_.push_back({kind, {}, ""});
  const Flow flow = body();
  Leaving own = std::move(leaving_.back());
  leaving_.pop_back();
  if (own.states.empty() || stopped()) return flow;
  conditions_.resize(depth);
  const bool further = flow == Flow::kContinue && levels_ > 1;
  if ((flow == Flow::kNext || flow == kind) && !further) {
    own.states.push_back(copy_of_state());
  } else if (flow != Flow::kExit) {
    session_.fail(fmt::format("whether the script goes on here depends on {}", own.reason));
    return Flow::kExit;
  }
  go_on_from(own.states, own.reason, "");
  return Flow::kNext;
}

Flow ScriptRunner::run_pass(const ShellNode& body, Streams streams) {
  return leave_perhaps(Flow::kContinue, [&] { return run(body, streams); });
}

void ScriptRunner::print_one_of(std::vector<std::string> printed, const std::string& reason,
                                Streams streams) {
  if (printed.empty()) return;
  const auto same = [&](const std::string& text) { return text == printed.front(); };
  if (std::ranges::all_of(printed, same)) {
    *streams.output += printed.front();
    return;
  }
  bool many_lines = false;
  for (std::string& text : printed) {
    if (text.ends_with('\n')) text.pop_back();
    many_lines = many_lines || base::contains(text, "\n");
  }
  *streams.output += (many_lines ? session_.unknowns.mark_lines(reason)
                                 : session_.unknowns.mark(reason, std::move(printed))) +
                     "\n";
}

}  // namespace ergometer::intake
