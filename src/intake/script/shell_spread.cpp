#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "intake/programs/launcher_options.h"
#include "intake/script/inner_shell.h"

// Programs that run a text on other hosts, or once for every word: ssh, pdsh, parallel.

namespace ergometer::intake {
namespace {

using SpreadWords = std::vector<ShellText>;

/// Behind the options of ssh or pdsh: "-p 22", "-p22", "-tt".
size_t behind_letters(const SpreadWords& words, size_t at, std::string_view with_value) {
  while (at < words.size() && words[at].text.starts_with('-'))
    at +=
        words[at].text.size() == 2 && with_value.find(words[at].text[1]) != with_value.npos ? 2 : 1;
  return at;
}

/// ssh [options] host [options] words ..., whose input is the script where there are no words.
InnerShell remote_shell(const SpreadWords& words) {
  constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopQRSWw";
  const size_t host = behind_letters(words, 1, kWithValue);
  const size_t at = std::min(behind_letters(words, host + 1, kWithValue), words.size());
  if (at == words.size()) return {false, "", 0, at, "ssh", {}};
  InnerShell inner = shell_of(words, at, words.size());
  inner.elsewhere = "ssh";
  return inner;
}

/// pdsh -w hosts words ...
std::optional<InnerShell> remote_shells(const SpreadWords& words) {
  const size_t at = behind_letters(words, 1, "wxRlftugX");
  if (at >= words.size()) return std::nullopt;
  InnerShell inner = shell_of(words, at, words.size());
  inner.elsewhere = file_name(words.front().text);
  return inner;
}

/// parallel [options] words ... ::: a b: once for every word behind, which stands at {}; where it
/// counts, "{}" is no value. Without it the word would stand behind all others.
std::optional<InnerShell> parallel_shell(const SpreadWords& words) {
  constexpr std::array kWithValue = std::to_array<std::string_view>(
      {"-j", "--jobs", "-S", "--sshlogin", "--sshloginfile", "-a", "--arg-file", "--colsep",
       "--halt", "--delay", "--joblog", "--results", "--env", "--workdir", "--wd", "--timeout"});
  size_t at = 1;
  while (at < words.size() && words[at].text.starts_with('-'))
    at += base::contains(kWithValue, words[at].text) ? 2 : 1;
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size()));
  const auto end = std::find_if(begin, words.end(),
                                [](const ShellText& word) { return word.text.starts_with(":::"); });
  InnerShell inner = shell_of(words, static_cast<size_t>(begin - words.begin()),
                              static_cast<size_t>(end - words.begin()));
  if (!base::contains(inner.text, "{")) return std::nullopt;
  // A bare # would begin a comment.
  for (size_t hash = inner.text.find("{#}"); hash != std::string::npos;
       hash = inner.text.find("{#}"))
    inner.text[hash + 1] = '%';
  return inner;
}

}  // namespace

std::optional<InnerShell> spread_shell(const std::vector<ShellText>& words) {
  const std::string_view first = file_name(words.front().text);
  if (first == "ssh") return remote_shell(words);
  if (first == "pdsh" || first == "clush") return remote_shells(words);
  if (first == "parallel") return parallel_shell(words);
  return std::nullopt;
}

}  // namespace ergometer::intake
