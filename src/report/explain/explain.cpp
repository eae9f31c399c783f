#include "report/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "base/text.h"
#include "run/row_columns.h"
#include "run/summary_fields.h"
#include "spec/job/matrix_peak.h"
#include "spec/job/node_groups.h"
#include "spec/settings/settings.h"
#include "workload/flops.h"
#include "workload/shapes.h"

// Every number of the summary is told as the formula that made it and its inputs, each told the
// same way. A number that an engine found by laying out the whole step has a sentence instead of a
// formula.

namespace ergometer::report {
namespace {

struct Context {
  const run::Run& run;
  const spec::Job& job;
};

Explanation node(std::string name, double value, std::string_view unit, std::string formula = {}) {
  return number_node(std::move(name), value, unit, std::move(formula));
}

Explanation gpus(const Context& c) { return explain_setting(c.job, "gpus"); }

// --- time

Explanation breakdown_part(const Context& c, std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kMeanings = {{
      {"compute",
       "mean over ranks of the time its compute stream runs kernels other than the optimizer's"},
      {"exposed_all_reduce",
       "mean over ranks of the time compute stands still for an all-reduce, late peers included"},
      {"exposed_all_gather",
       "mean over ranks of the time compute stands still for an all-gather, late peers included"},
      {"exposed_reduce_scatter",
       "mean over ranks of the time compute stands still for a reduce-scatter, late peers "
       "included"},
      {"exposed_all_to_all",
       "mean over ranks of the time compute stands still for an all-to-all, late peers included"},
      {"exposed_send_recv",
       "mean over ranks of the time compute stands still while a pipeline transfer is on its way"},
      {"optimizer", "mean over ranks of the optimizer's kernels"},
      {"idle",
       "mean over ranks of the time spent waiting for a pipeline neighbour, for the host to launch "
       "the next kernel, and for the end of the step"},
  }};
  const run::SummaryField* field =
      run::find_summary_field(fmt::format("performance.breakdown_s.{}", name));
  for (const auto& [part, meaning] : kMeanings) {
    if (part == name) return node(std::string(name), field->get(c.run), "s", std::string(meaning));
  }
  return {};
}

Explanation step_time(const Context& c, bool deep) {
  Explanation step =
      node("step_time_s", c.run.performance.step_time_s, "s",
           "end of the slowest rank's last work, every instruction of every rank laid out in time");
  if (!deep) return step;
  step.formula += "; equal to the sum of the breakdown:";
  run::kBreakdownColumns.for_each(
      [&](std::string_view part, auto) { step.inputs.push_back(breakdown_part(c, part)); });
  return step;
}

const char* lengths_setting(const spec::Job& job) {
  return job.training.sequence_lengths.has_images() ? "samples" : "sequence_lengths";
}

Explanation tokens_per_s(const Context& c) {
  const bool decodes = c.job.training.mode == spec::Mode::kDecode;
  const bool even = c.job.training.sequence_lengths.is_even();
  Explanation tokens =
      node("tokens_per_s", c.run.performance.tokens_per_s, "",
           decodes ? "global_batch_size / step_time_s: one token a sequence"
           : even  ? "global_batch_size x seq_length / step_time_s"
                   : "mean tokens of drawn steps' documents, without padding / step_time_s");
  tokens.inputs = {explain_setting(c.job, "global_batch_size")};
  if (!even) tokens.inputs.push_back(explain_setting(c.job, lengths_setting(c.job)));
  if (!decodes) tokens.inputs.push_back(explain_setting(c.job, "seq_length"));
  tokens.inputs.push_back(step_time(c, false));
  return tokens;
}

Explanation tokens_per_s_per_gpu(const Context& c) {
  Explanation tokens = node("tokens_per_s_per_gpu", c.run.performance.tokens_per_s_per_gpu, "",
                            "tokens_per_s / gpus");
  tokens.inputs = {tokens_per_s(c), gpus(c)};
  return tokens;
}

// --- FLOPs

/// How much of attention's square is counted.
std::string attention_counted(const spec::Job& job, bool hardware) {
  const workload::Shapes shapes = workload::shapes_of(job);
  if (!shapes.causal) return "over all keys that a token meets";
  if (!hardware) return job.training.attention_flops_full ? "in full" : "at half for causality";
  if (!spec::is_fused(job.training.attention)) return "in full, as unfused kernels compute it";
  const bool masks = std::ranges::any_of(job.model.layers, [&](const spec::Layer& layer) {
    return workload::masked_window(shapes, workload::layer_window(shapes, layer));
  });
  return std::string("at half, as kernels skip what causality masks") +
         (masks ? ", and in full where a window is a mask to them" : "");
}

Explanation flops_per_step(const Context& c, bool hardware) {
  Explanation flops = node(
      hardware ? "hardware_flops_per_step" : "model_flops_per_step",
      hardware ? workload::hardware_flops_per_step(c.job).value()
               : workload::model_flops_per_step(c.job).value(),
      "FLOP",
      "forward and backward matrix work of all tokens, vocabulary projection included, attention " +
          attention_counted(c.job, hardware));
  if (c.job.model.vision != nullptr)
    flops.formula += "; of all tiles of images, that of the vision tower and its projector";
  const bool repeats = c.job.training.recompute != spec::Recompute::kNone;
  if (hardware) flops.formula += repeats ? ", and what recomputation repeats" : ", and of padding";
  flops.inputs = {explain_setting(c.job, "flops"), explain_setting(c.job, "global_batch_size"),
                  explain_setting(c.job, "seq_length")};
  if (c.job.model.vision != nullptr)
    for (const char* name : {"images_per_sample", "tiles_per_image", "freeze"})
      flops.inputs.push_back(explain_setting(c.job, name));
  if (hardware) flops.inputs.push_back(explain_setting(c.job, "recompute_granularity"));
  return flops;
}

Explanation tflops(const Context& c, bool hardware) {
  const run::Performance& p = c.run.performance;
  Explanation rate = node(hardware ? "hardware_tflops_per_gpu" : "model_tflops_per_gpu",
                          hardware ? p.hardware_tflops_per_gpu : p.model_tflops_per_gpu, "",
                          hardware ? "hardware_flops_per_step / gpus / step_time_s / 1e12"
                                   : "model_flops_per_step / gpus / step_time_s / 1e12");
  rate.inputs = {flops_per_step(c, hardware), gpus(c), step_time(c, false)};
  return rate;
}

Explanation utilization(const Context& c, bool hardware) {
  const run::Performance& p = c.run.performance;
  Explanation share =
      node(hardware ? "hfu" : "mfu", hardware ? p.hfu : p.mfu, "",
           hardware ? "hardware_tflops_per_gpu / peak" : "model_tflops_per_gpu / peak");
  share.inputs = {tflops(c, hardware),
                  catalog_node(c.job, spec::matrix_peak(c.job.cluster.node.gpu, c.job.training,
                                                        c.job.training.precision))};
  share.inputs.back().name = "peak";
  share.inputs.back().text += ", dense, at boost clock";
  return share;
}

Explanation bubble(const Context& c) {
  const bool makes_circuits = c.job.cluster.fabric.topology.circuits.reconfiguration_s > 0;
  Explanation share =
      node("pipeline_bubble_fraction", c.run.performance.pipeline_bubble_fraction, "",
           fmt::format("(idle - waiting for the host to launch kernels{}) / step_time_s, mean over "
                       "ranks; 0 without a pipeline",
                       makes_circuits ? " - waiting for circuits made beside the passes" : ""));
  share.inputs = {breakdown_part(c, "idle"),
                  step_time(c, false),
                  explain_setting(c.job, "pipeline_model_parallel_size"),
                  explain_setting(c.job, "virtual_pipeline_model_parallel_size"),
                  node("micro_batches", static_cast<double>(c.job.micro_batches()), "",
                       "global_batch_size / (micro_batch_size x data_parallel_size)"),
                  explain_setting(c.job, "schedule")};
  return share;
}

Explanation interval_end(const Context& c, bool high) {
  const run::Performance& p = c.run.performance;
  std::string formula =
      fmt::format("step_time_s {} exp(1.645 sigma): 90 % of the runs of such jobs lie inside",
                  high ? "x" : "/");
  for (size_t i = 0; i < p.interval_reasons.size(); ++i)
    formula += (i == 0 ? "; wider because " : "; ") + p.interval_reasons[i];
  Explanation end = high ? node("step_time_s_high", p.step_time_s_high, "s", std::move(formula))
                         : node("step_time_s_low", p.step_time_s_low, "s", std::move(formula));
  end.inputs = {step_time(c, false)};
  return end;
}

Result<Explanation> compute(const Context& c) {
  Explanation part = breakdown_part(c, "compute");
  ERGOMETER_ASSIGN(part.inputs, heaviest_operators(c.job));
  part.formula += "; what takes most, on a rank of stage 0, alone on its GPU:";
  return part;
}

Result<Explanation> explain_field(const Context& c, std::string_view field) {
  if (field == "performance.step_time_s") return step_time(c, true);
  if (field == "performance.step_time_s_low" || field == "performance.step_time_s_high")
    return interval_end(c, field.ends_with("_high"));
  if (field == "performance.tokens_per_s") return tokens_per_s(c);
  if (field == "performance.tokens_per_s_per_gpu") return tokens_per_s_per_gpu(c);
  if (field == "performance.model_tflops_per_gpu") return tflops(c, false);
  if (field == "performance.hardware_tflops_per_gpu") return tflops(c, true);
  if (field == "performance.mfu") return utilization(c, false);
  if (field == "performance.hfu") return utilization(c, true);
  if (field == "performance.pipeline_bubble_fraction") return bubble(c);
  if (field == "performance.breakdown_s.compute") return compute(c);
  if (field.starts_with("performance.breakdown_s.")) return breakdown_part(c, field.substr(24));
  if (field.starts_with("memory.")) return explain_memory(c.run, c.job, field);
  return explain_power(c.run, c.job, field);
}

/// The full name of what the user wrote: the group may be left out where the rest is unique.
std::string full_name(const std::string& name) {
  for (const run::SummaryField& field : run::summary_fields()) {
    for (const char* group : {"", "performance.", "performance.breakdown_s.", "memory.", "power.",
                              "thermal.", "cluster_power."}) {
      if (field.name == group + name) return std::string(field.name);
    }
  }
  return {};
}

/// Whether a number is told from the one kind of node that a cluster has.
bool tells_node(std::string_view name, std::string_view field) {
  return name.starts_with("op:") || name.starts_with("links.") || field.starts_with("memory.") ||
         field == "performance.mfu" || field == "performance.hfu" ||
         field == "performance.breakdown_s.compute";
}

}  // namespace

Result<Explanation> explain(const run::Run& run, const spec::Job& job, const std::string& name) {
  if (name.empty()) return explain_settings(job);
  if (tells_node(name, full_name(name)))
    ERGOMETER_TRY(spec::refuse_groups(job.cluster, "--explain " + name));
  if (name.starts_with("op:")) return explain_operator(job, name.substr(3));
  if (name == "energy" || name.starts_with("energy.")) return explain_energy(run, job, name);
  const Context context{run, job};
  if (name.starts_with("links.")) return explain_link(run, job, name);
  if (const std::string field = full_name(name); !field.empty())
    return explain_field(context, field);
  if (const spec::SettingInfo* setting = spec::find_setting(name))
    return explain_setting(job, std::string(setting->name));
  std::vector<std::string> known = {"op:qkv", "links.nic.bytes_per_step", "energy", "taxes"};
  for (const run::SummaryField& field : run::summary_fields()) {
    known.emplace_back(field.name);
    known.emplace_back(base::last_part(field.name, '.'));
  }
  return input_error(
      "--explain: no number is named '{}'{} (names are those of --json; op:NAME for an operator)",
      name, base::did_you_mean(name, known));
}

}  // namespace ergometer::report
