#pragma once

#include <span>
#include <string>
#include <string_view>

#include "run/job_settings.h"

namespace ergometer::analysis {

/// What may help where a step spends time, and whether it can in a job: not what is on already, and
/// nothing over groups of one rank. Of a job that is not known everything can.
struct Advice {
  std::string_view text;
  bool (*can_help)(const run::JobSettings& job);
};

/// The advice that can help, between commas, and a full stop; `otherwise` where none can.
std::string advice_for_job(std::span<const Advice> all, const run::JobSettings& job,
                           std::string_view otherwise);

}  // namespace ergometer::analysis
