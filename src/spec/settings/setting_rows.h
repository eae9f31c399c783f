#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "spec/job/compression.h"
#include "spec/settings/lora_targets.h"
#include "spec/settings/schedule_file.h"
#include "spec/settings/setting_fields.h"
#include "spec/settings/setting_values.h"

/// What the rows of the table of settings are written with: places, values that more than a field
/// makes, and traits that only some have.
namespace ergometer::spec::rows {

constexpr double kMostTokens = 134'217'728;
constexpr double kMostSamples = 1e9;

constexpr SettingPlace kVision{"vision", "sequence"};
/// Every cause is one of `compare::factors()`.
constexpr SettingPlace kModel{"job", "model"};
constexpr SettingPlace kTensor{"parallelism", "tensor_parallelism"};
constexpr SettingPlace kContext{"parallelism", "context_parallelism"};
constexpr SettingPlace kPipeline{"parallelism", "pipeline"};
constexpr SettingPlace kSharding{"parallelism", "sharding"};
constexpr SettingPlace kSequence{"training", "sequence"};
constexpr SettingPlace kBatch{"training", "global_batch"};
constexpr SettingPlace kSoftware{"training", "software"};
constexpr SettingPlace kRecompute{"recomputation", "recomputation"};
constexpr SettingPlace kTransfers{"overlap", "overlap_pipeline"};
constexpr SettingPlace kPrecision{"precision", "precision"};
constexpr SettingPlace kExperts{"experts", "experts"};
constexpr SettingPlace kKernels{"kernels", "kernels"};
constexpr SettingPlace kGraphs{"kernels", "graphs"};
constexpr SettingPlace kTask{"task", "task"};
constexpr SettingPlace kLimits{"conditions", "limits"};
constexpr SettingPlace kCooling{"conditions", "cooling"};
constexpr SettingPlace kTime{"conditions", "time"};
/// Of no cause where none is named.
constexpr SettingPlace in(std::string_view group, std::string_view cause = {}) {
  return {group, cause};
}

/// A setting that becomes something else in the job.
constexpr SettingValue unkept(SettingKind kind, double min = 0, double max = 0) {
  return {.kind = kind, .min = min, .max = max};
}
/// A setting that is read by hand, and told from the job.
constexpr SettingValue told(SettingKind kind, SettingText text, std::string_view words = {}) {
  return {.kind = kind, .choices = words, .text = text};
}

/// Linear layers with adapters, in any framework's words.
constexpr SettingValue adapted_layers() {
  SettingValue value = field<&Training::lora_targets>(0, 0, "qkv|q|k|v|proj|fc1|fc2");
  value.read = [](SettingReader& read, const SettingInfo& info, Job& job) {
    std::string unknown;
    const auto targets = lora_targets(read.text(info.name), unknown);
    if (!targets)
      return read.refuse_value(info.name,
                               "a list of qkv, q, k, v, proj, fc1 and fc2, or of a framework's "
                               "words for them (q_proj, gate_proj, c_attn ...)");
    job.training.lora_targets.clear();
    if (!targets->empty()) job.training.lora_targets = base::split(*targets, ',');
  };
  return value;
}

/// What is made smaller on its way between ranks.
constexpr SettingValue compressed_activations() {
  SettingValue value{.kind = SettingKind::kChoice, .choices = "none|int8"};
  value.text = [](const SettingInfo&, const Job& job) {
    return compression_text(activation_compression(job));
  };
  value.read = [](SettingReader& read, const SettingInfo& info, Job& job) {
    if (read.choice(info.name, 0, info.reason) == 1)
      compress_activations(job, {Compression::Kind::kInt8, 1});
  };
  return value;
}
constexpr SettingValue compressed_gradients() {
  SettingValue value{.kind = SettingKind::kText};
  value.text = [](const SettingInfo&, const Job& job) {
    return compression_text(gradient_compression(job));
  };
  value.read = [](SettingReader& read, const SettingInfo& info, Job& job) {
    const std::string said = read.text(info.name);
    const auto how = parse_compression(said.empty() ? "none" : said);
    if (!how)
      return read.refuse_value(info.name,
                               "none, int8, or topk:SHARE with a share above 0 and at most 0.5");
    compress_gradients(job, *how);
  };
  return value;
}

// What only some settings have: `SettingTraits`.
constexpr auto why(std::string_view reason) {
  return [reason](SettingTraits& it) { it.reason = reason; };
}
constexpr auto habit() {
  return [](SettingTraits& it) { it.habit = true; };
}
constexpr auto also(std::string_view words) {
  return [words](SettingTraits& it) { it.also = words; };
}
constexpr auto sought(std::string_view words) {
  return [words](SettingTraits& it) { it.sought = words; };
}
constexpr auto megatron(std::string_view words) {
  return [words](SettingTraits& it) { it.megatron = words; };
}
constexpr auto core(std::string_view words = kOwnName) {
  return [words](SettingTraits& it) { it.core = words; };
}
constexpr auto nemo(std::string_view words = kOwnName) {
  return [words](SettingTraits& it) { it.nemo = words; };
}

/// Profiles of one name need not say the same: a file may stand in for the catalog's.
inline std::string software_text(const SettingInfo&, const Job& job) {
  std::string text = job.software.name;
  for (const auto& [name, parameter] : job.software.parameters.all())
    if (!name.starts_with("compress."))
      text += fmt::format(" {}={}", name, base::shortest(parameter.value));
  return text;
}

inline std::string reduction_text(const SettingInfo& info, const Job& job) {
  return field_text(info, !job.training.gradients_fp32);
}
inline std::string order_text(const SettingInfo&, const Job& job) {
  const Parallelism& p = job.parallelism;
  return p.order.stages.empty() ? "" : schedule_text(p.order, to_word(p.schedule));
}
inline std::string dispatcher_text(const SettingInfo&, const Job& job) {
  return std::string(to_word(job.training.moe_dispatcher));
}
inline std::string expert_routing_text(const SettingInfo&, const Job& job) {
  return job.training.moe_routing.text;
}
inline std::string lengths_text(const SettingInfo&, const Job& job) {
  const SequenceLengths& lengths = job.training.sequence_lengths;
  return lengths.has_images() ? "even" : lengths.text;
}
inline std::string samples_text(const SettingInfo&, const Job& job) {
  const SequenceLengths& lengths = job.training.sequence_lengths;
  return lengths.has_images() ? lengths.text : "";
}
inline std::string flex_backend_text(const SettingInfo&, const Job& job) {
  return std::string(flex_backend(job.training.moe_dispatcher));
}

/// A field that says nothing of a model without a vision tower.
template <auto kMember>
constexpr SettingValue of_images(double min = 0, double max = 0, std::string_view words = {}) {
  SettingValue value = field<kMember>(min, max, words);
  value.read = nullptr;  // by hand
  value.text = [](const SettingInfo& info, const Job& job) {
    return job.model.vision ? field_text(info, value_in<kMember>(job)) : std::string();
  };
  return value;
}

/// A field that says nothing where samples are alike.
template <auto kMember>
constexpr SettingValue of_samples(double min = 0, double max = 0) {
  SettingValue value = field<kMember>(min, max);
  value.read = nullptr;  // by hand
  value.text = [](const SettingInfo& info, const Job& job) {
    return job.training.sequence_lengths.has_images() ? field_text(info, value_in<kMember>(job))
                                                      : std::string();
  };
  return value;
}

/// Where nobody says it, the cooling's own holds, which is no value of the job.
constexpr SettingValue inlet() {
  SettingValue value = measure<&Conditions::inlet_c>(-20, 80, "C");
  value.text = [](const SettingInfo& info, const Job& job) {
    return job.conditions.has_inlet ? field_text(info, job.conditions.inlet_c) : "";
  };
  return value;
}

}  // namespace ergometer::spec::rows
