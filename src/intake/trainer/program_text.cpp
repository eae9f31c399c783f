#include "intake/trainer/program_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "intake/reader/framework_options.h"
#include "intake/reader/python_names.h"
#include "intake/reader/python_text.h"

namespace ergometer::intake {
namespace {

bool is_import(std::string_view statement) {
  return statement.starts_with("from ") || statement.starts_with("import ");
}

}  // namespace

bool ProgramPart::is_definition(size_t at) const {
  const size_t line = text_.rfind('\n', at) + 1;
  const std::string before = trimmed(std::string_view(text_).substr(line, at - line));
  return before == "class" || before == "def" || before.ends_with("Tokenizer.") ||
         before.ends_with("Processor.") || before.ends_with("Config.");
}

/// The dotted name in front of a place: "torch.optim" of `torch.optim.AdamW(`.
std::string_view ProgramPart::owner(size_t at) const {
  size_t begin = at;
  while (begin > 0 && (is_word(text_[begin - 1]) || text_[begin - 1] == '.')) --begin;
  const std::string_view before = std::string_view(text_).substr(begin, at - begin);
  return before.substr(0, before.empty() ? 0 : before.size() - 1);
}

/// Whether the program defines the name or binds it to something else than an import does.
bool ProgramPart::is_bound_here(std::string_view name) const {
  const auto bound = values_.names().bindings(name, PythonNames::kModule);
  return std::ranges::any_of(words_of(text_, name), [&](size_t at) { return is_definition(at); }) ||
         std::ranges::any_of(bound, [&](const PythonBinding& it) {
           return !is_import(statements_.statement(it.at));
         });
}

/// Whether every import that brings the name is from the module or what lies in it; `NAME as OTHER`
/// brings the other.
bool ProgramPart::is_imported(std::string_view name, std::string_view module) const {
  bool found = false;
  for (const size_t word : words_of(text_, name)) {
    const std::string_view statement = statements_.statement(word);
    if (!is_import(statement) || text_.compare(word + name.size(), 4, " as ") == 0) continue;
    const size_t space = statement.find(' ') + 1;
    const std::string_view from = statement.substr(space, statement.find(' ', space) - space);
    if (from != module && !from.starts_with(std::string(module) + ".")) return false;
    found = true;
  }
  return found;
}

bool ProgramPart::is_of_library(const LibraryName& what, size_t at) const {
  const std::string_view before = owner(at);
  if (before.empty()) return !is_bound_here(what.name) && is_imported(what.name, what.module);
  const std::string_view first = before.substr(0, before.find('.'));
  // `from torch import nn, optim`: "optim.AdamW", "nn.parallel.DistributedDataParallel".
  return first == what.library || is_imported(first, what.library) ||
         is_imported(first, what.module);
}

Result<void> ProgramPart::in_branch(int line, std::string_view what, int branch) const {
  return input_error(
      "{}:{}: {} stands where line {} decides whether it counts, which is known only when the "
      "script runs; give a copy of the script without that choice, or the arguments as YAML or "
      "JSON",
      file_, line, what, branch);
}

void ProgramPart::tell_misspelt(std::string_view name, int line,
                                std::span<const std::string_view> read) {
  if (auto leftover = misspelt_argument(name, fmt::format("{}:{}", file_, line), read))
    program_.leftovers.push_back(*std::move(leftover));
}

void ProgramPart::leave_open(const char* setting, int line, const std::string& what,
                             const char* option) {
  program_.open.try_emplace(
      setting, fmt::format("{}:{}: {} is known only when the script runs; give {}", file_, line,
                           what.substr(0, 80), option));
}

}  // namespace ergometer::intake
