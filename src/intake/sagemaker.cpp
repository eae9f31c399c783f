#include "intake/sagemaker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "intake/asked_gpus.h"
#include "intake/launch_script.h"
#include "intake/megatron_names.h"
#include "intake/program_reader.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/framework_options.h"
#include "intake/reader/python_objects.h"
#include "intake/reader/python_values.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

constexpr std::array kEstimators = std::to_array<std::string_view>(
    {"PyTorch", "HuggingFace", "ModelTrainer", "Estimator", "TorchEstimator"});

/// What of their arguments is read, with those that look alike.
constexpr std::array kOfEstimators = std::to_array<std::string_view>(
    {"entry_point", "source_dir", "instance_type", "instance_count", "instance_groups",
     "distribution", "distributed", "hyperparameters", "environment", "source_code", "compute",
     "container_entry_point", "dependencies", "image_uri", "image_uri_region"});

/// GPUs of an instance by its type.
struct Instance {
  std::string_view type;
  int64_t gpus;
};
constexpr std::array kInstances = std::to_array<Instance>(
    {{"p2.xlarge", 1},     {"p2.8xlarge", 8},       {"p2.16xlarge", 16},  {"p3.2xlarge", 1},
     {"p3.8xlarge", 4},    {"p3.16xlarge", 8},      {"p3dn.24xlarge", 8}, {"p4d.24xlarge", 8},
     {"p4de.24xlarge", 8}, {"p5.4xlarge", 1},       {"p5.48xlarge", 8},   {"p5e.48xlarge", 8},
     {"p5en.48xlarge", 8}, {"p6-b200.48xlarge", 8}, {"g4dn.12xlarge", 4}, {"g4dn.metal", 8},
     {"g5.12xlarge", 4},   {"g5.24xlarge", 4},      {"g5.48xlarge", 8},   {"g6.12xlarge", 4},
     {"g6.24xlarge", 4},   {"g6.48xlarge", 8},      {"g6e.12xlarge", 4},  {"g6e.24xlarge", 4},
     {"g6e.48xlarge", 8},  {"g4dn.xlarge", 1},      {"g4dn.2xlarge", 1},  {"g4dn.4xlarge", 1},
     {"g4dn.8xlarge", 1},  {"g4dn.16xlarge", 1},    {"g5.xlarge", 1},     {"g5.2xlarge", 1},
     {"g5.4xlarge", 1},    {"g5.8xlarge", 1},       {"g5.16xlarge", 1},   {"g6.xlarge", 1},
     {"g6.2xlarge", 1},    {"g6.4xlarge", 1},       {"g6.8xlarge", 1},    {"g6.16xlarge", 1},
     {"g6e.xlarge", 1},    {"g6e.2xlarge", 1},      {"g6e.4xlarge", 1},   {"g6e.8xlarge", 1},
     {"g6e.16xlarge", 1}});

