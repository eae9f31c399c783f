#pragma once

#include <string>

#include "campaign/replan.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What `ergometer replan` answers: stretch by stretch what the job does as it is and what another
/// layout would do, whether its restart pays, and what a run comes to either way.
std::string replan_text(const campaign::Replan& replan, const TextStyle& style);
std::string replan_json(const campaign::Replan& replan);

}  // namespace ergometer::report
