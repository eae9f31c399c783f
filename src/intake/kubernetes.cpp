#include "intake/kubernetes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/collection.h"
#include "base/nearest.h"
#include "base/text.h"
#include "intake/launch_script.h"
#include "intake/reader/placeholder.h"
#include "spec/settings/settings.h"
#include "spec/yaml/yaml_node.h"

namespace ergometer::intake {
namespace {

using spec::kMostRanks;

constexpr int kDeepestManifest = 32, kMostNodes = 100'000;

/// Kinds whose counts of pods are read; others multiply theirs in ways of their own.
constexpr std::array<std::string_view, 9> kWorkloads = {"Pod",    "Job",         "CronJob",
                                                        "JobSet", "StatefulSet", "PyTorchJob",
                                                        "MPIJob", "TrainJob",    "LeaderWorkerSet"};

/// What says which containers there are and how often. Whoever does not read one of them counts
/// other GPUs.
constexpr std::array kCounting = std::to_array<std::string_view>(
    {"replicas", "parallelism", "containers", "resources", "limits", "numNodes", "resourcesPerNode",
     "numProcPerNode", "nprocPerNode", "leaderWorkerTemplate", "leaderTemplate", "workerTemplate",
     "pytorchReplicaSpecs", "mpiReplicaSpecs"});

/// The word that a key nearly is; nothing where it is one, or none of them. Letter case counts.
/// These words are letters alone, unlike names of one's own and `f:replicas` of managedFields.
std::optional<std::string_view> nearly_counting(std::string_view key) {
  constexpr size_t kShortest = 5, kLong = 8;
  if (key.size() < kShortest || base::contains(kCounting, key) ||
      !std::ranges::all_of(key, base::is_letter))
    return std::nullopt;
  for (const std::string_view word : kCounting)
    if (base::edit_distance(key, word) <= (word.size() >= kLong ? 2 : 1)) return word;
  return std::nullopt;
}

int manifest_line(const YAML::Node& node) {
  return node.Mark().is_null() ? 1 : node.Mark().line + 1;
}

/// A member that may not be there; no node of a map is made by asking for it.
YAML::Node member(const YAML::Node& node, const char* name) {
  return node.IsMap() && node[name] ? node[name] : YAML::Node(YAML::NodeType::Undefined);
}
bool is_there(const YAML::Node& node) { return node.IsDefined() && !node.IsNull(); }

using Variables = std::map<std::string, std::string, std::less<>>;

class Manifest {
 public:
  Manifest(const std::string& file, const ScriptContext& context)
      : file_(file), context_(context) {}

  /// ConfigMaps of the same file are known before what refers to them.
  void keep_config_map(const YAML::Node& document) {
    const YAML::Node kind = member(document, "kind"), data = member(document, "data"),
                     name = member(member(document, "metadata"), "name");
    if (!is_there(kind) || !kind.IsScalar() || kind.Scalar() != "ConfigMap") return;
    if (!is_there(name) || !name.IsScalar() || !is_there(data) || !data.IsMap()) return;
    for (const auto& pair : data)
      if (pair.first.IsScalar() && pair.second.IsScalar())
        config_maps_[name.Scalar()][pair.first.Scalar()] = pair.second.Scalar();
  }

  void read(const YAML::Node& document) {
    const YAML::Node kind = member(document, "kind"), spec = member(document, "spec");
    const std::string word = is_there(kind) && kind.IsScalar() ? kind.Scalar() : "";
    is_mpi_ = word == "MPIJob";
    is_counted_ = base::contains(kWorkloads, word);
    given_.clear();
    group_size_.clear();
    if (word == "PyTorchJob") set_given_by_operator(spec);
    if (word == "TrainJob") set_given_by_trainer(member(spec, "trainer"));
    const int64_t before = gpus_;
    if (is_there(spec)) walk(spec, 1, 0, "", "");
    constexpr std::array kBesides = std::to_array<std::string_view>(
        {"ConfigMap", "Secret", "Service", "ServiceAccount", "Namespace", "PersistentVolume",
         "PersistentVolumeClaim", "Role", "RoleBinding"});
    const bool other = !base::contains(kWorkloads, word) && !base::contains(kBesides, word);
    if (other && word.ends_with("Workflow")) has_workflow_ = true;
    if (gpus_ > before && other)
      fail(kind, fmt::format("kind: found \"{}\", whose pods are not counted; allowed: {}", word,
                             fmt::join(kWorkloads, ", ")));
  }

