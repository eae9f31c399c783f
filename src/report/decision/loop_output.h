#pragma once

#include <string>

#include "base/result.h"
#include "campaign/loop.h"
#include "report/explain/explanation.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What `ergometer loop` answers: how long an iteration takes, who waits for whom, and whether what
/// stays resident leaves room.
std::string loop_text(const campaign::Loop& loop, const TextStyle& style);
/// `explanation`: JSON text of a last member `explain`, may be empty.
std::string loop_json(const campaign::Loop& loop, const std::string& explanation = "");
/// Where an iteration's time, and what each phase and each switch of it takes, come from; with a
/// name only that part ("iteration_s", a phase, what stands in the table of switches). An unknown
/// name is an input error that suggests the nearest.
Result<Explanation> explain_loop(const campaign::Loop& loop, const std::string& name);

}  // namespace ergometer::report
