#include "intake/run_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/collection.h"
#include "base/nearest.h"
#include "base/text.h"
#include "intake/asked_gpus.h"
#include "intake/compose.h"
#include "intake/launch_script.h"
#include "intake/programs/launcher_options.h"
#include "intake/reader/placeholder.h"
#include "spec/settings/settings.h"
#include "spec/yaml/yaml_flat.h"
#include "spec/yaml/yaml_node.h"

namespace ergometer::intake {
namespace {

class RunFile {
 public:
  RunFile(const spec::FlatYaml& values, const std::string& file, const ScriptContext& context)
      : values_(values), file_(file), context_(context) {}

  /// As many lines as there are nodes, which is what tasks count.
  static std::string addresses(int64_t nodes) {
    constexpr int64_t kMost = 1024;
    std::string lines = "10.0.0.1";
    for (int64_t node = 1; node < std::min(nodes, kMost); ++node)
      lines += fmt::format("\n10.0.{}.{}", (node + 1) / 256, (node + 1) % 256);
    return lines;
  }

  /// SkyPilot runs its text on every node.
  AskedGpus asked_of_sky(StartedProgram& program) const {
    constexpr const char* kNodes = "num_nodes";
    const int64_t nodes = std::max<int64_t>(1, launcher_number(text(kNodes)));
    const std::string key = accelerators();
    const int64_t each = key.empty() ? 0 : gpus_of_node(key);
    take_environment("envs.", program);
    program.unknown.insert("SKYPILOT_NODE_RANK");
    give(kNodes, "SKYPILOT_NUM_NODES", std::to_string(nodes), program);
    give(kNodes, "SKYPILOT_NODE_IPS", addresses(nodes), program);
    if (each > 0 || is_placeholder(text(key)))
      give(key, "SKYPILOT_NUM_GPUS_PER_NODE", std::to_string(each), program);
    if (const AskedGpus open = asked_in_vain({kNodes, key}); !open.open.empty()) return open;
    if (each == 0) return {};
    return {std::min(nodes * each, spec::kMostRanks), where(key), "num_nodes x accelerators"};
  }

  /// dstack runs its commands on every node: `nodes: 2`, `resources: {gpu: H100:8}`.
  AskedGpus asked_of_dstack(const std::vector<std::string>& environment,
                            StartedProgram& program) const {
    constexpr const char* kNodes = "nodes";
    const int64_t nodes = std::max<int64_t>(1, launcher_number(text(kNodes)));
    const int64_t each = gpus_of_dstack();
    for (const std::string& one : environment)
      if (const size_t equals = one.find('='); equals != one.npos)
        program.environment[one.substr(0, equals)] = one.substr(equals + 1);
    take_environment("env.", program);
    program.unknown.insert({"DSTACK_NODE_RANK", "DSTACK_MASTER_NODE_IP"});
    give(kNodes, "DSTACK_NODES_NUM", std::to_string(nodes), program);
    const char* key = text(kOfDstack).empty() ? kCountOfDstack : kOfDstack;
    const AskedGpus open = asked_in_vain({kNodes, key});
    if (each == 0 && open.open.empty()) return {};
    give(key, "DSTACK_GPUS_PER_NODE", std::to_string(each), program);
    const int64_t gpus = std::min(nodes * each, spec::kMostRanks);
    if (open.open.empty())
      program.environment["DSTACK_GPUS_NUM"] = std::to_string(gpus);
    else
      program.unknown.insert("DSTACK_GPUS_NUM");
    return open.open.empty() ? AskedGpus{gpus, where(key), "nodes x resources.gpu"} : open;
  }

  AskedGpus asked_of_mcli(StartedProgram& program) const {
    const std::string key = values_.contains("compute.gpus") ? "compute.gpus" : "gpu_num";
    const int64_t gpus = std::min(launcher_number(text(key)), spec::kMostRanks);
    take_environment("env_variables.", program);
    program.unknown.insert({"NODE_RANK", "MASTER_ADDR", "MASTER_PORT"});
    if (gpus > 0 || is_placeholder(text(key)))
      give(key, "WORLD_SIZE", std::to_string(gpus), program);
    return gpus == 0 ? asked_in_vain({key}) : AskedGpus{gpus, where(key), key};
  }