  Result<Reading> reading() {
    if (!error_.empty()) return input_error(error_);
    if (gpus_ == 0 && has_workflow_)
      return input_error(
          "{}: is a workflow, whose templates are not read; give the pod's command as a script, "
          "and "
          "--gpus",
          file_);
    if (gpus_ == 0)
      return input_error("{}: no container has nvidia.com/gpu or amd.com/gpu among its limits",
                         file_);
    if (programs_.empty())
      return input_error(
          "{}:{}: the containers with GPUs have no command: what their image runs is "
          "not known here",
          file_, gpus_line_);
    ERGOMETER_ASSIGN(Reading reading, read_started_programs(programs_, file_, context_));
    reading.form = "a Kubernetes manifest";
    if (!open_.empty()) {
      if (reading.settings.find("gpus") == nullptr) reading.open["gpus"] = open_;
      return reading;
    }
    // Without a number of nodes the command says how many it starts in its own pod.
    const auto* said = reading.settings.find("gpus");
    const bool all = said == nullptr || said->text == std::to_string(gpus_);
    if (!all && (says_nodes_ || said->text != std::to_string(gpus_of_pod_)))
      return input_error("{}:{}: {} {} GPUs, and its command starts {}; make both the same", file_,
                         gpus_line_, says_nodes_ ? "the manifest has" : "a pod has",
                         says_nodes_ ? gpus_ : gpus_of_pod_, said->text);
    reading.settings.set("gpus", std::to_string(gpus_),
                         {fmt::format("{}:{}", file_, gpus_line_), "limits x replicas"});
    reading.open.erase("gpus");
    return reading;
  }

 private:
  void fail(const YAML::Node& node, std::string_view what) {
    if (error_.empty()) error_ = fmt::format("{}:{}: {}", file_, manifest_line(node), what);
  }

  /// A variable of --env may stand in its place.
  Result<int64_t> number_at(const YAML::Node& value) const {
    return base::parse_integer(value.IsScalar() ? with_values(value.Scalar(), context_.environment)
                                                : "");
  }
  /// A count of pods: `replicas`, `parallelism`, `numNodes`.
  int64_t count(const YAML::Node& node, const char* name) {
    const YAML::Node value = member(node, name);
    if (!is_there(value)) return 1;
    const auto number = number_at(value);
    if (number && *number >= 0 && *number <= kMostRanks) return *number;
    refuse_count(value, name);
    return 1;
  }
  /// What is written in its place somewhere else leaves the GPUs open.
  void refuse_count(const YAML::Node& value, const std::string& name) {
    if (!value.IsScalar() || !is_placeholder(value.Scalar()))
      return fail(value, fmt::format("{}: a whole number is expected", name));
    // As it is written: without_templates puts a dollar in front of it.
    std::string text = value.Scalar();
    if (text.starts_with("${{")) text.erase(0, 1);
    if (open_.empty())
      open_ =
          placeholder_says(fmt::format("{}:{}", file_, manifest_line(value)), name, text, "gpus");
  }

  /// Names of one's own stand among labels, what selects nodes and what a volume's driver is told;
  /// `resource` of a resourceFieldRef and `nProcPerNode` of an elasticPolicy are spelt as they
  /// should be.
  void check_keys(const YAML::Node& node, std::string_view name) {
    constexpr std::array kOtherWords = std::to_array<std::string_view>(
        {"labels", "annotations", "nodeSelector", "matchLabels", "selector", "volumeAttributes",
         "resourceFieldRef", "elasticPolicy"});
    if (base::contains(kOtherWords, name)) return;
    for (const auto& pair : node)
      if (pair.first.IsScalar())
        if (const auto meant = nearly_counting(pair.first.Scalar()))
          fail(pair.first,
               fmt::format("{} is not known here; did you mean {}?", pair.first.Scalar(), *meant));
  }

