#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::validation {

/// One measured kernel beside its prediction: a row of a table with `latency_ms` and `power_w`.
struct KernelPowerRow {
  int64_t line = 0;          ///< of the file
  std::string kind;          ///< "gemm" | "prefill" | "decode"
  std::string precision;     ///< "bfloat16", "fp8_block", "nvfp4"; attention: "bfloat16, fp8 cache"
  std::string device;        ///< as the row has it
  std::string platform;      ///< the catalog's cluster
  std::string framework;     ///< whose kernel it is
  std::string source;        ///< the kernel, as the row calls it
  std::string shape_family;  ///< kernels of one kind and width, which readings are compared in
  double flops = 0, bytes = 0;
  double measured_s = 0, predicted_s = 0;
  double measured_w = 0, limit_w = 0;
  double at_measured_w = 0;   ///< predicted for a kernel that takes `measured_s`
  double at_predicted_w = 0;  ///< predicted from the shape alone
  bool scored = false;        ///< long enough that no launch gap is in the reading
  bool settled = false;       ///< scored, and the reading holds nothing but the kernel
  std::string skipped_reason;
};

/// Errors in per cent of what was measured.
struct KernelPowerError {
  int64_t rows = 0;
  double mean_pct = 0;  ///< of absolute errors
  double bias_pct = 0;  ///< of signed ones; positive: too much
};

/// Over the scored rows of one kind, precision, platform and framework.
struct KernelPowerLine {
  std::string kind, precision, platform, framework;
  KernelPowerError every;    ///< power at the measured time, every scored row
  KernelPowerError settled;  ///< the same, rows with a settled reading
  KernelPowerError alone;    ///< settled rows, power from the shape alone
  KernelPowerError time;     ///< of the time, every scored row
};

struct KernelPowerReport {
  std::vector<KernelPowerRow> rows;    ///< in the file's order
  std::vector<KernelPowerLine> lines;  ///< by kind, precision, platform, framework
  int64_t scored = 0, short_ones = 0, skipped = 0;
};

/// Whether a table with these first bytes is one of kernels with their power.
bool is_kernel_power(std::string_view csv);

/// Predicts every row by the models that a job is predicted by. A device or precision that the
/// catalog lacks is an outcome with a reason; a missing column, a value that is no such number and
/// an unknown precision are input errors with file, line and column.
Result<KernelPowerReport> score_kernel_power_text(std::string_view csv, const std::string& file);

std::string kernel_power_text(const KernelPowerReport& report);
std::string kernel_power_json(const KernelPowerReport& report);

}  // namespace ergometer::validation
