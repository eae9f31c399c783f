// Configurations that a framework's makers publish for a model, a kind of GPU and a release.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "base/csv.h"
#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/recipe/recipe.h"
#include "spec/settings/setting_names.h"

namespace ergometer::spec {
namespace {

bool lists(std::string_view cell, std::string_view word) {
  for (const std::string& it : base::split(cell, '|'))
    if (it == word) return true;
  return false;
}

/// The table's lines of a recipe that name a model: the file is large, so the others are left out
/// before it is parsed.
std::string lines_for(const CatalogEntry& table, std::string_view recipe, std::string_view model) {
  std::string_view text = table.text;
  const auto next_line = [&] {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
  };
  std::string kept = fmt::format("{}\n", next_line());
  const std::string begin = fmt::format("{},", recipe);
  while (!text.empty()) {
    const std::string_view line = next_line();
    if (line.starts_with(begin) && line.find(model) != line.npos) kept += fmt::format("{}\n", line);
  }
  return kept;
}

/// 2: the number format with its scaling; 1: the format; 0: another.
int precision_match(std::string_view cell, const RecipeDraft& draft) {
  if (cell.empty()) return 1;
  const std::string precision = draft.has("precision") ? draft.text("precision") : "bf16";
  // Scaling that the recipe itself settles is not asked for.
  const std::string scaling = draft.said("fp8_recipe") ? draft.text("fp8_recipe") : "";
  const std::string full =
      precision == "fp8" && !scaling.empty() ? fmt::format("fp8/{}", scaling) : precision;
  if (lists(cell, full)) return 2;
  for (const std::string& it : base::split(cell, '|'))
    if (it.substr(0, it.find('/')) == precision) return 1;
  return 0;
}

/// Months between two releases, and more for one that lies ahead; nothing where one is unknown.
std::optional<int> release_distance(std::string_view cell, std::string_view release) {
  constexpr int kMonths = 12, kYear = 100;
  if (cell.empty() || release.empty()) return 0;
  const int ours = release_number(release);
  std::optional<int> best;
  for (const std::string& it : base::split(cell, '|')) {
    const int theirs = release_number(it);
    if (ours == 0 || theirs == 0) continue;
    const int months = (theirs / kYear - ours / kYear) * kMonths + theirs % kYear - ours % kYear;
    const int distance = 2 * std::abs(months) + (months > 0 ? 1 : 0);
    best = std::min(best.value_or(distance), distance);
  }
  return best;
}

struct LayoutKey {
  std::string_view note, setting;
  int weight;  ///< of agreement when the nearest layout is looked for
};
constexpr std::array kLayout =
    std::to_array<LayoutKey>({{"n", "gpus", 2},
                              {"tp", "tensor_model_parallel_size", 3},
                              {"pp", "pipeline_model_parallel_size", 3},
                              {"cp", "context_parallel_size", 2},
                              {"vp", "virtual_pipeline_model_parallel_size", 2},
                              {"ep", "expert_model_parallel_size", 3},
                              {"etp", "expert_tensor_parallel_size", 0},
                              {"mbs", "micro_batch_size", 2},
                              {"gbs", "global_batch_size", 1}});

/// "tp=4" of "n=64 tp=4 pp=8"; 0 if it is not there.
int64_t noted(std::string_view layout, std::string_view key) {
  for (const std::string& word : base::split(layout, ' ')) {
    const size_t equals = word.find('=');
    if (equals == word.npos || std::string_view(word).substr(0, equals) != key) continue;
    return base::parse_integer(std::string_view(word).substr(equals + 1)).value_or(0);
  }
  return 0;
}

int layout_match(std::string_view layout, const RecipeDraft& draft) {
  int score = 0;
  for (const LayoutKey& key : kLayout) {
    const int64_t theirs = noted(layout, key.note);
    if (theirs > 0 && draft.said(key.setting))
      score += theirs == draft.number(key.setting, 1) ? key.weight : -key.weight;
  }
  return score;
}

struct Candidate {
  size_t row = 0;
  int release = 0, precision = 0, layout = 0;
  bool sharded = false;  ///< FSDP as the job says
  bool better_than(const Candidate& other) const {
    if (release != other.release) return release < other.release;
    if (sharded != other.sharded) return sharded;
    if (precision != other.precision) return precision > other.precision;
    return layout > other.layout;
  }
};

std::optional<Candidate> nearest(const base::CsvTable& table, const RecipeDraft& draft) {
  std::optional<Candidate> best;
  const std::string task = draft.text("task"), gpu = draft.text("gpu");
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const auto cell = [&](std::string_view column) { return table.cell(row, column); };
    if (!lists(cell("models"), draft.model_name()) || cell("task") != task) continue;
    if (cell("gpus") != "*" && !lists(cell("gpus"), gpu)) continue;
    const auto release = release_distance(cell("releases"), draft.release);
    const bool shards = cell("settings").find("fsdp=true") != std::string_view::npos;
    const Candidate it{row, release.value_or(0), precision_match(cell("precisions"), draft),
                       layout_match(cell("layout"), draft), shards == draft.is_on("fsdp")};
    if (!release || it.precision == 0) continue;
    if (!best || it.better_than(*best)) best = it;
  }
  return best;
}

/// Who says one of these says the layout: the others are one.
bool gives_layout(const RecipeDraft& draft) {
  constexpr std::array kGivesLayout = std::to_array<std::string_view>({kTp, kPp, kCp, kEp});
  return std::ranges::any_of(kGivesLayout, [&](std::string_view size) { return draft.said(size); });
}

/// The sizes that the job leaves open: all of them where the recipe's are those of the job in all
/// that it says, but no layout beside one that is given; else the virtual stages of the same
/// stages.
void fill_layout(std::string_view layout, const std::string& origin, RecipeDraft& draft) {
  const bool agrees = std::ranges::all_of(kLayout, [&](const LayoutKey& key) {
    const int64_t theirs = noted(layout, key.note);
    const bool batch = key.note == "mbs" || key.note == "gbs";
    return batch || theirs == 0 || !draft.said(key.setting) ||
           theirs == draft.number(key.setting, 1);
  });
  const bool given = gives_layout(draft);
  const bool same_gpus = noted(layout, "n") > 0 && noted(layout, "n") == draft.gpus();
  for (const LayoutKey& key : kLayout) {
    const int64_t theirs = noted(layout, key.note);
    const bool divides = key.note != "mbs" && key.note != "vp" && key.note != "etp";
    if (theirs == 0 || key.note == "n" || key.note == "gbs" || (divides && given)) continue;
    if (same_gpus && agrees) draft.fill(key.setting, fmt::format("{}", theirs), origin);
  }
  const bool same_stages = noted(layout, "tp") == draft.number("tensor_model_parallel_size", 1) &&
                           noted(layout, "pp") == draft.number(kPp, 1) && draft.number(kPp, 1) > 1;
  if (const int64_t chunks = noted(layout, "vp"); same_stages && chunks > 0)
    draft.fill("virtual_pipeline_model_parallel_size", fmt::format("{}", chunks), origin);
}

/// "fsdp=true; framework=megatron". With pipeline stages FSDP would gather the parameters for every
/// micro batch: no recipe does.
void fill_settings(std::string_view settings, const std::string& origin, RecipeDraft& draft) {
  for (const std::string& part : base::split(settings, ';')) {
    std::string_view pair = part;
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    const size_t equals = pair.find('=');
    if (equals == pair.npos) continue;
    const std::string_view setting = pair.substr(0, equals);
    const bool whole = draft.number(kPp, 1) > 1 || draft.has("zero");
    if (setting == "fsdp" && whole) continue;
    if (setting == "framework" && !draft.is_on("fsdp")) continue;
    draft.fill(setting, std::string(pair.substr(equals + 1)), origin);
  }
}

}  // namespace

void fill_from_workloads(std::string_view recipe, RecipeDraft& draft) {
  const CatalogEntry* entry = find_in_catalog(CatalogKind::kTable, "recipe_workloads");
  const std::string& model = draft.model_name();
  if (entry == nullptr || model.empty()) return;
  const auto table = base::parse_csv(lines_for(*entry, recipe, model), std::string(entry->path));
  if (!table) return;
  const auto best = nearest(*table, draft);
  if (!best) return;
  const std::string origin =
      fmt::format("recipe {}{}{}: {}", recipe, draft.release.empty() ? "" : " ", draft.release,
                  table->cell(best->row, "source"));
  fill_layout(table->cell(best->row, "layout"), origin, draft);
  fill_settings(table->cell(best->row, "settings"), origin, draft);
}

}  // namespace ergometer::spec
