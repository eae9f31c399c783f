#include "calibration/parameter_list.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/file.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_reader.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::calibration {
namespace {

using spec::CatalogKind;
using spec::ParameterOwner;
using spec::YamlMap;

constexpr size_t kLargestFile = 4 << 20;
constexpr size_t kMostParameters = 100;

struct Folder {
  std::string_view name;
  ParameterOwner owner;
  CatalogKind kind;
};
constexpr std::array kFolders = std::to_array<Folder>({
    {"gpus", ParameterOwner::kGpu, CatalogKind::kGpu},
    {"kernels", ParameterOwner::kKernels, CatalogKind::kKernels},
    {"collectives", ParameterOwner::kCollectives, CatalogKind::kCollectives},
    {"software", ParameterOwner::kSoftware, CatalogKind::kSoftware},
    {"nodes", ParameterOwner::kNode, CatalogKind::kNode},
});

const Folder* find_folder(std::string_view name) {
  for (const Folder& folder : kFolders)
    if (folder.name == name) return &folder;
  return nullptr;
}

/// Whether the catalog file gives the parameter; an error if the file cannot be read.
Result<bool> gives(const spec::CatalogEntry& entry, std::string_view name) {
  ERGOMETER_ASSIGN(YamlMap file, YamlMap::parse(entry.text, std::string(entry.path)));
  const auto parameters = file.map("parameters");
  return parameters && parameters->has(name);
}

/// One `FOLDER/NAME: prior` of an `of:`; whatever is wrong is refused in `of`.
std::optional<Target> read_target(YamlMap& of, const std::string& key, const std::string& name) {
  const size_t slash = key.find('/');
  const Folder* folder = find_folder(std::string_view(key).substr(0, slash));
  if (folder == nullptr || slash == std::string::npos) {
    of.refuse(key,
              "allowed: gpus/NAME, kernels/NAME, collectives/NAME, software/NAME or nodes/NAME");
    return {};
  }
  const spec::CatalogEntry* entry = spec::find_in_catalog(folder->kind, key.substr(slash + 1));
  if (entry == nullptr || entry->name != key.substr(slash + 1)) {
    of.refuse(key, "is not a file of the catalog");
    return {};
  }
  const spec::ParameterInfo* info = spec::find_parameter(folder->owner, name);
  const auto given = gives(*entry, name);
  if (info == nullptr || !given || !*given) {
    of.refuse(key, "{} has no parameter {}", entry->path, name);
    return {};
  }
  const base::Parameter prior = of.parameter(key, info->unit, info->min, info->max);
  return Target{folder->owner, key, entry->name, prior.value};
}

std::vector<Target> read_targets(YamlMap& item, const std::string& name) {
  auto of = item.map("of");
  if (!of || of->keys().empty()) {
    item.refuse("of", "allowed: a mapping of catalog files to values");
    return {};
  }
  std::vector<Target> targets;
  for (const std::string& key : of->keys())
    if (auto target = read_target(*of, key, name)) targets.push_back(*std::move(target));
  return targets;
}

/// Bounds of x so that every target's value stays between `min` and `max`.
void read_bounds(YamlMap& item, FittedParameter& parameter) {
  parameter.lower = -std::numeric_limits<double>::infinity();
  parameter.upper = std::numeric_limits<double>::infinity();
  for (const Target& target : parameter.targets) {
    const spec::ParameterInfo* info = spec::find_parameter(target.owner, parameter.name);
    const double min = item.parameter("min", info->unit, info->min, info->max).value;
    const double max = item.parameter("max", info->unit, info->min, info->max).value;
    if (item.error()) return;
    if (min <= 0 || min > target.prior || max < target.prior) {
      item.refuse("min", "{}: the prior {} of {} is not between min and max, above 0",
                  parameter.name, target.prior, target.file);
      return;
    }
    parameter.lower = std::max(parameter.lower, std::log(min / target.prior));
    parameter.upper = std::min(parameter.upper, std::log(max / target.prior));
  }
}

FittedParameter read_parameter(YamlMap& item) {
  item.allow({"name", "of", "sigma", "min", "max", "source"});
  for (const char* key : {"name", "of", "sigma", "min", "max", "source"}) item.require(key);
  FittedParameter parameter;
  parameter.name = item.text("name");
  parameter.sigma = item.real("sigma", 0, 1e-4, 10);
  parameter.targets = read_targets(item, parameter.name);
  for (const Target& target : parameter.targets)
    if (!item.error() && target.prior <= 0)
      item.refuse("of", "{}: found 0; allowed: a prior above 0", target.file);
  if (!item.error()) read_bounds(item, parameter);
  return parameter;
}

Settled read_settled(YamlMap& item) {
  item.allow({"name", "of", "seen_in", "source"});
  for (const char* key : {"name", "of", "seen_in", "source"}) item.require(key);
  Settled settled;
  settled.name = item.text("name");
  settled.targets = read_targets(item, settled.name);
  settled.sources = item.texts("seen_in");
  if (settled.sources.empty()) item.refuse("seen_in", "allowed: a list of parts of sources' names");
  return settled;
}

bool names(const Settled& settled, std::string_view source) {
  return std::any_of(settled.sources.begin(), settled.sources.end(), [&](const std::string& part) {
    return source.find(part) != std::string_view::npos;
  });
}

Target* find_target(ParameterList& list, std::string_view name, std::string_view file) {
  for (FittedParameter& parameter : list.parameters)
    for (Target& target : parameter.targets)
      if (parameter.name == name && target.file == file) return &target;
  return nullptr;
}

/// Two parameters of the list may not move the same number.
void refuse_doubles(YamlMap& map, const ParameterList& list) {
  std::set<std::string> seen;
  for (const FittedParameter& parameter : list.parameters)
    for (const Target& target : parameter.targets)
      if (!seen.insert(target.file + ' ' + parameter.name).second)
        map.refuse("parameters", "{} of {} stands twice", parameter.name, target.file);
}

Result<void> find_given_by_gpus(ParameterList& list) {
  for (const spec::CatalogEntry& entry : spec::catalog()) {
    if (entry.kind != CatalogKind::kGpu) continue;
    ERGOMETER_ASSIGN(YamlMap file, YamlMap::parse(entry.text, std::string(entry.path)));
    if (const auto parameters = file.map("parameters"))
      for (const std::string& name : parameters->keys())
        list.given_by_gpu.insert(entry.name + ' ' + name);
  }
  return {};
}

/// The parameter as the job holds it, null if the job does not read this target.
base::ParameterSet* find_set(const ParameterList& list, const Target& target,
                             const std::string& name, spec::Job& job, bool fabric) {
  spec::Gpu& gpu = job.cluster.node.gpu;
  switch (target.owner) {
    case ParameterOwner::kGpu: return gpu.entry == target.entry ? &gpu.parameters : nullptr;
    case ParameterOwner::kKernels:
      return gpu.kernels == target.entry && !list.given_by_gpu.contains(gpu.entry + ' ' + name)
                 ? &gpu.parameters
                 : nullptr;
    case ParameterOwner::kCollectives:
      if (fabric)
        return job.cluster.fabric.collectives == target.entry ? &job.cluster.fabric.parameters
                                                              : nullptr;
      return job.cluster.node.collectives == target.entry ? &job.cluster.node.parameters : nullptr;
    case ParameterOwner::kSoftware:
      return job.software.name == target.entry ? &job.software.parameters : nullptr;
    case ParameterOwner::kPower: return gpu.power == target.entry ? &gpu.parameters : nullptr;
    case ParameterOwner::kNode:
      return job.cluster.node.name == target.entry ? &job.cluster.node.parameters : nullptr;
    case ParameterOwner::kCooling: return nullptr;
  }
  return nullptr;
}

std::string name_in_job(const Target& target, const std::string& name) {
  return target.owner == ParameterOwner::kCollectives ? "collective." + name : name;
}

/// Whether a collective's parameter counts: a job inside one domain never asks the fabric.
bool is_read(const Target& target, const spec::Job& job, bool fabric) {
  if (target.owner != ParameterOwner::kCollectives) return !fabric;
  return fabric ? job.gpus > std::max<int64_t>(1, job.cluster.domain_gpus)
                : job.gpus > 1 && job.cluster.domain_gpus > 1;
}

/// Calls `use(set, target)` for every set of the job's parameters that holds one of the targets.
template <class Use>
void each_set(const ParameterList& list, const FittedParameter& parameter, spec::Job& job,
              const Use& use) {
  for (const Target& target : parameter.targets)
    for (const bool fabric : {false, true}) {
      if (!is_read(target, job, fabric)) continue;
      base::ParameterSet* set = find_set(list, target, parameter.name, job, fabric);
      if (set != nullptr) use(*set, target);
    }
}

}  // namespace

