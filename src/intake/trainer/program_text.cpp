#include "intake/trainer/program_text.h"

#include <fmt/format.h>

#include "intake/reader/framework_options.h"

namespace ergometer::intake {

bool ProgramPart::is_definition(size_t at) const {
  const size_t line = text_.rfind('\n', at) + 1;
  const std::string before = trimmed(std::string_view(text_).substr(line, at - line));
  return before == "class" || before == "def" || before.ends_with("Tokenizer.") ||
         before.ends_with("Processor.") || before.ends_with("Config.");
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
