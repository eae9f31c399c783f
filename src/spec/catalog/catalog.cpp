#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "spec/catalog/catalog_data.h"
#include "spec/catalog/read.h"

namespace ergometer::spec {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

/// The text between the brackets of `aliases: [a, b]` or `"aliases": ["a", "b"]`; empty without
/// one.
std::string_view alias_list(std::string_view text) {
  for (size_t at = text.find("aliases"); at != text.npos; at = text.find("aliases", at + 1)) {
    const char before = at == 0 ? '\n' : text[at - 1];
    const size_t open = text.find_first_not_of("\": \t", at + 7);
    if ((before != '\n' && before != '"') || open == text.npos || text[open] != '[') continue;
    const size_t close = text.find(']', open);
    return close == text.npos ? std::string_view() : text.substr(open + 1, close - open - 1);
  }
  return {};
}

std::vector<CatalogEntry> make_catalog() {
  std::vector<CatalogEntry> entries;
  for (const EmbeddedFile& file : embedded_files()) {
    const std::string_view text(file.begin, static_cast<size_t>(file.end - file.begin));
    entries.push_back({file.kind, file.name, text, file.path});
  }
  return entries;
}

}  // namespace

const std::vector<CatalogEntry>& catalog() {
  static const std::vector<CatalogEntry> entries = make_catalog();
  return entries;
}

std::vector<std::string_view> aliases_of(const CatalogEntry& entry) {
  return base::trimmed_parts(alias_list(entry.text), ',', " \t\r\n\"'");
}

const CatalogEntry* find_in_catalog(CatalogKind kind, std::string_view name) {
  for (const CatalogEntry& entry : catalog())
    if (entry.kind == kind && same_letters(entry.name, name)) return &entry;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != kind) continue;
    for (const std::string_view alias : aliases_of(entry))
      if (same_letters(alias, name)) return &entry;
  }
  return nullptr;
}

std::vector<std::string_view> catalog_names(CatalogKind kind) {
  std::vector<std::string_view> names;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != kind) continue;
    names.push_back(entry.name);
    for (const std::string_view alias : aliases_of(entry)) names.push_back(alias);
  }
  return names;
}

}  // namespace ergometer::spec
