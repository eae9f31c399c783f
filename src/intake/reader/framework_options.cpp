#include "intake/reader/framework_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/collection.h"
#include "base/csv.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/catalog/read.h"

namespace ergometer::intake {
namespace {

/// Frameworks that take another's options as well.
struct Relative {
  std::string_view framework, other;
};
constexpr std::array kRelatives = std::to_array<Relative>({
    {"primus", "megatron-lm"},
    {"megatron-bridge", "megatron-core"},
    {"nemo-2", "megatron-core"},
    {"nemo-1", "megatron-core"},
    {"megatron-lm", "megatron-core"},
    {"megatron-lm", "mindspeed"},
    {"llama-factory", "trainer"},
    {"axolotl", "trainer"},
});

/// Lower case, `_` for `-`, no dashes in front.
std::string option_key(std::string_view name) { return base::lower(option_name(name)); }

/// "checkpoint.*" is everything in that section, "*.lora_dropout" that word in any, "save_*" every
/// word that begins so.
bool matches(std::string_view pattern, std::string_view key) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == key;
  const std::string_view before = pattern.substr(0, star), behind = pattern.substr(star + 1);
  if (before.empty() && behind.starts_with('.') && key == behind.substr(1)) return true;
  return key.size() + 1 >= pattern.size() && key.starts_with(before) && key.ends_with(behind);
}

bool takes_options_of(std::string_view framework, std::string_view other) {
  if (framework == other) return true;
  return std::ranges::any_of(kRelatives, [&](const Relative& it) {
    return it.framework == framework && takes_options_of(it.other, other);
  });
}

/// The line that says most about the name: a whole name before a pattern, a longer pattern before a
/// shorter one, the framework's own before another's. Megatron's core options stand under many
/// sections.
const FrameworkOption* find_option(std::string_view framework, const std::string& key) {
  const std::string last(base::last_part(key, '.'));
  const FrameworkOption* best = nullptr;
  size_t most = 0;
  for (const FrameworkOption& it : framework_options()) {
    if (!takes_options_of(framework, it.framework)) continue;
    const bool own = it.framework == framework;
    const bool hit =
        matches(it.option, key) || (it.framework == "megatron-core" && matches(it.option, last));
    if (!hit) continue;
    const bool pattern = it.option.find('*') != std::string::npos;
    const size_t weight = (own ? 2'000 : 1'000) + (pattern ? it.option.size() : 10'000);
    if (weight > most) best = &it, most = weight;
  }
  return best;
}

bool is_effect(std::string_view word) {
  constexpr std::array<std::string_view, 8> kEffects = {"none",
                                                        "memory",
                                                        "time",
                                                        "power",
                                                        "memory and time",
                                                        "time and memory",
                                                        "time and power",
                                                        "memory, time and power"};
  return base::contains(kEffects, word);
}

}  // namespace

std::string option_name(std::string_view option) {
  return base::underscored(option.substr(std::min(option.find_first_not_of('-'), option.size())));
}

std::string name_in_word(std::string_view word) {
  return option_name(word.substr(0, word.find('=')));
}

Result<std::vector<FrameworkOption>> parse_framework_options(std::string_view csv,
                                                             const std::string& file) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(csv, file));
  ERGOMETER_TRY(base::require_columns(table, file, {"framework", "option", "effect", "says"}));
  std::vector<FrameworkOption> options;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const auto cell = [&](std::string_view column) { return std::string(table.cell(row, column)); };
    FrameworkOption option{cell("framework"), option_key(cell("option")), cell("effect"),
                           cell("says")};
    if (!is_effect(option.effect))
      return input_error(
          "{}:{}: effect is '{}'; allowed: none, memory, time, power, or several with \"and\"",
          file, table.rows[row].line, option.effect);
    if (option.effect != "none" && option.says.empty())
      return input_error("{}:{}: says is empty: what is changed?", file, table.rows[row].line);
    options.push_back(std::move(option));
  }
  return options;
}

const std::vector<FrameworkOption>& framework_options() {
  static const std::vector<FrameworkOption> options =
      spec::catalog_table("framework_options", parse_framework_options);
  return options;
}

bool is_listed_option(std::string_view framework, std::string_view name) {
  const FrameworkOption* option = find_option(framework, option_key(name));
  return option != nullptr && option->option.find('*') == std::string::npos;
}

Leftover classify(std::string_view framework, std::string_view name, std::string where,
                  const std::vector<std::string>& also) {
  const std::string key = option_key(name);
  Leftover leftover{Leftover::Kind::kUnknown, std::string(name), std::move(where), ""};
  if (const FrameworkOption* option = find_option(framework, key)) {
    if (option->effect == "none") {
      leftover.kind = Leftover::Kind::kNoEffect;
      leftover.says = option->says;
      return leftover;
    }
    leftover.kind = Leftover::Kind::kNotModelled;
    leftover.says = fmt::format("{}: {}", option->effect, option->says);
    return leftover;
  }
  std::vector<std::string_view> known(also.begin(), also.end());
  for (const FrameworkOption& it : framework_options())
    if (takes_options_of(framework, it.framework) && it.option.find('*') == std::string::npos)
      known.push_back(it.option);
  if (const auto near = base::nearest(key, known)) {
    leftover.says = *near;
    // As options are written: with dashes in front and between words.
    if (name.starts_with("--")) {
      std::ranges::replace(leftover.says, '_', '-');
      leftover.says = "--" + leftover.says;
    }
  }
  return leftover;
}

std::optional<Leftover> misspelt_argument(std::string_view name, std::string where,
                                          std::span<const std::string_view> read) {
  constexpr size_t kShortest = 6, kMostEdits = 2;
  if (name.size() < kShortest || base::contains(read, name)) return std::nullopt;
  const auto near = base::nearest(name, read);
  if (!near || base::edit_distance(name, *near) > kMostEdits) return std::nullopt;
  return unknown_argument(name, std::move(where), read);
}

Leftover unknown_argument(std::string_view name, std::string where,
                          std::span<const std::string_view> own) {
  return {Leftover::Kind::kUnknown, std::string(name), std::move(where),
          std::string(base::nearest(name, own).value_or(""))};
}

}  // namespace ergometer::intake
