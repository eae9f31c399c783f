// YAML files that hold Megatron-LM's arguments under their own names.
#include "intake/megatron_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/launch_script.h"
#include "intake/megatron_names.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/framework_options.h"
#include "spec/model/model_names.h"
#include "spec/recipe/recipe.h"

namespace ergometer::intake {
namespace {

/// What a bool of a configuration is called on Megatron-LM's command line when it is false.
struct Negation {
  std::string_view name, argument;
};
constexpr std::array kNegations = std::to_array<Negation>({
    {"add_bias_linear", "disable-bias-linear"},
    {"gradient_accumulation_fusion", "no-gradient-accumulation-fusion"},
    {"apply_rope_fusion", "no-rope-fusion"},
    {"overlap_p2p_comm", "no-overlap-p2p-communication"},
    {"add_position_embedding", "no-position-embedding"},
});
/// What it is called when it is true and has another name.
constexpr std::array kOtherNames = std::to_array<Negation>({
    {"recompute_activations", "recompute-activations"},
    {"use_flash_attn", "use-flash-attn"},
    {"num_moe_experts", "num-experts"},
    {"rotary_percent", ""},
});

/// A word that a shell leaves as it is; nothing else is an argument's value.
std::string shell_quoted(std::string_view value) {
  std::string text = "'";
  for (const char c : value)
    if (c != '\'' && c != '\n' && c != '\r') text += c;
  return text + "'";
}

/// Arguments line by line, each on the line of the file that says it.
class ArgumentLines {
 public:
  void add(const std::string& name, const spec::FlatValue& value) {
    const std::string word = base::lower(value.text);
    const bool yes = word == "true", no = word == "false";
    if (word == "none" || word == "null" || word.empty()) return;
    const spec::SettingInfo* info = spec::find_setting(name);
    const bool is_switch = info != nullptr && info->kind == spec::SettingKind::kSwitch;
    for (const Negation& it : kNegations)
      if (it.name == name) return no ? write(value.line, fmt::format("--{}", it.argument)) : void();
    std::string argument = base::dashed(name);
    for (const Negation& it : kOtherNames)
      if (it.name == name) argument = it.argument;
    if (argument.empty() || (no && !is_switch)) return;
    // A gate, whatever its activation.
    const bool is_gate = name == "swiglu" || name == "gated_linear_unit";
    if (name == "activation_func" || is_gate) {
      if ((word == "swiglu" || (is_gate && yes)) && !has("--swiglu")) write(value.line, "--swiglu");
      if (word == "squaredrelu") write(value.line, "--squared-relu");
      return;
    }
    if (is_switch && (yes || no)) return write(value.line, fmt::format("--{}={}", argument, word));
    if (yes) return write(value.line, "--" + argument);
    write(value.line, fmt::format("--{} {}", argument, shell_quoted(value.text)));
  }
  void write(int line, const std::string& argument) {
    const auto index = static_cast<size_t>(std::clamp(line, 1, 1'000'000) - 1);
    if (lines_.size() <= index) lines_.resize(index + 1);
    lines_[index] += (lines_[index].empty() ? "" : " ") + argument;
  }
  bool has(std::string_view argument) const {
    return std::ranges::any_of(
        lines_, [&](const std::string& line) { return base::contains(line, argument); });
  }
  /// One command over all lines.
  std::string text() const {
    std::string text;
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (i > 0) text += " \\\n";
      text += lines_[i];
    }
    return text + '\n';
  }