std::string FittedParameter::title() const {
  std::string files;
  for (const Target& target : targets) files += (files.empty() ? "" : ", ") + target.file;
  return files + ' ' + name;
}

Result<ParameterList> parse_parameter_list(std::string_view yaml, const std::string& file) {
  ERGOMETER_ASSIGN(YamlMap map, YamlMap::parse(yaml, file));
  map.allow({"noise", "freedom", "rows_per_group", "leave_out", "parameters", "settled"});
  for (const char* key : {"noise", "freedom", "rows_per_group", "parameters"}) map.require(key);
  ParameterList list;
  list.noise = map.real("noise", 0, 1e-4, 1);
  list.freedom = map.real("freedom", 0, 0.5, 1e6);
  list.rows_per_group = map.integer("rows_per_group", 1, 1, 1'000'000);
  list.leave_out = map.text("leave_out");
  for (YamlMap& item : map.maps("parameters")) list.parameters.push_back(read_parameter(item));
  if (list.parameters.empty() || list.parameters.size() >= kMostParameters)
    map.refuse("parameters", "found {} parameters; allowed: 1 to {}", list.parameters.size(),
               kMostParameters - 1);
  refuse_doubles(map, list);
  for (YamlMap& item : map.maps("settled")) list.settled.push_back(read_settled(item));
  if (map.error()) return tl::unexpected(*map.error());
  ERGOMETER_TRY(find_given_by_gpus(list));
  return list;
}

