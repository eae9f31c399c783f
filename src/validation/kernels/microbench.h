#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::validation {

/// One measured kernel, collective or copy beside its prediction, in the columns of
/// `tests/validation/truth/microbench.csv`.
struct MicrobenchRow {
  int64_t line = 0;  ///< of the file
  std::string id;
  std::string kind;      ///< "gemm", "grouped gemm", "attention forward", "all-reduce", ...
  std::string device;    ///< as the row has it
  std::string platform;  ///< the catalog's: "hgx-h100", "aws-p5, 4 nodes"; empty if none fits
  double measured = 0;
  double predicted = 0;  ///< in `unit`; 0 if skipped
  std::string unit;      ///< "TFLOP/s" | "GB/s" | "Gb/s" | "us"
  double error_pct = 0;  ///< of the time: 100 (predicted / measured - 1); positive: too slow
  bool scored = true;    ///< false for collectives below 1 MB: latency alone, not in the tables
  std::string skipped_reason;  ///< why nothing was predicted; empty when it was
};

/// Absolute errors over the scored rows of one platform and kind.
struct MicrobenchLine {
  std::string platform, kind;
  int64_t rows = 0;
  double median_pct = 0, mean_pct = 0, max_pct = 0;
  double bias_pct = 0;  ///< mean signed error
};

struct MicrobenchReport {
  std::vector<MicrobenchRow> rows;    ///< in the file's order
  std::vector<MicrobenchLine> lines;  ///< by kind, then platform
  int64_t predicted = 0, skipped = 0;
};

/// Predicts every row of a table; `file` is what messages call it. GEMMs and attention run at the
/// sustained clock; those of a source that reports the best of short runs, at the GPU's short-run
/// clock. All-reduce in the switch is on where the row says NVLS, or leaves NCCL its default on a
/// machine where that uses it. The launch overhead of each benchmark program counts where its
/// source is known (reference: NCCL's tests 1.5 us, Python benchmarks 25 us). A row that cannot be
/// predicted is an outcome with a reason; a missing column or a value that is no number are input
/// errors with file and line.
Result<MicrobenchReport> score_microbench_text(std::string_view csv, const std::string& file);

/// A table of rows, if asked for, the summary, and what was skipped.
std::string microbench_text(const MicrobenchReport& report, bool rows);
std::string microbench_json(const MicrobenchReport& report);

}  // namespace ergometer::validation
