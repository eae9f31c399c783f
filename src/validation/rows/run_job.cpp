#include "validation/rows/run_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "base/text.h"
#include "plan/memory.h"
#include "spec/catalog/read.h"
#include "spec/job/adjustments.h"
#include "spec/job/job_words.h"
#include "spec/job/matrix_peak.h"
#include "spec/settings/setting_names.h"
#include "spec/settings/setting_values.h"
#include "validation/rows/job_draft.h"
#include "validation/rows/measurement.h"
#include "workload/flops.h"

namespace ergometer::validation {
namespace {

using spec::kCp;
using spec::kGbs;
using spec::kPp;
using spec::kTp;
using spec::kVpp;

constexpr std::string_view kModules = "recompute_modules";
constexpr std::string_view kLayers = "num_layers";

/// Switches that another setting rules out: a recipe is written for more than one layout.
void mend_overlap(JobDraft& draft) {
  const bool split = draft.number(kTp, 1) > 1;
  if (!split) draft.drop("tp_comm_overlap");
  if (draft.text("sequence_parallel") == "false") draft.drop("tp_comm_overlap");
  if (!split && draft.is_on("sequence_parallel")) draft.drop("sequence_parallel");
  if (draft.is_on("fsdp")) {
    // FSDP gathers and reduces by itself.
    draft.drop("overlap_grad_reduce");
    draft.drop("overlap_param_gather");
  }
  if (draft.text("zero") == "0" || draft.text("overlap_grad_reduce") == "false")
    draft.drop("overlap_param_gather");
  if (draft.is_on("overlap_param_gather"))
    draft.fill("overlap_grad_reduce", "true", "goes with it");
  if (draft.number(kPp, 1) == 1) {
    draft.drop(kVpp);
    draft.drop("overlap_p2p");
  }
}

/// Modules that the model has not cannot be computed again.
void mend_recomputation(JobDraft& draft, const spec::Model& model) {
  if (draft.text("recompute_granularity") != "selective") {
    draft.drop(kModules);
    if (draft.text("recompute_granularity") != "full") {
      draft.drop("recompute_method");
      draft.drop("recompute_num_layers");
    }
    return;
  }
  if (!draft.has(kModules)) return;
  const std::string_view known = spec::find_setting(kModules)->choices;
  std::string kept;
  for (const std::string_view module : base::trimmed_parts(draft.text(kModules), ',')) {
    const bool experts = module == "moe" || module == "moe_act";
    const bool lacks =
        (experts && model.experts.count == 0) ||
        (module == "shared_experts" && model.experts.shared_ffn == 0) ||
        (module == "mla_up_proj" && model.attention != spec::AttentionKind::kLatent) ||
        spec::index_of(known, module) < 0;
    if (!lacks) kept += fmt::format("{}{}", kept.empty() ? "" : ",", module);
  }
  if (kept == draft.text(kModules)) return;
  draft.drop(kModules);
  if (kept.empty())
    draft.correct("recompute_granularity", "none", "the model has none of the recipe's modules");
  else
    draft.correct(kModules, kept, "those of the recipe that the model has");
}

/// Sizes of expert parallelism that the model or the layout has no room for.
void mend_experts(JobDraft& draft, const spec::Model& model) {
  constexpr std::string_view kEp = "expert_model_parallel_size";
  if (model.experts.count == 0) {
    draft.drop(kEp);
    for (const std::string_view setting :
         {"expert_tensor_parallel_size", "moe_expert_capacity_factor",
          "moe_pad_expert_input_to_capacity", "moe_token_dispatcher_type",
          "moe_flex_dispatcher_backend", "overlap_moe_expert_parallel_comm"})
      draft.drop(setting);
    return;
  }
  const int64_t ranks = draft.number("gpus", 1) / std::max<int64_t>(draft.number(kPp, 1), 1);
  const int64_t etp = draft.number("expert_tensor_parallel_size", draft.number(kTp, 1));
  const int64_t given = draft.number(kEp, 1);
  int64_t ep = std::min({given, ranks, model.experts.count});
  while (ep > 1 && (ep * etp > ranks || ranks % (ep * etp) != 0 || model.experts.count % ep != 0))
    --ep;
  if (ep != given)
    draft.correct(kEp, fmt::format("{}", ep),
                  fmt::format("the row's {} does not divide a stage's {} ranks", given, ranks));
}

/// More chunks than the model has layers: the row has the layout of another model. Where the batch
/// is that of a job without stages, there are none.
void mend_chunks(JobDraft& draft, const spec::Model& model) {
  const int64_t pp = draft.number(kPp, 1), vpp = draft.number(kVpp, 1);
  if (vpp == 1 || pp * vpp <= draft.number("num_layers", model.layer_count()) + 2) return;
  const int64_t unsplit = draft.number("gpus", 1) / draft.number(kTp, 1) / draft.number(kCp, 1);
  const int64_t passes = draft.whole("grad_accum").value_or(0);
  constexpr std::string_view kReason = "the row's layout has more chunks than the model has layers";
  draft.correct(kVpp, "1", kReason);
  if (passes > 0 && draft.number("global_batch_size", 0) / passes ==
                        unsplit * draft.number("micro_batch_size", 1))
    draft.correct(kPp, "1", kReason);
}

/// A row that tells the bus bandwidth of a gather over all its ranks tells its network: how
/// much every further node of a group costs. The benchmark's message, which the source does not
/// state, is taken as 512 MiB, as in its medians (validation/kernels/microbench_row.cpp).
void take_measured_network(const JobDraft& draft, RunJob& result) {
  const double bus_bytes_per_s = measured_gather(draft);
  spec::Job& job = result.job;
  if (!(bus_bytes_per_s > 0) || job.nodes() < 2) return;
  base::ParameterSet& fabric = job.cluster.fabric.parameters;
  const double line_bytes_per_s = base::sum(job.cluster.node.nics, &spec::Nic::bytes_per_s);
  constexpr double kMessage = 512.0 * (1 << 20);
  const auto ranks = static_cast<double>(job.gpus);
  const double sent = (ranks - 1) / ranks * kMessage;
  const double alone_s =
      sent / (line_bytes_per_s * fabric.value_or("collective.line_efficiency", 1));
  const double ring_s = fabric.value_or("collective.ring_step", 0) * (ranks - 1);
  const double lost_s = sent / bus_bytes_per_s - alone_s;
  const double step_s =
      lost_s > ring_s ? lost_s / std::sqrt(static_cast<double>(job.nodes() - 1) * (ranks - 1)) : 0;
  const std::string source = "gather measured in the same job";
  fabric.set("collective.node_step", {step_s, "s", source, base::Grade::kMeasured});
  result.fills.push_back({"fabric.node_step", fmt::format("{:.3g} ms", step_s * 1e3), source});
}

/// What the program settled by itself, and what a job file cannot say but follows from the row.
void finish(const JobDraft& draft, RunJob& result) {
  spec::Job& job = result.job;
  if (draft.text("model").starts_with('{')) job.model.name = draft.cell("model");
  for (const auto& [name, origin] : job.origins)
    if (const size_t at = origin.text.find(spec::kAdjusted); at != std::string::npos)
      result.fills.push_back(
          {name, spec::setting_value(name, job), origin.text.substr(at + spec::kAdjusted.size())});
  const bool simumax = draft.source_has("SimuMax");
  if (simumax && job.model.experts.count > 0) {
    for (size_t i = 0; i < job.model.layers.size(); ++i) job.model.layers[i].moe = i >= 1;
    result.fills.push_back({"model.first_dense_layers", "1", "the suite keeps one dense layer"});
  }
}

bool fits(const spec::Job& job) {
  const workload::Workload workload = workload::lower(job);
  return plan::memory(job, workload, plan::divide(job, workload)).fits;
}

/// Where neither the row nor its recipe says whether FSDP recomputes, it does when it has to.
bool needs_recomputation(const spec::Job& job) {
  return job.origins.at("recompute_granularity").text.starts_with("default: ") &&
         job.training.framework == spec::Framework::kTorchFsdp && !fits(job);
}

/// The job of the draft with that split; the draft has it then.
Result<spec::Job> split(JobDraft& draft, int64_t tp, int64_t pp) {
  constexpr std::string_view kReason =
      "the row does not give its layout; the least split over a node, then over stages, that fits "
      "in memory (assumed)";
  draft.fill(kTp, fmt::format("{}", tp), kReason);
  draft.fill(kPp, fmt::format("{}", pp), kReason);
  return spec::resolve(draft.settings());
}

/// Stages need many micro batches: a batch that is not given is GPT-3's of 3.2 million tokens.
void fill_large_batch(JobDraft& draft, spec::Job& job) {
  constexpr int64_t kTokens = 3'200'000;
  const int64_t unit = job.parallelism.dp * job.training.micro_batch;
  const int64_t units = std::max(kTokens / job.training.seq_length / unit, job.parallelism.pp);
  const std::string batch = fmt::format("{}", units * unit);
  spec::Settings settings = draft.settings();
  settings.set(kGbs, batch, spec::Origin{"", ""});
  auto filled = spec::resolve(settings);
  if (!filled) return;
  job = *std::move(filled);
  draft.fill(kGbs, batch, "blank: GPT-3's batch");
}

/// Where nobody says how a model is split, it is when it has to: as Megatron-LM's papers advise, by
/// tensors over the GPUs of a node, then by stages. A job that no split makes fit stays whole.
void split_until_it_fits(JobDraft& draft, spec::Job& job) {
  const bool settled = !job.origins.at(std::string(kTp)).text.starts_with("default: ");
  if (settled || draft.has(kTp) || draft.has(kPp) ||
      job.training.framework != spec::Framework::kMegatron || job.parallelism.fsdp || fits(job))
    return;
  const bool batch_given = draft.has(kGbs);
  int64_t tp = job.parallelism.tp, pp = job.parallelism.pp;
  while (true) {
    const bool by_tensors = 2 * tp <= job.cluster.node.gpus && job.model.heads % (2 * tp) == 0;
    (by_tensors ? tp : pp) *= 2;
    JobDraft trial = draft;
    auto smaller = split(trial, tp, pp);
    if (!smaller) return;
    if (fits(*smaller)) break;
  }
  job = *split(draft, tp, pp);
  if (!batch_given && pp > 1) fill_large_batch(draft, job);
}

/// What the job's software set, by name and reason.
void add_recipe(RunJob& result) {
  for (const auto& [name, origin] : result.job.origins)
    if (origin.text.starts_with("recipe "))
      result.fills.push_back({name, spec::setting_value(name, result.job), origin.text});
}

/// The row's own MFU over that of the job in the row's time; 0 where the row lacks one of the two.
double mfu_ratio(const MeasuredRun& run, const spec::Job& job) {
  const double given = base::parse_number(run.cell("mfu_pct")).value_or(0) / 100;
  const auto step_s = measurement(run, job).step_time_s;
  const spec::Gpu& gpu = job.cluster.node.gpu;
  const double peak = gpu.parameters.value_or(
      spec::matrix_peak(gpu, job.training, job.training.precision), gpu.peak_bf16_flops_per_s);
  if (!step_s || given <= 0 || peak <= 0) return 0;
  const double flops = workload::model_flops_per_step(job).value();
  return given * *step_s * static_cast<double>(job.gpus) * peak / flops;
}

/// A row whose depth is not that of the model that it names, and whose own MFU is that of the model
/// as it is and not of one of the row's depth: its column of layers is another model's.
void mend_depth(JobDraft& draft, const spec::Model& model, spec::Job& job) {
  constexpr double kFar = 1.25, kNear = 1.05;
  if (!draft.has(kLayers) || draft.number(kLayers, 0) == model.layer_count()) return;
  const double ratio = mfu_ratio(draft.run, job);
  if (ratio <= 0 || (ratio < kFar && ratio > 1 / kFar)) return;
  JobDraft whole = draft;
  whole.correct(kLayers, fmt::format("{}", model.layer_count()),
                fmt::format("the row's MFU is that of the model's own depth, not of {} layers",
                            draft.number(kLayers, 0)));
  auto other = spec::resolve(whole.settings());
  if (!other) return;
  const double mended = mfu_ratio(draft.run, *other);
  if (mended > kNear || mended < 1 / kNear) return;
  draft.correct(kLayers, std::string(whole.text(kLayers)), whole.fills().back().reason);
  job = *std::move(other);
}

/// An error of `resolve` without the settings' own words for where it came from.
base::Error reason_of(const base::Error& error) {
  std::string message = error.message;
  if (message.starts_with(": ")) message.erase(0, 2);
  return {base::ErrorKind::kInput, std::move(message)};
}

}  // namespace

Result<RunJob> make_job(const MeasuredRun& run) {
  // What is kept in memory was the same, and is all that a row with an outcome is held to.
  if (contains(run.cell("notes"), "after_pp_fix=False") && run.cell("pp") != "1" &&
      run.cell("outcome").empty())
    return input_error(
        "notes: after_pp_fix=False: the source mended pipelines later; its earlier pipeline runs "
        "do not describe its software");
  JobDraft draft(run);
  for (const auto step :
       {take_model, take_cluster, take_sizes, take_words, take_notes, take_software}) {
    step(draft);
    if (draft.error()) return tl::unexpected(*draft.error());
  }
  ERGOMETER_ASSIGN(const spec::Model model, spec::read_model(std::string(draft.text("model"))));
  mend_chunks(draft, model);
  fill_sizes(draft);
  if (draft.error()) return tl::unexpected(*draft.error());
  mend_overlap(draft);
  mend_recomputation(draft, model);
  mend_experts(draft, model);
  auto job = spec::resolve(draft.settings());
  if (!job) return tl::unexpected(reason_of(job.error()));
  mend_depth(draft, model, *job);
  if (needs_recomputation(*job)) {
    draft.fill("recompute_granularity", "full", "does not fit without recomputation");
    job = spec::resolve(draft.settings());
    if (!job) return tl::unexpected(reason_of(job.error()));
  }
  split_until_it_fits(draft, *job);
  RunJob result{*std::move(job), std::move(draft.fills())};
  add_recipe(result);
  finish(draft, result);
  take_measured_network(draft, result);
  return result;
}

}  // namespace ergometer::validation
