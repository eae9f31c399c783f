#include <fmt/format.h>

#include <array>

#include "spec/job/job_words.h"
#include "spec/job/node_groups.h"
#include "spec/resolve/resolve.h"
#include "spec/settings/setting_names.h"

namespace ergometer::spec {
namespace {

/// One of `--precision`, `--bf16`, `--fp16`, `--fp8`, `--fp4`; the narrow ones go with either
/// 16-bit format.
void read_precision(SettingReader& read, Job& job) {
  Training& t = job.training;
  bool has_bf16 = true;
  for (size_t group = 0; group < group_count(job.cluster); ++group)
    has_bf16 &= node_of_group(job.cluster, group).gpu.peak_bf16_flops_per_s > 0;
  const bool bf16 = read.flag("bf16", false, "see precision");
  const bool fp16 = read.flag("fp16", false, "see precision");
  const bool fp8 = read.flag("fp8", false, "see precision");
  const bool fp4 = read.flag("fp4", false, "see precision");
  if (bf16 && fp16)
    read.refuse("{} contradicts {}; leave one out", read.said("fp16"), read.said("bf16"));
  Precision precision = has_bf16 ? Precision::kBf16 : Precision::kFp16;
  if (bf16) precision = Precision::kBf16;
  if (fp16) precision = Precision::kFp16;
  if (fp8) precision = Precision::kFp8;
  if (fp4) precision = Precision::kNvfp4;
  const char* reason = bf16 || fp16 || fp8 || fp4 ? "as asked for"
                       : has_bf16                 ? "bf16"
                                                  : "fp16, for the GPU has no bf16";
  t.precision = read.choice("precision", precision, reason);
  struct Word {
    std::string_view name;
    bool on;
    Precision meant;
  };
  const std::array<Word, 4> words = {{{"bf16", bf16, Precision::kBf16},
                                      {"fp16", fp16, Precision::kFp16},
                                      {"fp8", fp8, Precision::kFp8},
                                      {"fp4", fp4, Precision::kNvfp4}}};
  for (const auto& [name, on, meant] : words) {
    // FP8 and NVFP4 compute beside either 16-bit format, NVFP4 beside FP8 too.
    const bool agrees = t.precision == meant || t.precision == Precision::kNvfp4 ||
                        (t.precision == Precision::kFp8 && meant != Precision::kNvfp4);
    if (on && !agrees)
      read.refuse("{} contradicts {}; leave one out", read.said("precision"), read.said(name));
  }
  for (const auto& [name, on, meant] : words) {
    if (on || !read.given(name) || t.precision != meant) continue;
    if (read.given("precision"))
      read.refuse("{} contradicts {}; leave one out", read.said(name), read.said("precision"));
    else
      read.refuse("{} leaves open in what to compute instead; say it with --precision",
                  read.said(name));
  }
  const bool fp4_blocks = t.precision == Precision::kNvfp4;  // blocks of 16 with FP8 scales
  t.fp8_recipe = read.choice("fp8_recipe", fp4_blocks ? Fp8Recipe::kMxfp8 : Fp8Recipe::kDelayed,
                             fp4_blocks ? "NVFP4 scales blocks" : "delayed scaling");
  const bool narrow_products = t.precision == Precision::kFp8 || t.precision == Precision::kNvfp4;
  // A software's habit holds for the jobs that it can hold for.
  t.fp8_parameters = t.fp8_parameters && (narrow_products || read.given("fp8_param_gather"));
  // Megatron-LM reduces bf16 gradients in FP32 and fp16 gradients as they are. Under autocast they
  // have the type of the weights, FP32.
  const bool as_weights = job.software.parameters.value_or("ddp.autocast", 0) > 0;
  const bool narrow = (t.precision == Precision::kFp16 && !as_weights) || !t.master_weights;
  const bool reduce_narrow =
      read.flag("grad_reduce_in_bf16", narrow,
                !t.master_weights ? "gradients are as wide as their parameters"
                : narrow          ? "fp16 gradients are reduced as they are"
                                  : "gradients are reduced in FP32");
  // FP32 training has no narrow copy that could be reduced.
  t.gradients_fp32 = !reduce_narrow || t.precision == Precision::kFp32;
}

/// PyTorch's Adam keeps moments as wide as the parameters that it updates.
void read_optimizer(SettingReader& read, Training& t) {
  t.moments = read.choice("optimizer_moments", t.master_weights ? Moments::kFp32 : Moments::kBf16,
                          t.master_weights ? "in FP32" : "as wide as the parameters");
  if (!t.master_weights && t.precision == Precision::kFp32)
    read.refuse("{}: parameters in FP32 have no other copy", read.said("master_weights"));
  // Other optimizers and formats keep what they always do, asked or not.
  t.master_remainders = t.master_remainders && t.master_weights &&
                        t.framework == Framework::kMegatron && t.precision != Precision::kFp16 &&
                        t.precision != Precision::kFp32;
  const bool asked = !t.master_weights || t.moments != Moments::kFp32;
  if (asked && t.framework == Framework::kNanotron)
    read.refuse("{}: nanotron keeps both in FP32",
                read.said(t.master_weights ? "optimizer_moments" : "master_weights"));
}

void check_matrix_units(SettingReader& read, const Job& job, const Gpu& gpu) {
  const auto lacks = [&](std::string_view format, std::string_view parameter) {
    if (gpu.parameters.value_or(parameter, 0) > 0) return;
    std::string has;
    for (const char* name : {"bf16", "fp16", "fp8", "fp4"})
      if (gpu.parameters.value_or(fmt::format("peak_{}", name), 0) > 0)
        has += fmt::format("{}{}", has.empty() ? "" : " or ", name);
    read.refuse("{} has no {} matrix units, or none whose rate ({}) is known; try {}", gpu.name,
                format, parameter, has);
  };
  if (job.training.precision == Precision::kFp8) lacks("fp8", "peak_fp8");
  if (job.training.precision == Precision::kNvfp4) lacks("fp4", "peak_fp4");
  if (job.training.precision == Precision::kBf16) lacks("bf16", "peak_bf16");
}

/// A library that was asked for by name stops where it has no kernels for the GPU. What a recipe or
/// a software's profile sets gives way to another kernel there, as frameworks do.
void check_attention(SettingReader& read, const Job& job, const Gpu& gpu) {
  constexpr std::string_view kName = "attention_backend";
  const auto origin = job.origins.find(std::string(kName));
  if (!read.given(kName) || origin == job.origins.end() ||
      origin->second.text.starts_with("recipe "))
    return;
  const AttentionBackend asked = job.training.attention;
  // Its fused attention begins where FlashAttention 2 does.
  constexpr double kAsFlash2 = 2;
  if (asked == AttentionBackend::kCudnn &&
      (gpu.vendor != "NVIDIA" || gpu.parameters.value_or("attention.flash", kAsFlash2) < kAsFlash2))
    return read.refuse("{}: cuDNN has no attention kernels for {}; try fused", read.said(kName),
                       gpu.name);
  const int generation = asked == AttentionBackend::kFlash3   ? 3
                         : asked == AttentionBackend::kFlash2 ? 2
                         : asked == AttentionBackend::kFlash1 ? 1
                                                              : 0;
  const double newest = gpu.parameters.value_or("attention.flash", generation);
  if (generation <= newest) return;
  read.refuse("{}: FlashAttention {} has no kernels for {}; try {}", read.said(kName), generation,
              gpu.name, newest > 0 ? fmt::format("fa{:.0f} or fused", newest) : "fused");
}

}  // namespace

void resolve_precision(SettingReader& read, Job& job) {
  read_precision(read, job);
  read_optimizer(read, job.training);
}

void settle_autocast(Job& job) {
  Training& t = job.training;
  const bool narrow = t.precision == Precision::kBf16 || t.precision == Precision::kFp16;
  t.autocast = job.software.parameters.value_or("ddp.autocast", 0) > 0 && narrow &&
               t.master_weights && job.trains() && !job.parallelism.fsdp &&
               job.parallelism.zero_stage == 0;
}

namespace {

void check_optimizer(SettingReader& read, const Job& job) {
  const Training& t = job.training;
  const bool less = t.master_remainders || (t.master_weights && t.moments != Moments::kFp32);
  if (!less || !job.trains() || t.framework != Framework::kMegatron ||
      job.parallelism.zero_stage > 0)
    return;
  read.refuse(
      "{} needs --zero 1: what keeps less than FP32 is Megatron-Core's distributed optimizer",
      read.said(t.master_remainders ? "use_precision_aware_optimizer" : "optimizer_moments"));
}

/// Of what libraries have FP8 kernels, and whose rate is known.
void check_fp8_attention(SettingReader& read, const Job& job) {
  constexpr std::string_view kName = "fp8_attention";
  const Training& t = job.training;
  if (!t.fp8_attention) return;
  if (t.precision != Precision::kFp8 && t.precision != Precision::kNvfp4)
    return read.refuse("{} needs --fp8 or --fp4", read.said(kName));
  const bool has_fp8_kernels = t.attention != AttentionBackend::kFlash1 &&
                               t.attention != AttentionBackend::kFlash2 &&
                               t.attention != AttentionBackend::kUnfused;
  // What a profile sets gives way to kernels that have them (cost/attention.cpp).
  if (!has_fp8_kernels && read.asks_for("attention_backend"))
    return read.refuse("{}: --attention-backend {} has no FP8 kernels; try fused, fa3 or cudnn",
                       read.said(kName), to_word(t.attention));
  for (size_t group = 0; group < group_count(job.cluster); ++group)
    if (node_of_group(job.cluster, group).gpu.parameters.has("attention.fp8")) return;
  if (read.asks_for(kName))
    read.adjust(kName, fmt::format("{} makes attention no faster here: what FP8 brings it on {} is "
                                   "not known",
                                   read.said(kName), gpus_text(job.cluster)));
}

}  // namespace

void check_precision(SettingReader& read, const Job& job) {
  for (size_t group = 0; group < group_count(job.cluster); ++group) {
    check_matrix_units(read, job, node_of_group(job.cluster, group).gpu);
    check_attention(read, job, node_of_group(job.cluster, group).gpu);
  }
  const Training& t = job.training;
  const bool narrow = t.precision == Precision::kFp8 || t.precision == Precision::kNvfp4;
  if (t.fp8_parameters && !narrow)
    read.refuse("{} needs --fp8 or --fp4", read.said("fp8_param_gather"));
  check_fp8_attention(read, job);
  if (t.quantize != FrozenWeights::k16Bit && narrow)
    read.refuse(
        "{} contradicts FP8 and FP4: packed weights are unpacked to 16 bit and multiply so; "
        "try --precision bf16",
        read.said("quantize"));
  // Ulysses has whole sequences of some heads on every rank, which any attention takes.
  if (t.attention == AttentionBackend::kUnfused && read.given("attention_backend") &&
      job.parallelism.cp > 1 && job.parallelism.cp_comm != CpComm::kAllToAll)
    read.refuse(
        "{} cannot be combined with {}: only fused kernels attend over parts of a sequence; "
        "try fused, or --cp-comm-type a2a",
        read.said("attention_backend"), read.said(kCp, job.parallelism.cp));
  check_optimizer(read, job);
}

}  // namespace ergometer::spec