  /// Azure ML starts the command as often as it says, with PyTorch's variables set.
  AskedGpus asked_of_azure(StartedProgram& program) const {
    constexpr const char* kNodes = "resources.instance_count";
    const int64_t nodes = std::max<int64_t>(1, launcher_number(text(kNodes))),
                  each = launcher_number(text(kOfInstance));
    take_environment("environment_variables.", program);
    program.unknown.insert({"NODE_RANK", "MASTER_ADDR", "MASTER_PORT"});
    give(kNodes, "AZUREML_NODE_COUNT", std::to_string(nodes), program);
    const AskedGpus open = asked_in_vain({kNodes, kOfInstance});
    // torchrun on every node is one process of Azure's, whose words count.
    const bool starts_all = each > 1 || is_placeholder(text(kOfInstance));
    if (!open.open.empty() && starts_all) program.unknown.insert("WORLD_SIZE");
    if (!open.open.empty()) return starts_all ? open : AskedGpus{};
    if (each == 0) return {};
    const int64_t gpus = std::min(nodes * each, spec::kMostRanks);
    // torchrun on every node is one process of Azure's.
    if (each > 1) program.environment["WORLD_SIZE"] = std::to_string(gpus);
    return {each > 1 ? gpus : 0, where(kOfInstance), "instance_count x process_count_per_instance"};
  }

  /// `gpu: A100:4..8` and `count: 2..4` leave the number to dstack; `A100:40GB..80GB` does not.
  Result<void> check_dstack() const {
    for (const char* key : {kOfDstack, kCountOfDstack})
      for (const std::string& part : base::split(text(key), ':'))
        if (base::contains(part, "..") && part.find_first_not_of("0123456789. ") == part.npos)
          return input_error("{}: {}: found \"{}\", a range; allowed: how many GPUs a node has",
                             where(key), key, text(key));
    return {};
  }

  /// What counts its nodes and GPUs: a key that is nearly one of them, or says no number, would
  /// leave one.
  Result<void> check_counts(std::span<const std::string_view> keys) const {
    for (const std::string_view key : keys) {
      if (const auto it = values_.find(key); it != values_.end()) {
        if (launcher_number(it->second.text) == 0 && !is_placeholder(it->second.text))
          return input_error("{}: {}: found \"{}\"; allowed: a whole number of at least 1",
                             where(key), key, it->second.text);
        continue;
      }
      for (const auto& [other, value] : values_) {
        constexpr size_t kLong = 8;
        const size_t edits = base::edit_distance(other, key);
        if (edits > 0 && edits <= (key.size() > kLong ? 2 : 1) && !base::contains(other, "cpu"))
          return input_error("{}: {} is not known here; did you mean {}?", where(other), other,
                             key);
      }
    }
    return {};
  }

  /// Determined starts a process for every slot where its launcher stands in front of the program.
  AskedGpus asked_of_determined(StartedProgram& program) const {
    for (const auto& [name, value] : context_.environment) program.environment[name] = value;
    // Without its launcher another one counts, or it is one process.
    const bool launches = base::contains(text("entrypoint"), kLauncher);
    if (is_placeholder(text(kSlots))) {
      program.unknown.insert(kSlotsVariable);
      return launches ? asked_in_vain({kSlots}) : AskedGpus{};
    }
    program.environment[kSlotsVariable] = text(kSlots);
    return {std::min(launcher_number(text(kSlots)), spec::kMostRanks), where(kSlots), kSlots,
            launches};
  }
  /// A list is started as it stands, without a shell.
  std::vector<std::string> words_of_determined(std::vector<std::string> list,
                                               StartedProgram& program) const {
    if (list.empty()) return {"bash", "-c", command_of_determined(text("entrypoint"))};
    for (std::string& word : list)
      if (!word.starts_with(kLauncher)) word = command_of_determined(word);
    const auto launcher = std::ranges::find_if(
        list, [](const std::string& word) { return word.starts_with(kLauncher); });
    if (launcher == list.end()) return list;
    std::vector<std::string> words = {"torchrun", "--nproc_per_node", text(kSlots)};
    if (is_placeholder(text(kSlots))) program.unknown_words[words.size() - 1] = kSlots;
    auto rest = launcher + 1;
    if (rest != list.end() && *rest == "--") ++rest;
    words.insert(words.end(), rest, list.end());
    return words;
  }
  /// `python3 -m determined.launch.torch_distributed -- python3 train.py` as torchrun's words.
  std::string command_of_determined(std::string command) const {
    const size_t at = command.find(kLauncher), python = command.rfind("python", at);
    if (at == command.npos || python == command.npos) return command;
    size_t end = std::min(command.find(' ', at), command.size());
    if (command.compare(end, 3, " --") == 0 && command.compare(end + 3, 1, " ") == 0) end += 3;
    command.replace(python, end - python,
                    fmt::format("torchrun --nproc_per_node ${}", kSlotsVariable));
    return command;
  }

