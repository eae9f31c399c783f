#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::cli {
namespace {

constexpr size_t kHelpWidth = 80;
constexpr size_t kFewFlags = 16;    ///< so many fit a screen with a line each
constexpr size_t kShortValue = 14;  ///< a longer list of choices is left to the full help
constexpr size_t kLongName = 28;    ///< so are longer names, Megatron-LM's, which take a line each

std::string flag_text(const Flag& flag, bool long_name) {
  const bool has_short = !flag.short_name.empty();
  const std::string dashes = flag.short_name.size() == 1 ? "-" : "--";
  std::string text = long_name || !has_short ? "--" + flag.name : dashes + flag.short_name;
  if (long_name && has_short) text += ", " + dashes + flag.short_name;
  if (flag.takes == Flag::Takes::kValue)
    text += " " + (long_name || flag.value.size() <= kShortValue ? flag.value : "WORD");
  if (flag.takes == Flag::Takes::kOptionalValue) text += " [" + flag.value + "]";
  return text;
}

/// Pieces side by side, broken before the screen's edge; continued lines start at `indent`.
std::string fill(const std::vector<std::string>& pieces, size_t column, size_t indent,
                 std::string_view gap) {
  std::string out;
  for (const std::string& piece : pieces) {
    const bool first = out.empty();
    if (!first && column + gap.size() + piece.size() > kHelpWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += gap;
      column += gap.size();
    }
    out += piece;
    column += piece.size();
  }
  return out;
}

std::vector<std::string> groups_of(const std::vector<Flag>& flags) {
  std::vector<std::string> groups;
  for (const Flag& flag : flags) {
    if (groups.empty() || !base::contains(groups, flag.group)) groups.push_back(flag.group);
  }
  return groups;
}

std::string full_list(const std::vector<Flag>& flags) {
  constexpr size_t kIndent = 26;
  std::string out;
  for (const std::string& group : groups_of(flags)) {
    out += fmt::format("\n{}:\n", group);
    for (const Flag& flag : flags) {
      if (flag.group != group) continue;
      const std::string name = "  " + flag_text(flag, true);
      out += name;
      if (name.size() + 2 > kIndent) {
        out += '\n' + std::string(kIndent, ' ');
      } else {
        out += std::string(kIndent - name.size(), ' ');
      }
      std::string help = flag.help;
      if (flag.takes == Flag::Takes::kSwitch) help += fmt::format(" (off: --no-{})", flag.name);
      const auto words = base::words(help, " ");
      out += fill({words.begin(), words.end()}, kIndent, kIndent, " ") + '\n';
    }
  }
  return out;
}

std::string short_list(const Command& command, const std::vector<Flag>& flags) {
  const auto is_long = [](const Flag& flag) {
    return flag.short_name.empty() && flag.name.size() > kLongName;
  };
  const auto left = std::ranges::count_if(flags, is_long);
  std::string out = fmt::format(
      "\nOptions ({}: ergometer {} --help all):\n",
      left > 0 ? fmt::format("each explained, and {} with long names", left) : "each explained",
      command.name);
  for (const std::string& group : groups_of(flags)) {
    std::vector<std::string> names;
    for (const Flag& flag : flags) {
      if (flag.group == group && !is_long(flag)) names.push_back(flag_text(flag, false));
    }
    const std::string head = fmt::format("  {}: ", group);
    out += head + fill(names, head.size(), 6, "  ") + '\n';
  }
  return out;
}

}  // namespace

std::string program_help() {
  std::string out =
      "Ergometer predicts what an LLM training job costs: time, memory, links.\n"
      "\n"
      "Try:\n"
      "  ergometer simulate llama3-70b --cluster charllm-h200 --gpus 32 --tp 4 --pp 4\n"
      "  ergometer simulate llama3-70b --cluster hgx-h100 --gpus 64 --tp 8 --explain mfu\n"
      "  ergometer catalog list models\n"
      "\n"
      "Commands:\n";
  for (const Command& command : commands())
    out += fmt::format("  {:<12}{}\n", command.name, command.summary);
  out +=
      "\n"
      "Every command: --json (one document on standard output), --quiet, --help.\n"
      "Exit status: 0 done, 1 the answer is no (does not fit), 2 wrong input, 3 this\n"
      "machine lacks something, 70 a bug of ours.\n";
  return out;
}

std::string command_help(const Command& command, bool everything) {
  const std::vector<Flag> flags = all_flags(command);
  std::string out = fmt::format("{}\n\nUsage: ergometer {}\n\nExamples:\n{}", command.summary,
                                command.usage, command.examples);
  out += everything || flags.size() <= kFewFlags ? full_list(flags) : short_list(command, flags);
  return out;
}

}  // namespace ergometer::cli
