#include "intake/config/recipe_python.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/nemo_files.h"
#include "intake/reader/framework_options.h"
#include "intake/reader/python_objects.h"
#include "spec/catalog/read.h"
#include "spec/model/model_names.h"

namespace ergometer::intake {
namespace {

/// "llama31_70b" is the hub's llama3.1-70b.
const spec::CatalogEntry* model_of_recipe(std::string name) {
  for (const auto& [ours, theirs] : {std::pair("llama31", "llama3.1"),
                                     {"llama32", "llama3.2"},
                                     {"llama33", "llama3.3"},
                                     {"qwen25", "qwen2.5"},
                                     {"deepseek_v2_lite", "deepseek-v2-lite"}})
    if (name.starts_with(ours)) name.replace(0, std::string_view(ours).size(), theirs);
  // "llama3_8b_16k" is the same model with longer sequences.
  for (const char* length : {"_16k", "_64k", "_128k"})
    if (name.ends_with(length)) name.resize(name.size() - std::string_view(length).size());
  std::ranges::replace(name, '_', '-');
  const spec::CatalogEntry* entry = spec::find_in_catalog(spec::CatalogKind::kModel, name);
  return entry != nullptr ? entry : spec::find_hub_model(name);
}

/// What every recipe sets, where it lies, and the option that says it.
struct OwnValue {
  std::string_view setting, nemo, bridge, option;
};
constexpr std::array kOwnValues = std::to_array<OwnValue>({
    {"tensor_model_parallel_size", "trainer.strategy.", "model.", "--tp"},
    {"pipeline_model_parallel_size", "trainer.strategy.", "model.", "--pp"},
    {"context_parallel_size", "trainer.strategy.", "model.", "--cp"},
    {"micro_batch_size", "data.", "train.", "--mbs"},
    {"global_batch_size", "data.", "train.", "--gbs"},
    {"seq_length", "data.", "dataset.", "--seq"},
});

void leave_open(const NamedRecipe& recipe, const OwnValue& own, Reading& reading) {
  const std::string_view section = recipe.of_bridge ? own.bridge : own.nemo;
  const std::string key = std::string(section) + std::string(own.setting);
  if (recipe.values.contains(key) || reading.settings.find(own.setting) != nullptr) return;
  reading.open[std::string(own.setting)] = fmt::format(
      "{}: the recipe {} sets {} itself, to what is not known here; give {}, or assign it",
      recipe.where, recipe.name, key, own.option);
}

/// Arguments of recipes that divide a job, by both of their names; the later one is the YAML's.
struct Division {
  std::string_view argument, name;
};
constexpr std::array kDivisions = std::to_array<Division>({
    {"tensor_parallelism", "tensor_model_parallel_size"},
    {"pipeline_parallelism", "pipeline_model_parallel_size"},
    {"virtual_pipeline_parallelism", "virtual_pipeline_model_parallel_size"},
    {"context_parallelism", "context_parallel_size"},
    {"expert_parallelism", "expert_model_parallel_size"},
    {"sequence_parallelism", "sequence_parallel"},
});
/// Other arguments by the paths of their YAML.
struct ArgumentPath {
  std::string_view argument, nemo, bridge;
};
constexpr std::array kArgumentPaths = std::to_array<ArgumentPath>({
    {"num_nodes", "trainer.num_nodes", ""},
    {"num_gpus_per_node", "trainer.devices", ""},
    {"global_batch_size", "data.global_batch_size", "train.global_batch_size"},
    {"micro_batch_size", "data.micro_batch_size", "train.micro_batch_size"},
    {"seq_length", "data.seq_length", "dataset.sequence_length"},
    {"precision_config", "", "mixed_precision"},
});

/// Names of all of these arguments.
std::vector<std::string_view> read_arguments() {
  std::vector<std::string_view> names;
  for (const Division& it : kDivisions) names.insert(names.end(), {it.argument, it.name});
  for (const ArgumentPath& it : kArgumentPaths) names.push_back(it.argument);
  return names;
}

std::string path_of_argument(std::string_view argument, bool of_bridge) {
  for (const Division& it : kDivisions)
    if (it.argument == argument || it.name == argument)
      return fmt::format("{}.{}", of_bridge ? "model" : "trainer.strategy", it.name);
  for (const ArgumentPath& it : kArgumentPaths)
    if (it.argument == argument) return std::string(of_bridge ? it.bridge : it.nemo);
  return "";
}

bool takes_section(std::string_view first) {
  constexpr std::array kSections = std::to_array<std::string_view>(
      {"trainer", "data", "model", "optim", "peft", "train", "ddp", "optimizer", "dataset",
       "mixed_precision", "comm_overlap", "tokenizer"});
  return base::contains(kSections, first);
}

constexpr std::array kCalls = std::to_array<std::string_view>(
    {"pretrain_recipe", "finetune_recipe", "pretrain_config", "finetune_config"});

/// A call of a recipe: `llm.llama3_8b.pretrain_recipe(...)`, `llama3_8b_pretrain_config(...)`.
struct RecipeCall {
  size_t at = 0, open = 0;
  std::string name;
  bool of_bridge = false, tunes = false;
};

/// The module that `from ...llama3_8b import pretrain_config` takes a recipe from.
std::string imported_from(const std::string& text, std::string_view call) {
  for (const size_t at : words_of(text, call)) {
    const size_t begin = text.rfind('\n', at) + 1;
    const std::string before = trimmed(std::string_view(text).substr(begin, at - begin));
    const size_t import = before.find(" import");
    if (!before.starts_with("from ") || import == before.npos) continue;
    const std::string module = trimmed(std::string_view(before).substr(5, import - 5));
    return std::string(base::last_part(module, '.'));
  }
  return "";
}

std::vector<RecipeCall> recipe_calls(const std::string& text) {
  std::vector<RecipeCall> calls;
  for (const std::string_view word : kCalls)
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      const size_t open = at + word.size();
      if (open >= text.size() || text[open] != '(') continue;
      size_t begin = at;
      while (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == '.')) --begin;
      const size_t line = text.rfind('\n', at) + 1;
      if (trimmed(std::string_view(text).substr(line, begin - line)).ends_with("def")) continue;
      std::string owner = text.substr(begin, at - begin);
      while (owner.ends_with('.') || owner.ends_with('_')) owner.pop_back();
      owner.erase(0, owner.rfind('.') + 1);  // npos + 1 is 0
      if (owner.empty()) owner = imported_from(text, word);
      if (owner.empty()) continue;  // the program's own
      calls.push_back({begin, open, owner, word.ends_with("config"), word.starts_with("finetune")});
    }
  return calls;
}

}  // namespace

