#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "run/device_log.h"

namespace ergometer::importer {

// CharLLM-PPT's result folders say in names what their files hold.

/// A GPU's file, METRIC_RANK.csv, and what one unit on disk is in the metric's own.
struct CharllmMetric {
  std::string_view name;
  run::Metric metric;
  double factor;
  bool wraps;             ///< the lower 32 bits of a counter
  double most_per_s = 0;  ///< of a counter: what the link moves at most, in the metric's unit
};
struct CharllmGpuFile {
  const CharllmMetric* metric = nullptr;  ///< null: no such file
  int64_t rank = -1;
};
/// The longest metric that fits counts: a name may have a prefix of its own.
CharllmGpuFile charllm_gpu_file(std::string_view path);

/// A node's file, as node_exporter was read by the first rank of it: system_METRIC_RANK.csv or
/// system_METRIC_rank_RANK_id_LABEL.csv.
struct CharllmNodeFile {
  std::string metric;  ///< "cpu_idle", "ib_rx_bytes", ...; empty: no such file
  int64_t rank = -1;
  std::string label;  ///< processor, zone or port
};
CharllmNodeFile charllm_node_file(std::string_view path);

/// A configuration by its folder, MODEL_INDEX_VARIANT, where the scripts that draw the artifact's
/// figures swap labels: Mixtral-8x7B's indices 1 and 2 on H200.
struct CharllmConfig {
  std::string name;                   ///< "mixtral-8x7b_1_00000"; empty: none of those
  std::string_view layout, labelled;  ///< what its configuration says, and what the figures do
  std::string_view job_json;          ///< the layout in the contract's form
};
CharllmConfig charllm_swapped_config(std::string_view path);

}  // namespace ergometer::importer