  /// `role`: Launcher or Worker, where there are such; `name`: the key that the node stands at.
  void walk(const YAML::Node& node, int64_t pods, int depth, const std::string& role,
            const std::string& name) {
    if (depth > kDeepestManifest || !error_.empty()) return;
    if (++nodes_ > kMostNodes) return fail(node, "too many values");
    if (node.IsSequence())
      for (const auto& item : node) walk(item, pods, depth + 1, role, "");
    if (!node.IsMap()) return;
    if (is_counted_) check_keys(node, name);
    pods = std::min(pods * count(node, "replicas") * count(node, "parallelism"), kMostRanks);
    if (const YAML::Node all = member(node, "containers"); is_there(all) && all.IsSequence())
      for (const auto& container : all)
        add(container, member(container, "resources"), pods, role, member(node, "volumes"));
    if (name == "leaderWorkerTemplate") return walk_group(node, pods, depth, role);
    // Kubeflow's TrainJob has no template of its own.
    if (const YAML::Node each = member(node, "resourcesPerNode"); is_there(each))
      add(node, each, pods * count(node, "numNodes"), role, YAML::Node());
    for (const auto& pair : node)
      if (pair.first.IsScalar() && pair.first.Scalar() != "containers")
        walk(pair.second, pods, depth + 1,
             name.ends_with("ReplicaSpecs") ? pair.first.Scalar() : role, pair.first.Scalar());
  }

  /// Pods of a LeaderWorkerSet's group: all are workers where no leader has a template of its own.
  void walk_group(const YAML::Node& node, int64_t pods, int depth, const std::string& role) {
    const int64_t size = count(node, "size");
    group_size_ = std::to_string(size);
    const YAML::Node leader = member(node, "leaderTemplate");
    if (is_there(leader)) walk(leader, pods, depth + 1, role, "");
    const int64_t workers = std::max<int64_t>(size - (is_there(leader) ? 1 : 0), 0);
    walk(member(node, "workerTemplate"), std::min(pods * workers, kMostRanks), depth + 1, role, "");
  }

  int64_t gpus_of(const YAML::Node& resources) {
    for (const char* kind : {"limits", "requests"})
      for (const char* device : {"nvidia.com/gpu", "amd.com/gpu"})
        if (const YAML::Node value = member(member(resources, kind), device); is_there(value)) {
          const auto number = number_at(value);
          if (gpus_line_ == 0) gpus_line_ = manifest_line(value);
          if (number && *number >= 0 && *number <= kMostRanks) return *number;
          refuse_count(value, device);
          return 1;
        }
    return 0;
  }

  void add(const YAML::Node& container, const YAML::Node& resources, int64_t pods,
           const std::string& role, const YAML::Node& volumes) {
    const int64_t gpus = resources.IsDefined() ? gpus_of(resources) : 0;
    gpus_ = std::min(gpus_ + gpus * pods, kMostRanks);
    const bool starts = is_mpi_ ? role == "Launcher" : gpus > 0;
    if (!starts || pods == 0) return;
    StartedProgram program;
    if (open_.empty()) program.environment = given_;
    // torchrun is told of all GPUs of its pod where nobody says less.
    if (!given_.empty()) program.environment.emplace("PET_NPROC_PER_NODE", std::to_string(gpus));
    if (!given_.empty())
      program.unknown = {"RANK",          "MASTER_ADDR",     "MASTER_PORT",
                         "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"};
    if (!group_size_.empty()) {
      program.environment["LWS_GROUP_SIZE"] = group_size_;
      program.unknown = {"LWS_WORKER_INDEX", "LWS_LEADER_ADDRESS"};
    }
    if (!open_.empty()) take_back_counts(program);
    add_environment(container, program);
    add_mounted(member(container, "volumeMounts"), volumes, program);
    for (const char* part : {"command", "args"})
      if (const YAML::Node words = member(container, part); is_there(words))
        for (const auto& word : words)
          if (word.IsScalar()) {
            program.words.push_back(with_variables(word.Scalar(), program));
            program.lines.push_back(manifest_line(word));
            take_templates(program);
          }
    if (program.words.empty()) return;
    gpus_of_pod_ = gpus;
    for (const std::string& word : program.words)
      says_nodes_ = says_nodes_ || base::contains(word, "nnodes") ||
                    (!given_.empty() && base::contains(word, "torchrun")) || word == "-np" ||
                    base::contains(word, " -np ") || word == "-n" ||
                    base::contains(word, "num_machines");
    const auto same = [&](const StartedProgram& other) { return other.words == program.words; };
    if (std::ranges::none_of(programs_, same)) programs_.push_back(std::move(program));
  }