/// "\"full_shard auto_wrap\"": quoted once more for a shell that takes the quotes away.
std::string unquoted(std::string text) {
  const bool quoted = text.size() > 1 && text.front() == text.back() &&
                      (text.front() == '"' || text.front() == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

class SageMakerProgram : PythonReader {
 public:
  SageMakerProgram(PythonProgram& program, const ScriptContext& context)
      : PythonReader(program), context_(context) {}

  Result<Reading> read() {
    ERGOMETER_TRY(find());
    ERGOMETER_ASSIGN(const std::string entry,
                     needed({"entry_point", "source_code.entry_script", "source_code.command"},
                            "the script that it starts"));
    const std::string key = key_of({"instance_type", "compute.instance_type"});
    const std::string nodes_key = key_of({"instance_count", "compute.instance_count"});
    if (first({key}).empty()) ERGOMETER_TRY(needed({key}, "a type of instance"));
    const int64_t all = gpus_of_instance(key);
    const bool open_type = all == 0, open_nodes = is_worked_out(nodes_key);
    ERGOMETER_ASSIGN(const int64_t nodes, open_nodes ? Result<int64_t>(1) : count_of({nodes_key}));
    ERGOMETER_ASSIGN(const bool launched, is_launched());
    ERGOMETER_ASSIGN(const int64_t each, open_type ? Result<int64_t>(1) : processes(all));
    StartedProgram program;
    // What the instance has, all GPUs are seen.
    std::string seen = "0";
    for (int64_t gpu = 1; gpu < all; ++gpu) seen += fmt::format(",{}", gpu);
    if (!launched && !open_type) program.environment["CUDA_VISIBLE_DEVICES"] = seen;
    add_environment(program);
    for (const auto& [name, value] : context_.environment) program.environment[name] = value;
    if (launched)
      program.words = {"torchrun", "--nnodes", std::to_string(nodes), "--nproc_per_node",
                       std::to_string(each)};
    else
      program.words = {"python"};
    if (launched && open_nodes) program.unknown_words[2] = nodes_key;
    if (launched && open_type) program.unknown_words[4] = key;
    if (!launched && nodes > 1)
      return input_error(
          "{}: instance_count: found {} without a distribution: every instance trains by itself; "
          "allowed: distribution={{\"torch_distributed\": {{\"enabled\": True}}}}",
          where("instance_count"), nodes);
    const std::string folder = first({"source_dir", "source_code.source_dir"});
    program.words.push_back(folder.empty() || folder.starts_with("s3:") ? entry
                                                                        : folder + "/" + entry);
    ERGOMETER_TRY(add_words(program));
    program.lines = {words_line_};
    ERGOMETER_ASSIGN(Reading reading, read_started_programs({program}, file_, context_));
    AskedGpus asked{nodes * each, where(key), "instance_count x GPUs of instance_type"};
    asked.starts_all = launched || open_type;
    if (open_type) asked.open = open_instance(key);
    if (open_nodes) asked.open = open_count(nodes_key);
    if (!launched || !asked.open.empty()) asked.gpus = 0;
    ERGOMETER_TRY(take_gpus(asked, reading));
    ERGOMETER_TRY(add_model_parallelism(reading));
    reading.form = "a training job of SageMaker";
    name_places(key, reading);
    return reading;
  }

 private:
  Result<void> find() {
    size_t found = 0;
    for (const std::string_view name : kEstimators)
      for (const auto& [at, open] : calls_of(text_, name)) {
        if (values_.reached(at, true) == false) continue;
        const auto arguments = arguments_of_call(text_, open);
        const bool starts = std::ranges::any_of(arguments, [](const PythonArgument& it) {
          return it.name == "entry_point" || it.name == "source_code" || it.value.starts_with("**");
        });
        if (!starts) continue;
        ++found;
        at_ = at;
        for (const PythonArgument& it : arguments) {
          if (it.value.starts_with("**")) {
            ERGOMETER_TRY(take_all(it));
          } else {
            ERGOMETER_TRY(take(it));
          }
        }
      }
    if (found == 1) return check_environment();
    return input_error(
        "{}: starts {} training jobs of SageMaker with an entry_point, of which one can be read",
        file_, found);
  }
  /// Estimators take any name and leave out those that they do not know.
  Result<void> take(const PythonArgument& it) {
    if (const auto meant = misspelt_argument(it.name, "", kOfEstimators))
      return input_error("{}:{}: {} is not known here; did you mean {}?", file_, it.line, it.name,
                         meant->says);
    expressions_[it.name] = it.value;
    if (it.name == "hyperparameters")
      words_line_ = it.line;
    else
      add(it);
    return {};
  }
  /// `**arguments` of a dictionary that is known.
  Result<void> take_all(const PythonArgument& it) {
    const std::string name = it.value.substr(2);
    const auto all = values_.value(name, at_);
    if (!all || !all->is_object())
      return input_error("{}:{}: found {}, whose items are not read; write the arguments out",
                         file_, it.line, it.value);
    for (const auto& [key, value] : all->items())
      ERGOMETER_TRY(take({key, fmt::format("{}[\"{}\"]", name, key), it.line}));
    return {};
  }
  /// Variables that only the run knows are not unset.
  Result<void> check_environment() {
    constexpr std::string_view kSection = "environment";
    const auto it = expressions_.find(kSection);
    const auto first = found_.lower_bound(fmt::format("{}.", kSection));
    const bool known = first != found_.end() && first->first.starts_with(kSection);
    if (it == expressions_.end() || known || it->second == "None") return {};
    const auto said = values_.value(it->second, at_);
    if (said && said->is_object()) return {};
    return input_error("{}: {}: found {}; allowed: a dictionary as a literal", where(kSection),
                       kSection, it->second.substr(0, 60));
  }
  void add(const PythonArgument& it) {
    // `compute=compute` of an object that was made above.
    std::string expression = it.value;
    size_t at = at_;
    for (const PythonBinding& made :
         values_.names().bindings(expression, values_.names().scope(at_)))
      if (made.at < at_ && made.expression.find('(') != made.expression.npos) {
        expression = made.expression;
        at = made.at;
      }
    if (const auto value = values_.value(it.value, at_); value && value->is_object())
      flatten(*value, it.name, it.line);
    else
      add_python_value(python_, expression, at, it.name, found_);
  }
  void flatten(const nlohmann::json& value, const std::string& path, int line) {
    if (value.is_object()) {
      for (const auto& [key, item] : value.items()) flatten(item, path + "." + key, line);
      return;
    }
    found_[path] = {value.is_discarded() ? "?" : yaml_text(value).value_or("?"), line,
                    fmt::format("{}:{}", file_, line)};
  }

  std::string where(std::string_view key) const {
    const auto it = found_.find(key);
    return it == found_.end() ? fmt::format("{}:{}", file_, line_at(text_, at_)) : it->second.from;
  }
  /// A count that is an expression, which only the run of the program knows.
  bool is_worked_out(const std::string& key) const {
    const auto it = found_.find(key);
    return it != found_.end() && !base::parse_number(it->second.text);
  }
  std::string open_count(const std::string& key) const {
    const auto it = expressions_.find(key);
    return fmt::format("{}: {}: {} is known only when the program runs; give --gpus", where(key),
                       key,
                       (it == expressions_.end() ? found_.at(key).text : it->second).substr(0, 60));
  }
  std::string open_instance(const std::string& key) const {
    return fmt::format(
        "{}: {}: found \"{}\", an instance whose GPUs are not known here; known: ml.p3, p4d, p4de, "
        "p5, p5e, p5en, p6-b200, g4dn, g5, g6, g6e; give --gpus",
        where(key), key, found_.at(key).text.substr(0, 60));
  }
  std::string key_of(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys)
      if (found_.contains(key)) return std::string(key);
    return std::string(*keys.begin());
  }
  std::string first(std::initializer_list<std::string_view> keys) const {
    const auto it = found_.find(key_of(keys));
    return it == found_.end() || it->second.text == "None" ? "" : it->second.text;
  }
  Result<std::string> needed(std::initializer_list<std::string_view> keys,
                             std::string_view what) const {
    const std::string value = first(keys);
    if (value.empty() || value.find_first_of("()? ") != value.npos)
      return input_error("{}: {}: found \"{}\"; allowed: {}, as a literal", where(key_of(keys)),
                         key_of(keys), value, what);
    return value;
  }
  Result<int64_t> count_of(std::initializer_list<std::string_view> keys) const {
    const std::string value = first(keys);
    if (value.empty()) return 1;
    const auto number = base::parse_integer(value);
    if (!number || *number < 1 || *number > spec::kMostRanks)
      return input_error("{}: {}: found \"{}\"; allowed: a whole number", where(key_of(keys)),
                         key_of(keys), value);
    return *number;
  }
  /// 0 of a type that is not known, or is known only when the program runs.
  int64_t gpus_of_instance(const std::string& key) const {
    std::string type = first({key});
    if (type.starts_with("ml.")) type.erase(0, 3);
    const auto known = std::ranges::find(kInstances, type, &Instance::type);
    return known == kInstances.end() ? 0 : known->gpus;
  }
  /// Whether a process is started for every GPU.
  Result<bool> is_launched() const {
    for (const auto& [key, value] : found_) {
      const bool switches = key.starts_with("distribution.") && key.ends_with(".enabled");
      if (switches && !is_off(value.text) && base::lower(value.text) != "true")
        return input_error("{}: {}: found {}; allowed: True or False, as a literal", value.from,
                           key, value.text == "?" ? "what only the run knows" : value.text);
      if (switches && base::lower(value.text) == "true" && !base::contains(key, "parameter_server"))
        return true;
    }
    constexpr std::string_view kSection = "distribution.";
    const auto part = found_.lower_bound(kSection);
    const bool has_parts = part != found_.end() && part->first.starts_with(kSection);
    const bool is_switched = std::ranges::any_of(found_, [&](const auto& it) {
      return it.first.starts_with(kSection) && it.first.ends_with(".enabled");
    });
    if (has_parts && !is_switched)
      return input_error(
          "{}: {}: found no \"enabled\"; allowed: {{\"torch_distributed\": {{\"enabled\": True}}}} "
          "and the like",
          part->second.from, part->first);
    const auto made = found_.find("distributed._target_");
    if (made != found_.end()) return true;
    const std::string said = first({"distribution", "distributed"});
    if (said.empty()) return false;
    return input_error("{}: distribution: found {}; allowed: a dictionary as a literal",
                       where(key_of({"distribution", "distributed"})), said);
  }
  /// Of an instance: one for every GPU, unless its launcher is told another number.
  Result<int64_t> processes(int64_t all) const {
    const auto keys = {std::string_view("distribution.mpi.processes_per_host"),
                       std::string_view("distributed.process_count_per_node")};
    if (first(keys).empty()) return all;
    ERGOMETER_ASSIGN(const int64_t number, count_of(keys));
    if (number > all)
      return input_error("{}: {}: found {}; allowed: at most {}, the GPUs of the instance",
                         where(key_of(keys)), key_of(keys), number, all);
    return number;
  }
  /// The estimator's `environment={"NAME": "value"}`.
  void add_environment(StartedProgram& program) const {
    constexpr std::string_view kSection = "environment.";
    for (auto it = found_.lower_bound(kSection);
         it != found_.end() && it->first.starts_with(kSection); ++it) {
      const std::string name = it->first.substr(kSection.size());
      if (it->second.text == "?")
        program.unknown.insert(name);
      else
        program.environment[name] = it->second.text;
    }
  }
  /// A file that lies beside the script that is started.
  std::string in_source(const std::string& text) const {
    const std::string folder = first({"source_dir", "source_code.source_dir"});
    const std::string path = (std::filesystem::path(folder) / text).string();
    std::error_code ignored;
    const auto here = std::filesystem::path(file_).parent_path() / path;
    return folder.empty() || !std::filesystem::is_regular_file(here, ignored) ? text : path;
  }
  /// Hyperparameters become words: {"epochs": 1} is --epochs 1.
  Result<void> add_words(StartedProgram& program) {
    std::vector<std::string>& words = program.words;
    const auto it = expressions_.find("hyperparameters");
    if (it == expressions_.end()) return {};
    const auto said = values_.value(it->second, at_);
    if (!said || !said->is_object())
      return input_error("{}: hyperparameters: found {}; allowed: a dictionary as a literal",
                         where(""), it->second.substr(0, 60));
    for (const auto& [key, item] : said->items()) {
      const bool known = !item.is_discarded() && !item.is_structured();
      if (!known && (trainer_reads(key) || megatron_reads(key)))
        return input_error(
            "{}: hyperparameters: what {} is, is known only when the program runs; a literal can "
            "be read",
            where(""), key);
      words.push_back("--" + key);
      if (!known) program.unknown_words[words.size()] = "the hyperparameter " + key;
      words.push_back(!known             ? ""
                      : item.is_string() ? in_source(unquoted(item.get<std::string>()))
                                         : yaml_text(item).value_or("None"));
    }
    return {};
  }
  /// GPUs stand in the instance.
  void name_places(const std::string& instance, Reading& reading) const {
    const spec::Settings all = reading.settings;
    for (const auto& [name, value] : all.all())
      if (base::contains(value.origin.key, "CUDA_VISIBLE_DEVICES"))
        reading.settings.set(name, value.text, {where(instance), instance});
  }
  /// SageMaker's own library, in its second version over PyTorch's FSDP.
  Result<void> add_model_parallelism(Reading& reading) const {
    constexpr std::string_view kSection = "distribution.smdistributed.modelparallel.",
                               kNewer = "distributed.smp.";
    const auto switched = found_.find(std::string(kSection) + "enabled");
    const bool is_newer = found_.contains(std::string(kNewer) + "_target_");
    if (!is_newer && (switched == found_.end() || base::lower(switched->second.text) != "true"))
      return {};
    const std::string parameters =
        is_newer ? std::string(kNewer) : std::string(kSection) + "parameters.";
    for (const auto& [name, setting] :
         {std::pair("tensor_parallel_degree", "tensor_model_parallel_size"),
          {"context_parallel_degree", "context_parallel_size"},
          {"expert_parallel_degree", "expert_model_parallel_size"},
          {"hybrid_shard_degree", "fsdp_shard_size"}}) {
      const auto it = found_.find(parameters + name);
      if (it == found_.end() || it->second.text == "0" || it->second.text == "1") continue;
      reading.settings.set(setting, it->second.text, {it->second.from, name});
    }
    for (const char* other : {"pipeline_parallel_degree", "partitions"}) {
      const auto it = found_.find(parameters + other);
      if (it == found_.end() || it->second.text == "1") continue;
      return input_error(
          "{}: {}: found {}; allowed: 1: pipelines of SageMaker's own are not "
          "modelled",
          it->second.from, other, it->second.text);
    }
    return {};
  }

  const ScriptContext& context_;
  size_t at_ = 0;
  int words_line_ = 1;
  std::map<std::string, std::string, std::less<>> expressions_;
  spec::FlatYaml found_;
};

}  // namespace

bool calls_sagemaker(const std::string& text) {
  return base::contains(text, "sagemaker") &&
         (base::contains(text, "entry_point") || base::contains(text, "entry_script")) &&
         base::contains(text, "instance_type");
}

Result<Reading> parse_sagemaker(const std::string& text, const std::string& file,
                                const ScriptContext& context) {
  PythonProgram program(without_comments(text), file, {context.environment, context.arguments});
  return SageMakerProgram(program, context).read();
}

}  // namespace ergometer::intake
