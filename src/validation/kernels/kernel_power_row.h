#pragma once

// What one row of a table of kernels' power says, read out of its columns.

#include <string>

#include "base/csv.h"
#include "base/result.h"
#include "spec/job/job.h"
#include "validation/kernels/kernel_power.h"
#include "workload/operator.h"

namespace ergometer::validation {

struct KernelPowerWork {
  KernelPowerRow row;  ///< what was measured; nothing predicted yet
  workload::Operator op;
  bool block_scales = false;  ///< FP8 with a scale for each 1 x 128 elements
};

/// Whether the table is one of attention, not of GEMMs; its columns are checked.
Result<bool> holds_attention(const base::CsvTable& table, const std::string& file);

Result<KernelPowerWork> gemm_power_row(const base::CsvTable& table, size_t row,
                                       const std::string& file);
Result<KernelPowerWork> attention_power_row(const base::CsvTable& table, size_t row,
                                            const std::string& file);

}  // namespace ergometer::validation