  /// Azure ML writes inputs into the command: `${{inputs.batch_size}}`.
  std::string command_of_azure(StartedProgram& program) const {
    std::string command = text("command");
    constexpr std::string_view kOpen = "${{", kInputs = "inputs.";
    for (size_t at = command.find(kOpen); at != command.npos; at = command.find(kOpen, at + 1)) {
      const size_t end = command.find("}}", at);
      if (end == command.npos) break;
      std::string key = command.substr(at + kOpen.size(), end - at - kOpen.size());
      std::erase(key, ' ');
      std::string name = "AZUREML_" + key;
      std::ranges::replace(name, '.', '_');
      // Of data what lies at its path is not known, nor what a sweep or an output is.
      const bool known = key.starts_with(kInputs) && values_.contains(key);
      if (known)
        program.environment[name] = text(key);
      else
        program.unknown.insert(name);
      command.replace(at, end + 2 - at, "${" + name + "}");
    }
    return command;
  }

  std::string text(std::string_view key) const {
    const auto it = values_.find(key);
    return it == values_.end() ? "" : it->second.text;
  }

  bool is_of_determined() const { return !text("entrypoint").empty() && !text(kSlots).empty(); }

  bool is_of_dstack() const { return !text("commands").empty() && text("run").empty(); }
  /// Whether it is a command job of Azure ML.
  bool is_of_azure() const {
    return values_.contains(kOfInstance) || values_.contains("resources.instance_count");
  }

 private:
  static constexpr std::string_view kLauncher = "determined.launch.";
  static constexpr const char* kSlots = "resources.slots_per_trial";
  static constexpr const char* kSlotsVariable = "DET_SLOTS_PER_TRIAL";
  static constexpr const char* kOfInstance = "distribution.process_count_per_instance";
  static constexpr const char *kOfDstack = "resources.gpu", *kCountOfDstack = "resources.gpu.count";

  /// "nvidia:H100:80GB:8": the part that is a number alone; one GPU where none is.
  int64_t gpus_of_dstack() const {
    if (const int64_t count = launcher_number(text(kCountOfDstack)); count > 0) return count;
    const std::string said = text(kOfDstack);
    for (const std::string& part : base::split(said, ':'))
      if (const auto count = base::parse_integer(part); count && *count > 0) return *count;
    return said.empty() ? 0 : 1;
  }

  std::string where(std::string_view key) const {
    const auto it = values_.find(key);
    return fmt::format("{}:{}", file_, it == values_.end() ? 1 : it->second.line);
  }
  /// A variable that the program finds, unknown where the count is that it holds.
  void give(std::string_view key, const char* variable, std::string value,
            StartedProgram& program) const {
    if (is_placeholder(text(key)))
      program.unknown.insert(variable);
    else
      program.environment[variable] = std::move(value);
  }
  /// Of keys that count GPUs together: that the first that holds a placeholder leaves them open.
  AskedGpus asked_in_vain(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys)
      if (is_placeholder(text(key)))
        return {
            .where = {}, .key = {}, .open = placeholder_says(where(key), key, text(key), "gpus")};
    return {};
  }
  /// `accelerators: H100:8`, `accelerators: {H100: 8}`: the key that holds the number.
  std::string accelerators() const {
    constexpr std::string_view kKey = "resources.accelerators";
    const auto it = values_.lower_bound(kKey);
    const bool there = it != values_.end() &&
                       (it->first == kKey || it->first.starts_with(std::string(kKey) + "."));
    return there ? it->first : "";
  }
  /// Of a choice of several GPUs only where all have as many; 0: not told.
  int64_t gpus_of_node(const std::string& key) const {
    if (key != "resources.accelerators") return launcher_number(text(key));
    int64_t all = -1;
    for (const std::string& one : base::split(text(key), ',')) {
      const size_t colon = one.find(':');
      const int64_t gpus = colon == one.npos ? 1 : launcher_number(one.substr(colon + 1));
      if (all >= 0 && gpus != all) return 0;
      all = gpus;
    }
    return all;
  }
  void take_environment(std::string_view section, StartedProgram& program) const {
    for (const auto& [key, value] : values_)
      if (key.starts_with(section)) program.environment[key.substr(section.size())] = value.text;
    for (const auto& [name, value] : context_.environment) program.environment[name] = value;
  }

