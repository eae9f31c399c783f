#pragma once

#include <cstdint>
#include <vector>

#include "spec/settings/setting_reader.h"

namespace ergometer::spec {

/// Divides the layers over stages and chunks where the user does not say how, as the job's
/// framework does: nanotron always by cost, torchtitan with the ends counted; the others evenly,
/// and where that does not go, with the embedding and the loss counted as layers, or by a list. The
/// reason becomes the origin.
void divide_stages(SettingReader& read, Job& job);

/// Divides the batch over replicas of unlike speed, where the user asks for it.
void divide_batches(SettingReader& read, Job& job);

/// Layers of every chunk, chunk-major, where the job's framework divides by itself what does not
/// divide evenly: nanotron by cost, torchtitan and DeepSpeed by their own rules, Megatron-LM by a
/// list that somebody writes.
std::vector<int64_t> own_stage_layers(const Job& job);

}  // namespace ergometer::spec
