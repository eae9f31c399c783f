#include "cli/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/table.h"
#include "cli/console/terminal.h"
#include "report/format.h"
#include "spec/catalog/read.h"
#include "spec/model/model_names.h"
#include "workload/parameters.h"

namespace ergometer::cli {
namespace {

using spec::CatalogEntry;
using spec::CatalogKind;

struct KindWord {
  CatalogKind kind;
  std::string_view plural, singular;
};
constexpr std::array kKinds =
    std::to_array<KindWord>({{CatalogKind::kModel, "models", "model"},
                             {CatalogKind::kGpu, "gpus", "gpu"},
                             {CatalogKind::kNode, "nodes", "node"},
                             {CatalogKind::kCluster, "clusters", "cluster"},
                             {CatalogKind::kKernels, "kernels", "kernels"},
                             {CatalogKind::kPower, "power", "power"},
                             {CatalogKind::kCooling, "cooling", "cooling"},
                             {CatalogKind::kCollectives, "collectives", "collectives"},
                             {CatalogKind::kSoftware, "software", "software"},
                             {CatalogKind::kRecipe, "recipes", "recipe"},
                             {CatalogKind::kStudy, "studies", "study"},
                             {CatalogKind::kTable, "tables", "table"}});

const KindWord* find_kind(std::string_view word) {
  for (const KindWord& kind : kKinds) {
    if (word == kind.plural || word == kind.singular) return &kind;
  }
  return nullptr;
}

Result<const KindWord*> kind_of(std::string_view word) {
  if (const KindWord* kind = find_kind(word)) return kind;
  std::vector<std::string_view> words = base::mapped(kKinds, &KindWord::plural);
  return input_error("catalog: unknown kind '{}'; it is one of {}{}", word, fmt::join(words, ", "),
                     base::did_you_mean(word, words));
}

std::string model_line(const CatalogEntry& entry) {
  const auto model = spec::parse_model(entry.text, std::string(entry.path));
  if (!model) return model.error().message;
  const workload::ParameterCount count = workload::count_parameters(*model);
  std::string line = report::format_parameters(static_cast<double>(count.total)) + " parameters";
  if (count.active < count.total)
    line +=
        fmt::format(", {} active", report::format_parameters(static_cast<double>(count.active)));
  return line + fmt::format(", {} layers, hidden {}", model->layer_count(), model->hidden);
}

/// What the entry is, in a line: counted for models, the file's first comment for the rest.
std::string one_line(const CatalogEntry& entry) {
  if (entry.kind == CatalogKind::kModel) return model_line(entry);
  if (entry.path.ends_with(".csv"))
    return fmt::format("{} rows", std::ranges::count(entry.text, '\n') - 1);
  if (!entry.text.starts_with("# ")) return "";
  const size_t end = entry.text.find('\n');
  std::string_view line = entry.text.substr(2, end - 2);
  line = line.substr(0, line.find(". "));
  // A comment that goes on below is told up to its first pause.
  if (end != std::string_view::npos && entry.text.substr(end + 1).starts_with("#"))
    line = line.substr(0, line.find(": "));
  if (line.ends_with('.')) line.remove_suffix(1);
  return std::string(line);
}

/// Alphabetical, but with numbers in order: 7b before 13b.
bool comes_before(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const size_t a_start = i, b_start = j;
    while (i < a.size() && digit(a[i])) ++i;
    while (j < b.size() && digit(b[j])) ++j;
    if (i - a_start != j - b_start) return i - a_start < j - b_start;
    const auto left = a.substr(a_start, i - a_start), right = b.substr(b_start, j - b_start);
    if (left != right) return left < right;
  }
  return a.size() - i < b.size() - j;
}

std::vector<const CatalogEntry*> entries_of(CatalogKind kind) {
  std::vector<const CatalogEntry*> found;
  for (const CatalogEntry& entry : spec::catalog()) {
    if (entry.kind == kind) found.push_back(&entry);
  }
  std::ranges::sort(found, [](const CatalogEntry* a, const CatalogEntry* b) {
    return comes_before(a->name, b->name);
  });
  return found;
}

void write_entry(base::JsonWriter& json, const KindWord& kind, const CatalogEntry& entry) {
  json.member("kind", kind.singular).member("name", entry.name);
  json.list("aliases", spec::aliases_of(entry), base::kOneLine);
  json.member("description", one_line(entry));
}

std::string list_json(std::span<const KindWord> kinds) {
  base::JsonWriter json;
  json.begin_object().member("schema_version", 1);
  json.array("entries", kinds, [&](const KindWord& kind) {
    for (const CatalogEntry* entry : entries_of(kind.kind)) {
      json.begin_object(base::kOneLine);
      write_entry(json, kind, *entry);
      json.end_object();
    }
  });
  json.end_object();
  return json.take();
}

std::string list_text(std::span<const KindWord> kinds, size_t width) {
  std::string out;
  for (const KindWord& kind : kinds) {
    out += fmt::format("{}{}:\n", out.empty() ? "" : "\n", kind.plural);
    base::Table table("<24 <");
    for (const CatalogEntry* entry : entries_of(kind.kind))
      table.row("  " + std::string(entry->name), one_line(*entry));
    out += table.text(width);
  }
  return out;
}

Result<int> list(const Arguments& arguments, const Console& console) {
  std::span<const KindWord> kinds = kKinds;
  if (arguments.words.size() > 2)
    return input_error("catalog: unexpected argument '{}'", arguments.words[2]);
  if (arguments.words.size() == 2) {
    ERGOMETER_ASSIGN(const KindWord* kind, kind_of(arguments.words[1]));
    kinds = std::span(kind, 1);
  }
  console.answer(arguments.has("json") ? list_json(kinds)
                                       : list_text(kinds, terminal_style(console.out).width));
  return 0;
}

struct Found {
  const KindWord* kind;
  const CatalogEntry* entry;
};

/// What jobs take under a name that is no entry's: a model as hubs write it, a node for a cluster.
std::optional<Found> find_as_jobs_do(const std::string& name, const KindWord* only) {
  const bool models = only == nullptr || only->kind == CatalogKind::kModel;
  if (const CatalogEntry* entry = models ? spec::find_hub_model(name) : nullptr)
    return Found{find_kind("model"), entry};
  const bool clusters = only != nullptr && only->kind == CatalogKind::kCluster;
  if (const CatalogEntry* entry =
          clusters ? spec::find_in_catalog(CatalogKind::kNode, name) : nullptr)
    return Found{find_kind("node"), entry};
  return std::nullopt;
}

Result<Found> find(const std::string& name, const KindWord* only) {
  std::vector<Found> found;
  std::vector<std::string_view> names, homes;
  std::string elsewhere;
  for (const KindWord& kind : kKinds) {
    if (only != nullptr && only->kind != kind.kind) {
      if (spec::find_in_catalog(kind.kind, name) != nullptr) elsewhere = kind.singular;
      continue;
    }
    for (const std::string_view known : spec::catalog_names(kind.kind)) names.push_back(known);
    if (const CatalogEntry* entry = spec::find_in_catalog(kind.kind, name)) {
      found.push_back({&kind, entry});
      homes.push_back(kind.singular);
    }
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    return input_error("catalog: '{}' is a {}; say which: ergometer catalog show {} {}", name,
                       fmt::join(homes, " and a "), homes.front(), name);
  if (const auto other = find_as_jobs_do(name, only)) return *other;
  if (!elsewhere.empty())
    return input_error("catalog: there is no {} '{}', but a {}: ergometer catalog show {} {}",
                       only->singular, name, elsewhere, elsewhere, name);
  return input_error("catalog: there is no {} '{}'{} (all names: ergometer catalog list)",
                     only != nullptr ? only->singular : "entry", name,
                     base::did_you_mean(name, names));
}

Result<int> show(const Arguments& arguments, const Console& console) {
  const std::vector<std::string>& words = arguments.words;
  if (words.size() < 2)
    return input_error("catalog: show what? ergometer catalog show [KIND] NAME");
  const KindWord* only = nullptr;
  if (words.size() == 3) {
    ERGOMETER_ASSIGN(only, kind_of(words[1]));
  }
  ERGOMETER_ASSIGN(const Found found, find(words.back(), only));
  if (!arguments.has("json")) {
    console.answer(found.entry->text);
    return 0;
  }
  base::JsonWriter json;
  json.begin_object().member("schema_version", 1);
  write_entry(json, *found.kind, *found.entry);
  json.member("path", found.entry->path).member("text", found.entry->text);
  json.end_object();
  console.answer(json.take());
  return 0;
}

}  // namespace

std::vector<Flag> catalog_flags() { return {}; }

Result<int> run_catalog(const Arguments& arguments, const Console& console) {
  const std::vector<std::string> verbs = {"list", "show"};
  const std::string& verb = arguments.words.front();
  if (verb == "list") return list(arguments, console);
  if (verb == "show") return show(arguments, console);
  return input_error("catalog: unknown word '{}'; it is list or show{}", verb,
                     find_kind(verb) != nullptr ? fmt::format("; did you mean list {}?", verb)
                                                : base::did_you_mean(verb, verbs));
}

}  // namespace ergometer::cli
