#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/study.h"
#include "study/charllm/findings/findings.h"
#include "study/predict.h"

/// The characterisation study played as it was measured, and under all that nobody wrote down about
/// it. Its scripts record the eleventh step of a job that starts on idle GPUs; which boards the
/// GPUs were and how warm the room was is not known. So every job that its findings rest on is
/// played to its eleventh step with several draws of boards in several rooms, each finding is
/// looked at under each of these conditions, and what is told of it is how it is spread over them.
namespace ergometer::study {

/// The jobs of the study "charllm" that its own findings rest on, each under every condition.
Result<std::vector<Point>> as_measured_points();

/// "yes": as reported under more than half of the conditions; "in part": under some, or what was
/// reported lies within the spread.
std::vector<run::StudyFinding> as_measured_findings(const run::Study& study);

namespace charllm {

/// One finding under several conditions, which have names.
run::StudyFinding spread_of(const std::vector<Found>& found,
                            const std::vector<std::string>& conditions);

/// The measurement that would decide a finding; empty where none is known.
std::string_view deciding_measurement(std::string_view id);

}  // namespace charllm
}  // namespace ergometer::study
