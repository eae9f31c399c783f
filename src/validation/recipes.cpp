#include "validation/recipes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <vector>

#include "base/text.h"
#include "spec/read.h"
#include "validation/model_table.h"

namespace ergometer::validation {
namespace {

const base::CsvTable& table() { return catalog_table("recipe_defaults"); }

/// "[lora]", "[sft]" or "[peft]" behind a pattern; "pretrain" without.
std::string_view task_of(std::string_view pattern) {
  if (contains(pattern, "[lora]") || contains(pattern, "[peft]")) return "lora";
  return contains(pattern, "[sft]") ? "sft" : "pretrain";
}

std::string_view task_of(const JobDraft& draft) {
  const std::string task = squashed(draft.cell("task"));
  if (task == "lora" || task == "peft" || draft.name.lora) return "lora";
  if (task == "sft" || draft.name.fine_tuning) return "sft";
  return "pretrain";
}

/// What a pattern of the table means, or what a row asks for.
struct Named {
  std::string key;   ///< squashed; "*" matches any
  std::string text;  ///< the model that it stands for; empty if it stands for none
  std::string_view task;
  bool fsdp = false;
};

bool same_model(const Named& pattern, const Named& row) {
  return pattern.key == row.key || (!row.text.empty() && pattern.text == row.text);
}

Named named(std::string_view pattern) {
  Named result{pattern == "*" ? "*" : parse_model_name(pattern).key, "", task_of(pattern),
               contains(pattern, "(fsdp)")};
  if (const auto model = find_model(result.key)) result.text = model->text;
  return result;
}

/// The patterns of every row of the table, read once.
const std::vector<std::vector<Named>>& patterns() {
  static const std::vector<std::vector<Named>> all = [] {
    std::map<std::string_view, Named> known;
    std::vector<std::vector<Named>> result(table().rows.size());
    for (size_t row = 0; row < result.size(); ++row)
      for (const std::string_view pattern : alternatives(table().cell(row, "model_pattern"))) {
        auto it = known.find(pattern);
        if (it == known.end()) it = known.emplace(pattern, named(pattern)).first;
        result[row].push_back(it->second);
      }
    return result;
  }();
  return all;
}

bool same_gpu(std::string_view pattern, std::string_view gpu) {
  if (pattern == "*" || pattern.empty()) return true;
  return node_of_gpu(pattern) == node_of_gpu(gpu);
}

bool is_blackwell(std::string_view gpu) {
  const std::string key = squashed(gpu);
  return contains(key, "b200") || contains(key, "b300");
}

/// 2: the same words; 1: the same format; 0: another.
int precision_match(std::string_view patterns, const JobDraft& draft) {
  const std::string_view cell = draft.cell("precision");
  if (cell.empty() || patterns.empty()) return 1;
  const bool blackwell = is_blackwell(draft.cell("gpu"));
  const PrecisionName ours = parse_precision(cell, blackwell);
  int best = 0;
  for (const std::string_view pattern : alternatives(patterns)) {
    const PrecisionName theirs = parse_precision(pattern, blackwell);
    if (pattern == cell ||
        (ours.precision == theirs.precision && ours.fp8_recipe == theirs.fp8_recipe))
      best = std::max(best, 2);
    else if (ours.precision == theirs.precision)
      best = std::max(best, 1);
  }
  return best;
}

/// Months between two releases, and more for one that lies ahead of the row's.
int release_distance(std::string_view patterns, std::string_view release) {
  if (patterns.empty() || release.empty()) return 0;
  constexpr int kUnlike = 1000;
  int best = kUnlike;
  const int ours = release_number(release);
  for (const std::string_view pattern : alternatives(patterns)) {
    if (pattern == release) return 0;
    const int theirs = release_number(pattern);
    if (ours == 0 || theirs == 0) continue;
    const int months = (theirs / 100 - ours / 100) * 12 + theirs % 100 - ours % 100;
    best = std::min(best, 1 + 2 * std::abs(months) + (months > 0 ? 1 : 0));
  }
  return best;
}

/// A size in the note, "tp=4"; 0 if it is not there.
int64_t noted(std::string_view note, std::string_view key) {
  for (std::string_view word : alternatives(note, ' ')) {
    if (!word.starts_with(key) || word.size() <= key.size() || word[key.size()] != '=') continue;
    word.remove_prefix(key.size() + 1);
    while (!word.empty() && (word.back() < '0' || word.back() > '9')) word.remove_suffix(1);
    const auto number = base::parse_integer(word);
    return number ? *number : 0;
  }
  return 0;
}

/// Sizes of the note that the row has too, less those that it has otherwise.
int layout_match(std::string_view note, const JobDraft& draft) {
  struct Key {
    std::string_view note, column;
    int weight;
  };
  constexpr std::array kKeys = std::to_array<Key>({{"n", "gpus", 2},
                                                   {"tp", "tp", 3},
                                                   {"pp", "pp", 3},
                                                   {"cp", "cp", 2},
                                                   {"vp", "vpp", 2},
                                                   {"ep", "ep", 3},
                                                   {"mbs", "mbs", 2},
                                                   {"gbs", "gbs", 1}});
  int score = 0;
  for (const Key& key : kKeys) {
    const int64_t theirs = noted(note, key.note);
    const auto ours = base::parse_integer(draft.cell(key.column));
    if (theirs > 0 && ours) score += *ours == theirs ? key.weight : -key.weight;
  }
  return score;
}

struct Candidate {
  bool found = false;
  int release = 0, precision = 0, layout = 0, specific = 0;
  /// Nearer in release, then in number format, then in layout.
  bool better_than(const Candidate& other) const {
    if (!other.found) return true;
    if (release != other.release) return release < other.release;
    if (specific != other.specific) return specific > other.specific;
    if (precision != other.precision) return precision > other.precision;
    return layout > other.layout;
  }
};

/// "NVIDIA NeMo" is Megatron's NeMo; AutoModel, of the same family name, trains with FSDP.
bool source_matches(std::string_view patterns, std::string_view source) {
  constexpr std::string_view kAutoModel = "AutoModel";
  if (contains(source, kAutoModel) && !contains(patterns, kAutoModel)) return false;
  for (const std::string_view pattern : alternatives(patterns))
    if (contains(source, pattern)) return true;
  return false;
}

/// How specific the recipe's patterns are for the row: 2 its model and its sharding, 1 its model, 0
/// any model; nothing if none matches.
std::optional<int> model_match(const std::vector<Named>& recipe, const Named& row, bool any_task) {
  std::optional<int> best;
  for (const Named& pattern : recipe) {
    const bool any = pattern.key == "*";
    if (!any && !any_task && pattern.task != row.task) continue;
    if (!any && !same_model(pattern, row)) continue;
    best = std::max(best.value_or(0), any ? 0 : pattern.fsdp == row.fsdp ? 2 : 1);
  }
  return best;
}

Candidate consider(size_t index, const JobDraft& draft, const Named& row) {
  const auto specific = model_match(patterns()[index], row, draft.source_has("MLPerf"));
  if (!specific) return {};
  const Recipe recipe{index};
  if (!source_matches(recipe.cell("source_pattern"), draft.cell("source"))) return {};
  bool gpu = false;
  for (const std::string_view pattern : alternatives(recipe.cell("gpu")))
    gpu = gpu || same_gpu(pattern, draft.cell("gpu"));
  if (!gpu) return {};
  const Candidate candidate{true, release_distance(recipe.cell("release"), draft.cell("release")),
                            precision_match(recipe.cell("precision"), draft),
                            layout_match(recipe.cell("vpp_note"), draft), *specific};
  return candidate.precision == 0 || candidate.release >= 1000 ? Candidate{} : candidate;
}

}  // namespace

std::string_view Recipe::cell(std::string_view column) const { return table().cell(row, column); }

std::optional<Recipe> find_recipe(const JobDraft& draft) {
  Candidate best;
  size_t row = 0;
  Named asked{draft.name.key, "", task_of(draft), draft.is_on("fsdp")};
  if (const auto model = find_model(asked.key)) asked.text = model->text;
  for (size_t i = 0; i < table().rows.size(); ++i) {
    const Candidate candidate = consider(i, draft, asked);
    if (!candidate.found || !candidate.better_than(best)) continue;
    best = candidate;
    row = i;
  }
  return best.found ? std::optional(Recipe{row}) : std::nullopt;
}

}  // namespace ergometer::validation
