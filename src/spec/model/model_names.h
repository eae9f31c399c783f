#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "spec/catalog/read.h"

namespace ergometer::spec {

/// The catalog's model by a name as hubs and frameworks write it:
/// "meta-llama/Llama-3.1-8B-Instruct", "Qwen2.5_32B", "llama3.1_8B". What only says how a model was
/// tuned does not count. Null when there is none.
const CatalogEntry* find_hub_model(std::string_view words);

/// Whether a name says that its weights are stored in 4 bit: "unsloth/llama-3-8b-bnb-4bit".
bool is_stored_in_4_bit(std::string_view name);

/// The catalog's sizes of a family: of "llama3" llama3-8b, llama3-70b, ...
std::vector<std::string_view> model_sizes(std::string_view family);

/// The catalog's model that the words may mean in another spelling, else the name most like them;
/// nothing if none is near.
std::optional<std::string_view> nearest_model(std::string_view words);

/// What of the published model a catalog's file leaves out ("the vision tower, 0.42 B parameters");
/// empty: nothing.
std::string left_out_of(const CatalogEntry& entry);

}  // namespace ergometer::spec
