#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/catalog/read.h"

namespace ergometer::spec {

/// Ways in which a squashed name ("llama31405b", base::squashed) may be spelled elsewhere, the name
/// itself first: the family's version or the size in another way, or another release of the same
/// shape (catalog/tables/model_spellings.csv).
std::vector<std::string> model_spellings(std::string_view key);

/// The catalog's model whose name or alias is squashed to the key; null without one.
const CatalogEntry* find_squashed_model(std::string_view key);

}  // namespace ergometer::spec