  /// Variables that count are not known where one of the counts is not.
  void take_back_counts(StartedProgram& program) const {
    for (const auto& [name, value] : given_) program.unknown.insert(name);
    for (const char* name : {"PET_NPROC_PER_NODE", "LWS_GROUP_SIZE"})
      if (program.environment.erase(name) > 0) program.unknown.insert(name);
  }

  /// Templates of Helm's in the last word.
  static void take_templates(StartedProgram& program) {
    const std::string& word = program.words.back();
    for (size_t at = word.find("{{"); at != word.npos; at = word.find("{{", at + 1)) {
      const size_t end = word.find("}}", at), begin = at > 0 && word[at - 1] == '$' ? at - 1 : at;
      if (end == word.npos) return;
      program.unknown_parts[word.substr(begin, end + 2 - begin)] = word.substr(at, end + 2 - at);
    }
  }

  /// What Kubeflow's trainer sets for torchrun.
  void set_given_by_trainer(const YAML::Node& trainer) {
    if (!is_there(trainer)) return;
    given_["PET_NNODES"] = std::to_string(count(trainer, "numNodes"));
    set_processes(member(trainer, "numProcPerNode"));
  }

  /// A number of processes; "auto" and "gpu" are all GPUs of the pod.
  void set_processes(const YAML::Node& each) {
    if (is_there(each) && each.IsScalar() && base::parse_integer(each.Scalar()))
      given_["PET_NPROC_PER_NODE"] = each.Scalar();
  }

  /// What the operator of PyTorchJobs sets; who is who the running job alone knows.
  void set_given_by_operator(const YAML::Node& spec) {
    int64_t pods = 0;
    const YAML::Node replicas = member(spec, "pytorchReplicaSpecs");
    if (replicas.IsDefined() && replicas.IsMap())
      for (const auto& pair : replicas) pods += count(pair.second, "replicas");
    const YAML::Node each = member(spec, "nprocPerNode");
    const auto processes =
        base::parse_integer(is_there(each) && each.IsScalar() ? each.Scalar() : "");
    pods = std::min(pods, kMostRanks);
    given_["PET_NNODES"] = std::to_string(pods);
    given_["WORLD_SIZE"] =
        std::to_string(pods * std::clamp<int64_t>(processes.value_or(1), 1, kMostRanks));
    set_processes(each);
  }

  /// The ConfigMap that `reference` names, null where it is not in this file.
  const Variables* config_map(const YAML::Node& reference) const {
    const YAML::Node name = member(reference, "name");
    if (!is_there(name) || !name.IsScalar()) return nullptr;
    const auto it = config_maps_.find(name.Scalar());
    return it == config_maps_.end() ? nullptr : &it->second;
  }

  void add_environment(const YAML::Node& container, StartedProgram& program) const {
    const YAML::Node sources = member(container, "envFrom");
    for (const auto& item : is_there(sources) && sources.IsSequence() ? sources : YAML::Node())
      if (const Variables* map = config_map(member(item, "configMapRef")))
        for (const auto& [name, value] : *map) program.environment[name] = value;
    const YAML::Node list = member(container, "env");
    for (const auto& item : is_there(list) && list.IsSequence() ? list : YAML::Node()) {
      const YAML::Node name = member(item, "name"), value = member(item, "value");
      if (!is_there(name) || !name.IsScalar()) continue;
      if (is_there(value) && value.IsScalar())
        program.environment[name.Scalar()] = value.Scalar();
      else if (const YAML::Node from = member(item, "valueFrom"); is_there(from)) {
        const YAML::Node reference = member(from, "configMapKeyRef"),
                         key = member(reference, "key");
        const Variables* map = config_map(reference);
        const bool known = map != nullptr && is_there(key) && key.IsScalar();
        if (const auto it = known ? map->find(key.Scalar()) : Variables::const_iterator();
            known && it != map->end())
          program.environment[name.Scalar()] = it->second;
        else
          program.unknown.insert(name.Scalar());
      }
    }
    for (const auto& [name, value] : context_.environment) {
      program.environment[name] = value;
      program.unknown.erase(name);
    }
  }

