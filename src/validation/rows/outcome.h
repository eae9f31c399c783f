#pragma once

#include <cstdint>
#include <optional>

#include "run/run.h"
#include "validation/rows/measured_run.h"

namespace ergometer::validation {

/// Whether a measured job ran or ended for want of memory.
enum class Outcome : uint8_t { kFits, kOutOfMemory };

/// As the column `outcome` says it: "fits" or "OOM"; nothing where it is blank or missing.
std::optional<Outcome> outcome_of(const MeasuredRun& run);
/// Whether the row ran out of memory where a smaller micro batch of the same layout ran: its notes
/// say "the same layout fits at ...".
bool is_near_miss(const MeasuredRun& run);

/// How jobs of one kind were called.
struct Called {
  int64_t rows = 0;
  int64_t does_not_fit = 0, at_risk = 0;  ///< the others: fits, with certainty
  void add(run::FitState state);
  double does_not_fit_pct() const { return percent(does_not_fit); }
  /// Not called a certain fit.
  double warned_pct() const { return percent(does_not_fit + at_risk); }

 private:
  double percent(int64_t part) const {
    return rows == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(rows);
  }
};

/// Jobs whose outcome is known. Of those that ran out of memory `warned_pct` is what was
/// recognised; of those that ran `does_not_fit_pct` is the share of false alarms.
struct OutcomeScore {
  Called out_of_memory, near_misses, ran;  ///< near misses are among the first, too
  void add(const MeasuredRun& run, Outcome outcome, double fit_probability);
};

}  // namespace ergometer::validation
