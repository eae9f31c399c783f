#pragma once

#include <string>

#include "campaign/sizes.h"
#include "report/summary/summary_text.h"
#include "run/study.h"

namespace ergometer::report {

/// What `ergometer plan` answers: the chosen size in full, then what other sizes bring.
std::string campaign_text(const campaign::Sizes& sizes, const campaign::Ask& ask,
                          const TextStyle& style);
std::string campaign_json(const campaign::Sizes& sizes, const campaign::Ask& ask);
/// The same as a study, for the page: a point a size, and pictures of where the days go, of
/// goodput, of when the run is ready and of what more GPUs bring.
run::Study campaign_study(const campaign::Sizes& sizes, const campaign::Ask& ask);

}  // namespace ergometer::report
