#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ergometer::report {

/// What the reports say about the job, read out of the JSON that the Run carries: a recorded or
/// imported Run has no spec::Job, and its fields may be absent; numbers are then 0 and texts empty.
struct JobView {
  std::string recipe, recipe_title, recipe_source;  ///< whose defaults hold, and who chose them
  std::string model, cluster, gpu, schedule, vocabulary, stage_training, precision, recompute, mode,
      fabric, cooling;
  std::string quantize, optimizer_moments;  ///< empty: in 16 bit, in FP32
  std::string pcie;                         ///< of a node that says its PCIe tree: what it is
  std::string wiring;  ///< of a network without a tree of switches: what the fabric joins how
  double parameters = 0, active_parameters = 0;
  double images_left_out = 0;  ///< share of those that samples have
  int64_t gpus = 0, nodes = 0;
  int64_t tp = 0, cp = 0, pp = 0, vpp = 0, dp = 0, ep = 0, etp = 0, zero = 0;
  std::string recompute_method;  ///< of full recomputation
  int64_t recompute_layers = 0;  ///< its number; 0: none was said
  int64_t fsdp_shard_size = 0;   ///< 0: a copy is sharded over all
  bool sequence_parallel = false, fsdp = false;
  /// GPUs of which nothing was measured of what they draw for, and whether others are there.
  std::vector<std::string> power_assumed;
  bool power_of_others = false;
  bool least_batch = false, masterless = false, power_smoothing = false;
  int64_t micro_batch = 0, global_batch = 0, micro_batches = 0, seq_length = 0, lora_rank = 0,
          images = 0, tiles_per_image = 0, tokens_per_image = 0, generate_tokens = 0,
          packed_mean_length = 0;
  /// What the user said about power, clocks, cooling and faults, a few words each.
  std::vector<std::string> conditions;
  std::vector<std::string> vendors;  ///< of a cluster's unlike GPUs, each once
  std::vector<std::string> frozen;   ///< parts of a model with a vision tower

  /// Ranks of one pipeline stage; 0 when the layout is not known.
  int64_t stage_ranks() const { return tp * cp * dp; }
};

JobView view_job(const std::string& job_json);

/// Whose defaults hold where nothing was said, and how to change that: "recipe nemo 25.09 (NVIDIA's
/// NeMo ...), as the file's framework".
std::string recipe_words(const JobView& job);

}  // namespace ergometer::report
