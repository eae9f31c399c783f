#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "campaign/campaign.h"

namespace ergometer::campaign {

/// What the GPUs from one size to the next bring.
struct Marginal {
  int64_t from = 0, to = 0;  ///< GPUs
  double days = 0;           ///< that they save
  /// What 1,000 more would save, if each brought as many tokens a second as these did.
  double days_by_next_1000 = 0;
  double tokens_per_s_per_gpu = 0;
  double tokens_per_j = 0;  ///< more tokens a second over more watts at the meter; 0: unknown
  double cost_per_day = 0;  ///< more cost over days saved; below 0: it costs less
};

/// One run on several numbers of GPUs, in rising order.
struct Sizes {
  std::vector<Campaign> campaigns;
  std::vector<Marginal> marginals;  ///< between neighbours that are jobs
  /// Whether a deadline or a budget is met in nine of ten draws, and the job fits in memory.
  std::vector<bool> meets;
  /// The smallest that meets what was asked; where none does, or nothing was asked, the smallest
  /// that is a job.
  size_t chosen = 0;
  bool any_meets() const;
};

/// `gpus` empty: as the settings say. Of several sizes data parallelism is what is left of each; a
/// size that its batch does not divide has its refusal. An error where no size is a job.
Result<Sizes> plan_sizes(const spec::Settings& settings, const Ask& ask, std::vector<int64_t> gpus,
                         size_t threads);

}  // namespace ergometer::campaign