bool calls_recipe(const std::string& text) {
  return (base::contains(text, "nemo") || base::contains(text, "megatron.bridge")) &&
         !recipe_calls(without_comments(text)).empty();
}

Result<Reading> read_named_recipe(const NamedRecipe& recipe, const std::string& file) {
  ERGOMETER_ASSIGN(Reading reading, recipe.of_bridge ? read_megatron_bridge(recipe.values, file)
                                                     : read_nemo_2(recipe.values, file));
  const spec::Origin origin{recipe.where, recipe.name};
  if (reading.settings.find("model") == nullptr) {
    if (const spec::CatalogEntry* entry = model_of_recipe(recipe.name))
      reading.settings.set("model", entry->name, origin);
    else
      reading.notes.push_back(fmt::format(
          "its model {} is not in the catalog; --model says which one is meant", recipe.name));
  }
  for (const OwnValue& own : kOwnValues) leave_open(recipe, own, reading);
  // The libraries' recipes leave it off; the makers' fastest configurations, which fill what nobody
  // says, turn it on for some models.
  if (reading.settings.find("fsdp") == nullptr)
    reading.defaults.set("fsdp", "false", {file, "the recipe's default"});
  const auto* tensor = reading.settings.find("tensor_model_parallel_size");
  const auto* stages = reading.settings.find("pipeline_model_parallel_size");
  if (tensor != nullptr && tensor->text != "1")
    leave_open(recipe, {"sequence_parallel", "trainer.strategy.", "model.", "--sp or --no-sp"},
               reading);
  if (stages != nullptr && stages->text != "1")
    leave_open(recipe,
               {"virtual_pipeline_model_parallel_size", "trainer.strategy.", "model.", "--vpp"},
               reading);
  if (recipe.tunes && reading.settings.find("lora") == nullptr && !recipe.values.contains("peft"))
    reading.open["lora"] = fmt::format(
        "{}: the recipe {} says which adapters it trains, which is not known here; give --lora "
        "RANK, or 0 for none",
        recipe.where, recipe.name);
  reading.form = recipe.of_bridge ? "a recipe of Megatron-Bridge" : "a recipe of NeMo 2";
  return reading;
}

Result<Reading> parse_recipe_python(const std::string& written, const std::string& file,
                                    PythonStart start) {
  PythonProgram program(without_comments(written), file, std::move(start));
  const std::string& text = program.text;
  PythonValues& values = program.values;
  std::vector<RecipeCall> calls = recipe_calls(text);
  std::erase_if(calls, [&](const RecipeCall& call) {
    const auto reached = values.reached(call.at, true);
    return reached && !*reached;
  });
  if (calls.size() != 1)
    return input_error(
        "{}: calls {} recipes, of which one can be read; give a copy of the program with one alone",
        file, calls.size());
  const RecipeCall& call = calls.front();
  NamedRecipe recipe{call.name,
                     fmt::format("{}:{}", file, line_at(text, call.at)),
                     call.of_bridge,
                     call.tunes,
                     {}};
  std::vector<Leftover> misspelt;
  for (const PythonArgument& it : arguments_of_call(text, call.open)) {
    if (auto leftover =
            misspelt_argument(it.name, fmt::format("{}:{}", file, it.line), read_arguments()))
      misspelt.push_back(*std::move(leftover));
    if (it.value.starts_with('*'))
      return input_error(
          "{}:{}: found {}, which is known only when the program runs; write the arguments out",
          file, it.line, it.value.substr(0, 60));
    if (it.name == "peft_scheme" && it.value == "None") {
      recipe.values["peft"] = {"None", it.line};
      continue;
    }
    const std::string path = path_of_argument(it.name, call.of_bridge);
    if (!path.empty()) add_python_value(program, it.value, call.at, path, recipe.values);
  }
  add_python_assignments(program, 0, text.size(), takes_section, recipe.values);
  if (const auto whole = recipe.values.find("peft"); whole != recipe.values.end())
    recipe.tunes = recipe.tunes && whole->second.text != "None";
  ERGOMETER_ASSIGN(Reading reading, read_named_recipe(recipe, file));
  reading.leftovers.insert(reading.leftovers.end(), misspelt.begin(), misspelt.end());
  if (!values.taken().empty()) {
    std::string all;
    for (const std::string& one : values.taken()) all += (all.empty() ? "" : ", ") + one;
    reading.notes.push_back(fmt::format("not set, taken as the file says: {}", all));
  }
  return reading;
}

}  // namespace ergometer::intake
