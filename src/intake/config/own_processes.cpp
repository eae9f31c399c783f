#include "intake/config/own_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/collection.h"
#include "base/text.h"
#include "intake/reader/python_names.h"

namespace ergometer::intake {
namespace {

constexpr std::array<std::string_view, 3> kVisible = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                                      "ROCR_VISIBLE_DEVICES"};

VisibleGpus seen_by(std::string_view variable, const std::string& list) {
  const bool known = list.find('\x01') == list.npos;
  return {known ? std::ranges::count(list, ',') + 1 : 0, fmt::format("{}={}", variable, list)};
}

constexpr size_t kNamed = 100;  ///< an argument that has a name wherever it stands

/// A call that starts a process for every GPU: where its arguments say how many.
struct Starter {
  std::string_view name, argument;
  size_t place = kNamed;     ///< of the argument where it has no name
  std::string_view each;     ///< the argument that says how many each of these starts; or none
  std::string_view library;  ///< named in the program where others have calls of that name
};
constexpr std::array kStarters = std::to_array<Starter>(
    {{"notebook_launcher", "num_processes", 2, "", ""},
     {"spawn", "nprocs", 2, "", ""},
     {"ScalingConfig", "num_workers", 0, "", ""},
     {"TorchDistributor", "num_processes", 0, "", ""},
     {"Elastic", "nnodes", kNamed, "nproc_per_node", "flytekit"},
     {"create_job", "num_workers", kNamed, "num_procs_per_worker", "kubeflow"},
     {"update_parameters", "nodes", kNamed, "tasks_per_node", "submitit"}});

class ProcessReader : PythonReader {
 public:
  explicit ProcessReader(PythonProgram& program) : PythonReader(program) {}

  OwnProcesses read() {
    const std::set<std::string> taken = values_.taken();
    for (const Starter& starter : kStarters)
      for (const auto& [at, open] : calls_of(text_, starter.name))
        if (base::contains(text_, starter.library) && runs(at)) read_starter(starter, at, open);
    for (const std::string_view variable : kVisible)
      for (const size_t at : words_of(text_, variable))
        if (runs(at)) read_visible(variable, at);
    read_loading();
    if (own_.started == 0) values_.set_taken(taken);
    return std::move(own_);
  }

 private:
  bool runs(size_t at) {
    const std::string_view statement = statements_.statement(at);
    if (statement.starts_with("def ") || statement.starts_with("from ")) return false;
    return values_.reached(at, true).value_or(true);
  }
  void found(size_t at, std::string key) {
    own_.from = {fmt::format("{}:{}", file_, line_at(text_, at)), std::move(key)};
  }

  void read_starter(const Starter& starter, size_t at, size_t open) {
    const std::vector<PythonArgument> arguments = arguments_of_call(text_, open);
    std::string said, each;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name == starter.argument ||
          (arguments[i].name.empty() && i == starter.place))
        said = arguments[i].value;
      if (!starter.each.empty() && arguments[i].name == starter.each) each = arguments[i].value;
    }
    // Of one node where it does not say. submitit may be told of nodes in another call.
    const bool one_node = said.empty() && !each.empty() && starter.name == "Elastic";
    // Other calls go by the same name.
    if (said.empty() && !one_node && starter.name != std::string_view("notebook_launcher")) return;
    const std::string call =
        one_node ? fmt::format("{}(...{}={})", starter.name, starter.each, each)
                 : fmt::format("{}(...{}={}{})", starter.name, starter.argument,
                               said.substr(0, kLongest),
                               each.empty() ? "" : fmt::format(", {}={}", starter.each, each));
    found(at, call);
    if (one_node) said = "1";
    if (said.empty() || said == "None" || said.find("device_count") != said.npos) {
      own_.all = call;
      return;
    }
    const int64_t number = count(said, at);
    // One process on each of several nodes may start others.
    const int64_t of_each = starter.each.empty() ? 1 : count(each, at);
    if (number > 0 && of_each > 0)
      own_.started = number * of_each;
    else
      own_.open = each.empty() && !starter.each.empty()
                      ? fmt::format("{} does not say {}", call, starter.each)
                      : fmt::format("{} is known only when the script runs", call);
  }
  /// A number of processes, be it in quotes; 0 where it is not known.
  int64_t count(const std::string& expression, size_t at) {
    const auto text = expression.empty() ? std::nullopt : values_.text(expression, at);
    const auto number = base::parse_integer(text.value_or(""));
    return number && *number > 0 && *number <= spec::kMostRanks ? *number : 0;
  }

  /// os.environ["CUDA_VISIBLE_DEVICES"] = "0"
  void read_visible(std::string_view variable, size_t at) {
    const std::string_view statement = statements_.statement(at);
    const size_t equals = assignment_in(statement);
    if (!base::contains(statement, "environ") || equals >= statement.size() ||
        statement.find(variable) > equals)
      return;
    found(at, std::string(variable));
    const std::string said = trimmed(statement.substr(equals + 1));
    const auto value = values_.value(said, at);
    if (value && value->is_string())
      own_.visible = seen_by(variable, value->get<std::string>());
    else
      own_.open = fmt::format("{} = {} is known only when the script runs", variable,
                              said.substr(0, kLongest));
  }

  /// Unsloth takes one GPU; a map of devices spreads layers over all of them.
  void read_loading() {
    for (const auto& [at, open] : calls_of(text_, "from_pretrained")) {
      const size_t start = statements_.start(at);
      const bool unsloth = base::contains(text_.substr(start, at - start), "Fast") &&
                           base::contains(text_, "unsloth");
      if (unsloth && own_.one.empty()) {
        own_.one = "Unsloth";
        found(at, "Unsloth");
      }
      for (const PythonArgument& it : arguments_of_call(text_, open)) {
        if (it.name != "device_map" || unsloth) continue;
        const auto way = values_.text(it.value, at);
        if (!way || (*way != "auto" && !way->starts_with("balanced") && *way != "sequential"))
          continue;
        own_.spreads = fmt::format("device_map={}", it.value);
        found(at, "device_map");
      }
    }
  }

  static constexpr size_t kLongest = 60;

  OwnProcesses own_;
};