  const spec::FlatYaml& values_;
  const std::string& file_;
  const ScriptContext& context_;
};

/// Keys that say how many nodes and GPUs there are, as whole numbers.
using CountKeys = std::span<const std::string_view>;
constexpr std::array kCountsOfSky = std::to_array<std::string_view>({"num_nodes"});
constexpr std::array kCountsOfDstack = std::to_array<std::string_view>({"nodes"});
constexpr std::array kCountsOfAzure = std::to_array<std::string_view>(
    {"resources.instance_count", "distribution.process_count_per_instance"});
constexpr std::array kCountsOfDetermined =
    std::to_array<std::string_view>({"resources.slots_per_trial"});
constexpr std::array kCountsOfMcli = std::to_array<std::string_view>({"compute.gpus", "gpu_num"});

/// Keys of any of these files, but for accelerators by their names: `accelerators: {H100: 8}`.
bool counts_gpus(std::string_view key) {
  return base::contains(kCountsOfSky, key) || base::contains(kCountsOfDstack, key) ||
         base::contains(kCountsOfAzure, key) || base::contains(kCountsOfDetermined, key) ||
         base::contains(kCountsOfMcli, key) || key.starts_with("resources.gpu") ||
         key.starts_with("resources.accelerators");
}

/// The section as a file of its own; empty where there is none.
std::string section_text(const std::string& text, const char* section) {
  try {
    const YAML::Node document = spec::yaml_node(text);
    if (!document.IsMap() || !document[section]) return "";
    YAML::Emitter emitter;
    emitter << document[section];
    return emitter.good() ? std::string(emitter.c_str()) + "\n" : "";
  } catch (const YAML::Exception&) {
    return "";
  }
}

/// `accelerators: {H100:8, A100:8}`, a set of choices: keys without values, with the line of their
/// mapping.
void add_choices(const std::string& text, spec::FlatYaml& values) {
  try {
    const YAML::Node set = spec::yaml_node(text)["resources"]["accelerators"];
    if (!set.IsMap()) return;
    spec::FlatValue choices{"", set.Mark().line + 1};
    for (const auto& choice : set)
      if (choice.second.IsNull())
        choices.text += (choices.text.empty() ? "" : ",") + choice.first.as<std::string>();
    if (!choices.text.empty()) values["resources.accelerators"] = choices;
  } catch (const YAML::Exception&) {}
}

/// The items of a list: dstack's `commands` and `env`, an `entrypoint`.
std::vector<std::string> items_of(const std::string& text, const char* list) {
  std::vector<std::string> items;
  try {
    const YAML::Node all = spec::yaml_node(text)[list];
    if (all.IsSequence())
      for (const YAML::Node& item : all) items.push_back(item.as<std::string>());
  } catch (const YAML::Exception&) {
    items.clear();
  }
  return items;
}

/// Where what stands at a key begins; 0: not known.
int line_of_key(const std::string& text, const char* key) {
  try {
    const YAML::Node value = spec::yaml_node(text)[key];
    return value ? value.Mark().line + 1 : 0;
  } catch (const YAML::Exception&) {
    return 0;
  }
}

/// Variables that an experiment of Determined sets: a list of NAME=VALUE, or such lists by what its
/// slots are, of which those of GPUs count.
Result<void> add_determined_variables(const std::string& text, const std::string& file,
                                      StartedProgram& program) {
  constexpr const char* kKey = "environment_variables";
  constexpr std::array kSlotKinds = std::to_array<std::string_view>({"cpu", "cuda", "gpu", "rocm"});
  try {
    const YAML::Node document = spec::yaml_node(text);
    const YAML::Node section = document["environment"];
    if (!section || !section.IsMap() || !section[kKey] || section[kKey].IsNull()) return {};
    const YAML::Node all = section[kKey];
    std::vector<YAML::Node> lists;
    if (all.IsSequence()) lists.push_back(all);
    bool is_known = all.IsSequence() || all.IsMap();
    if (all.IsMap())
      for (const auto& one : all) {
        const std::string slots = one.first.as<std::string>();
        is_known = is_known && one.second.IsSequence() && base::contains(kSlotKinds, slots);
        if (is_known && slots != "cpu") lists.push_back(one.second);
      }
    if (!is_known)
      return input_error(
          "{}:{}: environment.{}: found other keys or values; allowed: a list of NAME=VALUE, or "
          "such lists under cpu, cuda, gpu and rocm",
          file, all.Mark().line + 1, kKey);
    for (const YAML::Node& list : lists)
      for (const YAML::Node& item : list) {
        const std::string line = item.as<std::string>();
        if (const size_t equals = line.find('='); equals != line.npos)
          program.environment[line.substr(0, equals)] = line.substr(equals + 1);
      }
    return {};
  } catch (const YAML::Exception& error) {
    return input_error("{}:{}: {}", file, error.mark.line + 1, error.msg);
  }
}

}  // namespace