Result<ParameterList> read_parameter_list(const std::string& path) {
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, kLargestFile));
  return parse_parameter_list(text, path);
}

ParameterList without_source(const ParameterList& list, std::string_view source) {
  ParameterList result = list;
  for (const Settled& settled : list.settled) {
    if (!names(settled, source)) continue;
    for (const Target& target : settled.targets) {
      if (Target* fitted = find_target(result, settled.name, target.file))
        fitted->prior = target.prior;
      else
        result.parameters.push_back({settled.name, {target}, 1, 0, 0});
    }
  }
  return result;
}

std::vector<size_t> parameters_used(const ParameterList& list, const spec::Job& job) {
  spec::Job copy = job;
  std::vector<size_t> used;
  for (size_t i = 0; i < list.parameters.size(); ++i) {
    bool found = false;
    each_set(list, list.parameters[i], copy,
             [&](const base::ParameterSet&, const Target&) { found = true; });
    if (found) used.push_back(i);
  }
  return used;
}

void apply(const ParameterList& list, std::span<const double> x, std::span<const size_t> used,
           spec::Job& job) {
  for (const size_t i : used) {
    const FittedParameter& parameter = list.parameters[i];
    each_set(list, parameter, job, [&](base::ParameterSet& set, const Target& target) {
      const std::string name = name_in_job(target, parameter.name);
      const base::Parameter* before = set.find(name);
      base::Parameter changed = before != nullptr ? *before : base::Parameter{};
      changed.value = target.prior * std::exp(x[i]);
      changed.grade = base::Grade::kFitted;
      set.set(name, std::move(changed));
    });
  }
  spec::copy_fields(job.cluster.node.gpu);
}

}  // namespace ergometer::calibration