/// The Trainer's own way where one process sees several GPUs.
void spread_over_visible(const OwnProcesses& own, const OneProcess& process, Reading& reading) {
  const auto* zero = reading.settings.find("zero");
  const spec::Origin& at = process.from;
  if (zero != nullptr && zero->text != "0") {
    reading.open["gpus"] = fmt::format(
        "{}: {} is one process without a launcher, and {} takes several, which torchrun or "
        "accelerate launch start; give --gpus",
        at.text, process.name, zero->origin.key.empty() ? "sharding" : zero->origin.key);
    return;
  }
  const int64_t seen = own.visible ? own.visible->count : 0;
  if (seen > 0)
    reading.settings.set("gpus", std::to_string(seen), {at.text, own.visible->said});
  else
    reading.notes.push_back(fmt::format(
        "{}: {} is one process without a launcher: it takes all GPUs of its node that it sees; "
        "--gpus says another number",
        at.text, process.name));
  reading.leftovers.push_back(
      {Leftover::Kind::kNotModelled, "nn.DataParallel", at.text,
       fmt::format("time and memory: without a launcher the one process of {} copies the model to "
                   "every GPU in every step; predicted as a process a GPU",
                   process.name)});
}

}  // namespace

std::optional<VisibleGpus> visible_gpus(
    const std::map<std::string, std::string, std::less<>>& environment) {
  for (const std::string_view variable : kVisible)
    if (const auto it = environment.find(variable);
        it != environment.end() && !it->second.empty() && it->second != "-1")
      return seen_by(variable, it->second);
  return std::nullopt;
}

OwnProcesses own_processes(PythonProgram& program) { return ProcessReader(program).read(); }

void count_own_gpus(const OwnProcesses& own, const OneProcess& process, Reading& reading) {
  if (reading.settings.find("gpus") != nullptr || reading.defaults.find("gpus") != nullptr ||
      reading.open.contains("gpus"))
    return;
  const spec::Origin& where = own.from.text.empty() ? process.from : own.from;
  if (own.started > 0) {
    reading.settings.set("gpus", std::to_string(own.started), where);
    return reading.notes.push_back(
        fmt::format("{}: {} starts {} processes, a GPU each", where.text, where.key, own.started));
  }
  if (!own.open.empty() || (process.of_trainer && own.visible && own.visible->count == 0)) {
    reading.open["gpus"] = fmt::format(
        "{}: how many GPUs are used: {}; give --gpus", where.text,
        own.open.empty() ? "those that it sees are known only when the script runs" : own.open);
    return;
  }
  if (!own.all.empty())
    return reading.notes.push_back(
        fmt::format("{}: {} starts a process for every GPU of its node; --gpus says another number",
                    where.text, own.all));
  const auto take_one = [&](const spec::Origin& because) {
    (process.is_sure ? reading.settings : reading.defaults).set("gpus", "1", because);
    reading.notes.push_back(fmt::format("{}: {} is one process, on one GPU ({}); --gpus says more",
                                        because.text, process.name, because.key));
  };
  if (own.visible && own.visible->count == 1) return take_one({where.text, own.visible->said});
  if (!own.one.empty()) return take_one(own.from);
  if (!own.spreads.empty()) {
    reading.open["gpus"] = fmt::format(
        "{}: {} spreads the layers of one process over all GPUs that it sees, which is not "
        "modelled; --gpus 1 predicts the job on one",
        own.from.text, own.spreads);
    return;
  }
  if (!process.is_sure && !own.visible) {
    reading.unsaid["gpus"] =
        "how many GPUs it is started on is not said: one node's, unless --gpus or a launcher's "
        "file says";
    return;
  }
  if (process.of_trainer) return spread_over_visible(own, process, reading);
  take_one({process.from.text, "no launcher"});
}

}  // namespace ergometer::intake