Result<Reading> parse_run_file(const std::string& text, const std::string& file,
                               const ScriptContext& context) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, spec::flatten_yaml(text, file));
  if (values.contains("run")) add_choices(text, values);
  for (auto& [key, value] : values)
    if (counts_gpus(key)) value.text = with_values(value.text, context.environment);
  const RunFile run(values, file, context);
  const bool of_compose = values.lower_bound("services.") != values.end() &&
                          values.lower_bound("services.")->first.starts_with("services.");
  if (of_compose) return parse_compose(text, file, context);
  const bool of_determined = run.is_of_determined();
  const bool of_sky = values.contains("run"), of_dstack = run.is_of_dstack(),
             of_azure = !of_sky && run.is_of_azure();
  if (of_dstack) ERGOMETER_TRY(run.check_dstack());
  ERGOMETER_TRY(run.check_counts(of_sky          ? CountKeys(kCountsOfSky)
                                 : of_dstack     ? CountKeys(kCountsOfDstack)
                                 : of_azure      ? CountKeys(kCountsOfAzure)
                                 : of_determined ? CountKeys(kCountsOfDetermined)
                                                 : CountKeys(kCountsOfMcli)));
  StartedProgram program;
  if (of_determined) ERGOMETER_TRY(add_determined_variables(text, file, program));
  const AskedGpus asked = of_sky          ? run.asked_of_sky(program)
                          : of_dstack     ? run.asked_of_dstack(items_of(text, "env"), program)
                          : of_azure      ? run.asked_of_azure(program)
                          : of_determined ? run.asked_of_determined(program)
                                          : run.asked_of_mcli(program);
  const char* key = of_sky          ? "run"
                    : of_dstack     ? "commands"
                    : of_determined ? "entrypoint"
                                    : "command";
  program.words = {"bash", "-c",
                   of_dstack  ? fmt::format("{}\n", fmt::join(items_of(text, key), "\n"))
                   : of_azure ? run.command_of_azure(program)
                              : run.text(key)};
  program.lines = {line_of_key(text, key)};
  if (of_determined) program.words = run.words_of_determined(items_of(text, key), program);
  if (const std::string parameters = section_text(text, "parameters");
      !of_sky && !parameters.empty())
    program.files["/mnt/config/parameters.yaml"] = parameters;
  ERGOMETER_ASSIGN(Reading reading, read_started_programs({program}, file, context));
  ERGOMETER_TRY(take_gpus(asked, reading));
  reading.form = of_sky          ? "a task of SkyPilot"
                 : of_dstack     ? "a task of dstack"
                 : of_azure      ? "a command job of Azure ML"
                 : of_determined ? "an experiment of Determined"
                                 : "a run of mcli";
  return reading;
}

}  // namespace ergometer::intake
