// The reader of plain YAML against the library: what it takes, it reads as the library does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "spec/yaml/yaml_document.h"

namespace {

using ergometer::spec::YamlValue;

bool same(const YamlValue& a, const YamlValue& b) {
  if (a.kind != b.kind || a.line != b.line || a.quoted != b.quoted || a.scalar != b.scalar ||
      a.items.size() != b.items.size() || a.pairs.size() != b.pairs.size())
    return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!same(*a.items[i], *b.items[i])) return false;
  for (size_t i = 0; i < a.pairs.size(); ++i)
    if (!same(*a.pairs[i].first, *b.pairs[i].first) ||
        !same(*a.pairs[i].second, *b.pairs[i].second))
      return false;
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer::spec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plain = parse_plain_yaml(text);
  if (plain == nullptr) return 0;
  const auto any = parse_any_yaml(text, "file.yaml");
  if (!any || !same(plain->root(), (*any)->root())) std::abort();
  return 0;
}
