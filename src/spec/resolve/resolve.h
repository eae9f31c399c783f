#pragma once

#include "spec/settings/setting_reader.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// The steps of `resolve()` (`spec/settings/settings.h`), in this order. Each takes its settings
/// from `read`, fills its part of the job and keeps the first contradiction in `read`.

/// Pre-training, LoRA, prefill or decode.
void resolve_mode(SettingReader& read, Job& job);
/// The sizes of the groups, the division into chunks and the schedule.
void resolve_groups(SettingReader& read, Job& job);
/// Tensor, pipeline and expert parallelism against the model: before GPUs are counted, because a
/// size that the model rules out would otherwise be blamed on the number of GPUs.
void check_groups(SettingReader& read, const Job& job);
/// GPUs, dp, and how data parallelism shards.
void resolve_ranks(SettingReader& read, Job& job);
/// Number formats, and what parameters, gradients and the optimizer's states are kept in.
void resolve_precision(SettingReader& read, Job& job);
void check_precision(SettingReader& read, const Job& job);
/// Whether trained weights are kept in FP32 and cast wherever they are used: once it is known what
/// data parallelism shards.
void settle_autocast(Job& job);
/// Those, batches, recomputation, overlap, kernels.
void resolve_training(SettingReader& read, Job& job);
/// Images of a model with a vision tower, what of it is frozen, and how layers of two kinds are
/// divided over the pipeline where nobody says it: by their products.
void resolve_vision(SettingReader& read, Job& job);
void check_vision(SettingReader& read, const Job& job);
std::vector<int64_t> vision_stage_layers(const Job& job);
/// How long documents are, and what must go with that.
void resolve_sequences(SettingReader& read, Job& job);
void check_sequences(SettingReader& read, const Job& job);
/// Power, clocks, cooling, faults: after GPUs are counted, because overrides name them.
void resolve_conditions(SettingReader& read, Job& job);
/// Sizes against each other, the batches and the cluster.
void check_ranks(SettingReader& read, const Job& job);
/// The pipeline's order of work against the stages, the chunks and the micro batches.
void check_schedule(SettingReader& read, const Job& job);
void check_training(SettingReader& read, const Job& job);
void check_fuse(SettingReader& read, const Job& job);
/// Says of settings that were given and that the job, as it came to be, cannot use.
void note_unused(SettingReader& read, const Job& job);
/// What a search leaves out although a framework runs it: layers that do not divide, tensor
/// parallelism beyond the fast links that nobody allowed.
void check_searched(SettingReader& read, const Job& job);

/// Whether ranks of one tensor-parallel group share no fast links.
bool tensors_leave_domain(const Job& job);

}  // namespace ergometer::spec