 private:
  std::vector<std::string> lines_;
};

Result<Reading> read_lines(const ArgumentLines& lines, const std::string& file,
                           std::string_view framework, const spec::FlatYaml& values) {
  std::vector<std::string> ignored;
  Reading reading;
  ERGOMETER_ASSIGN(reading.settings, parse_megatron_arguments(lines.text(), file, ignored));
  for (const std::string& name : ignored) {
    const std::string key = option_name(name);
    std::string where = file;
    for (const auto& [path, value] : values)
      if (path == key || path.ends_with('.' + key)) where = fmt::format("{}:{}", file, value.line);
    reading.leftovers.push_back(classify(framework, key, where));
  }
  return reading;
}

/// "${PRIMUS_MODEL:llama3.1_8B}" is llama3.1_8B where nobody sets the variable.
void replace_variables(spec::FlatYaml& values, const ScriptContext& context,
                       std::vector<std::string>& notes) {
  for (auto& [key, value] : values)
    for (size_t at = value.text.find("${"); at != std::string::npos;
         at = value.text.find("${", at)) {
      const size_t end = value.text.find('}', at), colon = value.text.find(':', at);
      if (end == std::string::npos) break;
      const bool has_default = colon < end;
      const std::string name = value.text.substr(at + 2, (has_default ? colon : end) - at - 2);
      const std::string fallback = has_default ? value.text.substr(colon + 1, end - colon - 1) : "";
      if (const auto it = context.environment.find(name); it != context.environment.end()) {
        value.text.replace(at, end - at + 1, it->second);
        at += it->second.size();
        continue;
      }
      if (!has_default) {
        at = end;
        continue;
      }
      if (key.find("overrides.") != key.npos || key.ends_with(".model"))
        notes.push_back(
            fmt::format("line {}: {} = {}, what the file says where the environment "
                        "does not",
                        value.line, name, fallback));
      value.text.replace(at, end - at + 1, fallback);
    }
}

/// What Primus sets for Megatron-LM is its own, not what Megatron-LM does without arguments.
void drop_megatron_defaults(spec::Settings& settings, const std::string& file) {
  std::vector<std::string> names;
  for (const auto& [name, value] : settings.all())
    if (value.origin.text.starts_with(file + ", without")) names.push_back(name);
  for (const std::string& name : names) settings.erase(name);
  settings.erase("software");
}

void set_primus_model(const spec::FlatYaml& values, const std::string& module,
                      const std::string& file, Reading& reading) {
  const auto it = values.find(module + "model");
  if (it == values.end() || reading.settings.find("model") != nullptr) return;
  std::string name = it->second.text;
  for (const char* ending : {".yaml", ".yml"})
    if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
  name.erase(0, name.rfind('/') + 1);  // npos + 1 is 0
  if (const auto* entry = spec::find_hub_model(name)) name = entry->name;
  reading.settings.set("model", name,
                       {fmt::format("{}:{}", file, it->second.line), module + "model"});
}

bool is_read_of_module(std::string_view key, const std::string& module) {
  return key == module + "framework" || key == module + "config" || key == module + "model" ||
         key.starts_with(module + "overrides");
}

/// A size beside a model that is named: fewer layers of it are read, anything else would be another
/// model's.
void read_other_size(const std::string& name, const spec::FlatValue& value, const std::string& key,
                     const std::string& file, Reading& reading) {
  const std::string where = fmt::format("{}:{}", file, value.line);
  if (name == "num_layers") return reading.settings.set(name, value.text, {where, key});
  // A table of positions is small, and rotary ones have none.
  if (name == "max_position_embeddings") return;
  reading.leftovers.push_back(
      {Leftover::Kind::kNotModelled, name, where,
       "memory and time: a size of the model; predicted as the named one has it"});
}

}  // namespace

Result<Reading> parse_primus(const std::string& text, const std::string& file,
                             const ScriptContext& context) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, spec::flatten_yaml(text, file));
  std::vector<std::string> notes;
  replace_variables(values, context, notes);
  std::string module;
  for (const auto& [key, value] : values)
    if (key.starts_with("modules.") && key.ends_with(".framework") && module.empty())
      module = key.substr(0, key.rfind('.') + 1);
  if (module.empty()) return input_error("{}: modules: no module with a framework", file);
  const spec::FlatValue& framework = values.find(module + "framework")->second;
  if (framework.text != "megatron")
    return input_error(
        "{}:{}: {}framework: found \"{}\"; allowed: megatron (torchtitan's own TOML can be read)",
        file, framework.line, module, framework.text);
  const std::string overrides = module + "overrides.";
  const bool named =
      values.contains(module + "model") && !values.contains(overrides + "hidden_size");
  ArgumentLines lines;
  Reading other;
  for (const auto& [key, value] : values) {
    if (!key.starts_with(overrides) || value.text == "null") continue;
    const std::string name = key.substr(overrides.size());
    const bool size = name == "num_moe_experts" || find_megatron_dimension(name) != nullptr;
    if (named && size)
      read_other_size(name, value, key, file, other);
    else
      lines.add(name, value);
  }
  if (!lines.has("--fp16")) lines.write(1, "--bf16");
  ERGOMETER_ASSIGN(Reading reading, read_lines(lines, file, "primus", values));
  drop_megatron_defaults(reading.settings, file);
  const auto shards = values.find(overrides + "use_distributed_optimizer");
  // Beside FSDP it must be off, and says nothing.
  const bool fsdp = reading.settings.find("fsdp") != nullptr;
  if (!fsdp && shards != values.end() && base::lower(shards->second.text) == "false")
    reading.settings.set("zero", "0",
                         {fmt::format("{}:{}", file, shards->second.line), shards->first});
  set_primus_model(values, module, file, reading);
  add_reading(reading, std::move(other));
  for (const auto& [key, value] : values) {
    if (is_read_of_module(key, module)) continue;
    const std::string where = fmt::format("{}:{}", file, value.line);
    if (key.starts_with(module) && divides_job(key) && !is_off(value.text) && value.text != "1")
      return input_error("{}: {}: stands outside {}, where it counts", where, key,
                         overrides.substr(0, overrides.size() - 1));
    reading.leftovers.push_back(classify("primus", key, where));
  }
  spec::set_framework(reading.settings, "primus", file);
  reading.form = "an experiment of Primus";
  reading.notes = std::move(notes);
  return reading;
}

Result<Reading> parse_megatron_yaml(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values, spec::flatten_yaml(text, file));
  ArgumentLines lines;
  for (const auto& [key, value] : values) {
    if (value.text.empty()) continue;
    lines.add(std::string(base::last_part(key, '.')), value);
  }
  ERGOMETER_ASSIGN(Reading reading, read_lines(lines, file, "megatron-lm", values));
  reading.form = "Megatron-LM's arguments in YAML";
  return reading;
}

}  // namespace ergometer::intake
