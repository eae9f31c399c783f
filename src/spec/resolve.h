#pragma once

#include "spec/setting_reader.h"
#include "spec/settings.h"

namespace ergometer::spec {

/// The steps of `resolve()` (`spec/settings.h`), in this order. Each takes its settings from `read`, fills its part of
/// the job and keeps the first contradiction in `read`.

/// Pre-training, LoRA, prefill or decode.
void resolve_mode(SettingReader& read, Job& job);
/// GPUs, the sizes of all groups, dp, and how data parallelism shards.
void resolve_parallelism(SettingReader& read, Job& job);
/// Batches, precision, recomputation, overlap, kernels.
void resolve_training(SettingReader& read, Job& job);
/// Every size against the model, the cluster and the other sizes.
void check_parallelism(SettingReader& read, const Job& job);
void check_training(SettingReader& read, const Job& job);

}  // namespace ergometer::spec
