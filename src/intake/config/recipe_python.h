#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/python_values.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// A published recipe of NeMo 2 or Megatron-Bridge with what is said over it.
struct NamedRecipe {
  std::string name;   ///< "llama3_8b"
  std::string where;  ///< "train.py:8"
  bool of_bridge = false;
  bool tunes = false;     ///< a recipe for fine-tuning
  spec::FlatYaml values;  ///< by the paths of its YAML
};
/// What a recipe sets itself and nothing here says stays open: --tp, --gbs, ... say it.
Result<Reading> read_named_recipe(const NamedRecipe& recipe, const std::string& file);

/// `recipe = llm.llama3_8b.pretrain_recipe(num_nodes=2)` and the assignments behind it, or the same
/// of Megatron-Bridge's `pretrain_config`. Refused: none, or several.
Result<Reading> parse_recipe_python(const std::string& text, const std::string& file,
                                    PythonStart start = {});
/// Whether the text calls such a recipe.
bool calls_recipe(const std::string& text);

}  // namespace ergometer::intake
