#pragma once

#include <string>

#include "campaign/sizes.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What `ergometer plan` answers: the chosen size in full, then what other sizes bring.
std::string campaign_text(const campaign::Sizes& sizes, const campaign::Ask& ask,
                          const TextStyle& style);
std::string campaign_json(const campaign::Sizes& sizes, const campaign::Ask& ask);

}  // namespace ergometer::report
