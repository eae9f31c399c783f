#include <fmt/format.h>

#include <array>

#include "engine/outcome/evidence_tables.h"
#include "engine/outcome/memory_fit.h"
#include "plan/data_parallel.h"
#include "plan/memory_reserve.h"
#include "plan/memory_states.h"
#include "plan/stages.h"
#include "report/explain/explain.h"
#include "report/format.h"
#include "workload/workload.h"

// Memory is told top down: capacity and peak, the five groups of the fullest stage, the named
// tensors of each group, and for the model states the rule that gives bytes per parameter (the
// table that opens plan/memory_states.cpp). Whether it fits adds what the allocator reserves, and
// how unsure both are (engine/outcome/memory_fit.h).

namespace ergometer::report {
namespace {

constexpr std::array<std::string_view, 5> kGroups = {"weights", "gradients", "optimizer",
                                                     "activations", "other"};

const run::StageMemory* worst_stage(const run::Run& run) {
  for (const run::StageMemory& stage : run.memory.stages) {
    if (stage.stage == run.memory.worst_stage) return &stage;
  }
  return nullptr;
}

std::array<double, 5> group_sizes(const run::Memory& m) {
  return {m.weights_bytes, m.gradients_bytes, m.optimizer_bytes, m.activations_bytes,
          m.other_bytes};
}

/// The named tensors of one group. They are listed group by group, so running sums tell where a
/// group ends.
std::vector<Explanation> tensors(const run::Run& run, size_t group) {
  std::vector<Explanation> found;
  const run::StageMemory* stage = worst_stage(run);
  if (stage == nullptr) return found;
  const std::array<double, 5> sizes = group_sizes(run.memory);
  double before = 0, sum = 0;
  for (size_t i = 0; i < group; ++i) before += sizes[i];
  for (const run::MemoryPart& part : stage->parts) {
    const double middle = sum + part.bytes / 2;
    sum += part.bytes;
    if (middle > before && middle < before + sizes[group])
      found.push_back(memory_node(part.name, part.bytes));
  }
  return found;
}

/// Parameters that one rank of the fullest stage holds before data parallelism shards them.
Explanation parameters(const run::Run& run, const spec::Job& job) {
  const workload::Workload workload = workload::lower(job);
  const std::vector<plan::Stage> stages = plan::divide(job, workload);
  double dense = 0, expert = 0;
  for (const plan::Chunk& chunk : stages[static_cast<size_t>(run.memory.worst_stage)].chunks) {
    for (const int block : chunk.blocks) {
      dense += workload.blocks[static_cast<size_t>(block)].parameters.dense;
      expert += workload.blocks[static_cast<size_t>(block)].parameters.expert;
    }
  }
  Explanation node{
      "parameters of a rank", format_parameters(dense + expert), dense + expert, {}, {}, {}};
  node.formula = fmt::format("those of stage {}, divided by tensor and expert parallelism",
                             run.memory.worst_stage);
  if (expert > 0) node.formula += fmt::format("; {} of them in experts", format_parameters(expert));
  node.inputs = {explain_setting(job, "tensor_model_parallel_size"),
                 explain_setting(job, "pipeline_model_parallel_size")};
  if (expert > 0) node.inputs.push_back(explain_setting(job, "expert_model_parallel_size"));
  return node;
}

std::string weights_rule(const spec::Job& job) {
  const plan::StateBytes bytes = plan::state_bytes(job);
  const char* why = "";
  if (bytes.shards_are_masters)
    why = ", FP32: FSDP's shards are the master copy";
  else if (job.training.precision == spec::Precision::kFp32)
    why = ", FP32";
  else if (bytes.weight == 4)
    why = ", FP32: autocast casts them where they are used";
  const bool narrow = job.training.precision == spec::Precision::kFp8 ||
                      job.training.precision == spec::Precision::kNvfp4;
  const bool fp8 = narrow && (!job.parallelism.shards_parameters() || job.training.fp8_parameters);
  return fmt::format(
      "{:g} B a {}parameter{}{}{}; ZeRO 3 and FSDP divide them over data parallelism", bytes.weight,
      job.trains() ? "trained " : "", why,
      job.training.mode == spec::Mode::kLora ? "; frozen ones as they are kept" : "",
      fp8 ? "; the copies in fewer bits besides" : "");
}

std::string optimizer_rule(const spec::Job& job) {
  const plan::StateBytes bytes = plan::state_bytes(job);
  const bool master = job.training.master_weights && bytes.weight < 4;
  return fmt::format(
      "{:g} B a trained parameter: {}two moments{}; divided over data parallelism from ZeRO 1",
      bytes.optimizer, master ? "master copy and " : "",
      !master && bytes.weight == 4 ? ", the parameters themselves being FP32" : "");
}

std::string rule(const spec::Job& job, std::string_view group) {
  if (group == "weights") return weights_rule(job);
  if (group == "gradients") {
    const plan::StateBytes bytes = plan::state_bytes(job);
    if (plan::adds_whole_gradients(job))
      return fmt::format(
          "{:g} B a trained parameter, whole on every rank: they are reduced after the step's last "
          "micro batch (--reduce-every-micro-batch)",
          bytes.gradient);
    return fmt::format("{:g} B a trained parameter{}; divided over data parallelism from ZeRO 2",
                       bytes.gradient,
                       bytes.buckets > 0 ? fmt::format(", {:g} B in buckets", bytes.buckets) : "");
  }
  if (group == "optimizer") return optimizer_rule(job);
  if (group == "activations")
    return "what every micro batch in flight keeps for its backward, and the working set of the "
           "block that runs";
  return "workspaces, loss buffers, gathered parameters, key-value cache";
}

Explanation group_node(const run::Run& run, const spec::Job& job, size_t group) {
  const std::string_view name = kGroups[group];
  Explanation node =
      memory_node(fmt::format("{}_bytes", name), group_sizes(run.memory)[group], rule(job, name));
  if (name == "weights" || name == "gradients" || name == "optimizer") {
    node.inputs = {parameters(run, job), explain_setting(job, "zero"),
                   explain_setting(job, "data_parallel_size"), explain_setting(job, "precision")};
    return node;
  }
  node.inputs = tensors(run, group);
  if (name != "activations") return node;
  for (const char* setting :
       {"micro_batch_size", "seq_length", "recompute_granularity", "schedule"})
    node.inputs.push_back(explain_setting(job, setting));
  return node;
}

Explanation peak(const run::Run& run, const spec::Job& job) {
  Explanation node = memory_node(
      "memory.peak_bytes", run.memory.peak_bytes,
      fmt::format("weights + gradients + optimizer + activations + other, on one rank of "
                  "stage {}, the fullest",
                  run.memory.worst_stage));
  for (size_t group = 0; group < kGroups.size(); ++group) {
    if (group_sizes(run.memory)[group] > 0) node.inputs.push_back(group_node(run, job, group));
  }
  return node;
}

Explanation capacity(const run::Run& run, const spec::Job& job) {
  Explanation node =
      memory_node("memory.capacity_bytes", run.memory.capacity_bytes, "memory - memory_reserve");
  node.inputs = {catalog_node(job, "memory")};
  const spec::Node& server = job.cluster.node;
  if (const base::Parameter* reserve = server.parameters.find("memory_reserve"))
    node.inputs.push_back(
        memory_node("memory_reserve", reserve->value, {}, server.name + ": " + credit(*reserve)));
  return node;
}

/// A number of the software profile, or what stands in for it.
Explanation software_node(const spec::Job& job, const char* name, double otherwise) {
  const base::Parameter* parameter = job.software.parameters.find(name);
  const double value = parameter == nullptr ? otherwise : parameter->value;
  const std::string source = parameter == nullptr
                                 ? "of software whose catalog file does not say"
                                 : fmt::format("{}: {}", job.software.name, credit(*parameter));
  return number_node(name, value, "", {}, source);
}

Explanation reserved(const run::Run& run, const spec::Job& job) {
  const workload::Workload workload = workload::lower(job);
  const std::vector<plan::Stage> stages = plan::divide(job, workload);
  const double held =
      plan::held_tensor_bytes(job, stages[static_cast<size_t>(run.memory.worst_stage)]);
  Explanation node =
      memory_node("memory.reserved_bytes", run.memory.reserved_bytes,
                  "memory.fragmentation x (activations and loss) + memory.held x tensors held by "
                  "asynchronous collectives; what the optimizer step needs beside the states can "
                  "lie in it");
  node.inputs = {software_node(job, "memory.fragmentation", plan::kFragmentation),
                 software_node(job, "memory.held", 0),
                 memory_node("tensors held by asynchronous collectives", held)};
  return node;
}

/// One of the terms of catalog/tables/uncertainty.csv.
Explanation term_node(const char* name, double value, const char* of) {
  return number_node(name, value, "", of, "catalog/tables/uncertainty.csv");
}

Explanation fit_probability(const run::Run& run, const spec::Job& job) {
  const engine::MemoryFit fit = engine::memory_fit(job, run.memory);
  const engine::Uncertainty& u = engine::catalog_uncertainty();
  Explanation node{"memory.fit_probability",
                   format_probability(run.memory.fit_probability),
                   run.memory.fit_probability,
                   "normal distribution's share below ln(capacity / (peak + reserved)) / sigma",
                   {},
                   {}};
  Explanation sigma = number_node("sigma", fit.sigma, "",
                                  "of ln(what it takes / predicted): root of the squares' sum");
  sigma.inputs = {term_node("memory_base", u.memory_base, "any job"),
                  term_node("memory_activations", u.memory_activations,
                            "times the share of activations and reserve in all that is needed")};
  if (fit.software != engine::SoftwareSeen::kYes)
    sigma.inputs.push_back(term_node("memory_software_unseen", u.memory_software_unseen,
                                     fit.software == engine::SoftwareSeen::kNo
                                         ? "no run of this software was ever seen"
                                         : "no run of this software on more than one GPU was "
                                           "ever seen"));
  node.inputs = {capacity(run, job), peak(run, job), reserved(run, job), std::move(sigma)};
  return node;
}

}  // namespace

Explanation catalog_node(const spec::Job& job, std::string_view name) {
  const spec::Gpu& gpu = job.cluster.node.gpu;
  const base::Parameter* parameter = gpu.parameters.find(name);
  if (parameter == nullptr) return {std::string(name), "not given", {}, {}, gpu.name, {}};
  const std::string source = fmt::format("{}: {}", gpu.name, credit(*parameter));
  if (parameter->unit == "B") return memory_node(std::string(name), parameter->value, {}, source);
  return number_node(std::string(name), parameter->value, parameter->unit, {}, source);
}

Explanation explain_memory(const run::Run& run, const spec::Job& job, std::string_view field) {
  if (field == "memory.capacity_bytes") return capacity(run, job);
  for (size_t group = 0; group < kGroups.size(); ++group) {
    if (field == fmt::format("memory.{}_bytes", kGroups[group])) return group_node(run, job, group);
  }
  if (field == "memory.peak_bytes" || field == "memory.worst_stage") return peak(run, job);
  if (field == "memory.reserved_bytes") return reserved(run, job);
  if (field == "memory.fit_probability") return fit_probability(run, job);
  Explanation fits{
      "memory.fits", run.memory.fits ? "yes" : "no", {}, "fit_probability >= 1/2", {}, {}};
  fits.inputs = {fit_probability(run, job)};
  return fits;
}

}  // namespace ergometer::report