  /// ConfigMaps of this file that the container finds as files.
  void add_mounted(const YAML::Node& mounts, const YAML::Node& volumes,
                   StartedProgram& program) const {
    if (!is_there(mounts) || !mounts.IsSequence() || !is_there(volumes) || !volumes.IsSequence())
      return;
    const auto scalar = [](const YAML::Node& node) {
      return is_there(node) && node.IsScalar() ? node.Scalar() : std::string();
    };
    for (const auto& mount : mounts)
      for (const auto& volume : volumes) {
        if (scalar(member(mount, "name")) != scalar(member(volume, "name"))) continue;
        const Variables* map = config_map(member(volume, "configMap"));
        const std::string path = scalar(member(mount, "mountPath")),
                          one = scalar(member(mount, "subPath"));
        if (map == nullptr) continue;
        for (const auto& [name, text] : *map)
          if (one.empty() || one == name)
            program.files[one.empty() ? fmt::format("{}/{}", path, name) : path] = text;
      }
  }

  /// $(NAME) of a variable of the container is replaced before anything runs; others stay.
  static std::string with_variables(std::string word, const StartedProgram& program) {
    for (const auto& [name, value] : program.environment) {
      const std::string reference = "$(" + name + ")";
      for (size_t at = word.find(reference); at != word.npos && word.size() < 1'000'000;
           at = word.find(reference, at + value.size()))
        word.replace(at, reference.size(), value);
    }
    return word;
  }

  const std::string& file_;
  const ScriptContext& context_;
  std::vector<StartedProgram> programs_;
  std::string error_, open_;  ///< what is wrong; why the number of GPUs is not known
  int64_t gpus_ = 0;
  int64_t gpus_of_pod_ = 0;
  int gpus_line_ = 0, nodes_ = 0;
  Variables given_;         ///< variables of every container
  std::string group_size_;  ///< pods of a LeaderWorkerSet's group; empty: there is none
  std::map<std::string, Variables, std::less<>> config_maps_;
  bool has_workflow_ = false;
  bool is_mpi_ = false, says_nodes_ = false;
  bool is_counted_ = false;  ///< a document of kWorkloads is read
};

/// Of a chart of Helm, lines that hold a template alone say which others there are; a template as
/// a value stays as a text, "${{ .Values.nodes }}".
std::string without_templates(std::string text) {
  constexpr std::string_view kOpen = "{{", kClose = "}}";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t first = text.find_first_not_of(" \t", at),
                 last = text.find_last_not_of(" \t\r", end - 1);
    const size_t open = text.find(kOpen, at);
    const bool alone = first < end && text.compare(first, 2, kOpen) == 0 && last > first &&
                       text.compare(last - 1, 2, kClose) == 0;
    if (alone) {
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
                text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    } else if (open < end && open > at && (text[open - 1] == ' ')) {
      text.insert(open, 1, '$');
      at = end + 2;
      continue;
    }
    at = end + 1;
  }
  return text;
}

}  // namespace

Result<Reading> parse_kubernetes(const std::string& text, const std::string& file,
                                 const ScriptContext& context) {
  Manifest manifest(file, context);
  // Mentioning each other, documents would be walked without an end.
  try {
    const std::vector<YAML::Node> documents = spec::yaml_nodes(without_templates(text));
    for (const YAML::Node& document : documents) manifest.keep_config_map(document);
    for (const YAML::Node& document : documents) manifest.read(document);
  } catch (const YAML::Exception& problem) {
    return input_error("{}:{}: not valid YAML: {}", file, problem.mark.line + 1, problem.msg);
  }
  return manifest.reading();
}

}  // namespace ergometer::intake
