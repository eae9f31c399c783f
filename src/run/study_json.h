#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/study.h"

namespace ergometer::run {

// The parts of a study as JSON text, as columns of the Run file and lines of a study's journal hold
// them. What cannot be read gives nothing.

std::string to_json(const std::map<std::string, std::string>& texts);
std::string to_json(const std::vector<std::string>& texts);
std::string to_json(const FigureAxis& axis);
std::string to_json(const FigureSeries& series);  ///< no value: null
std::string to_json(const std::vector<int64_t>& numbers);
/// Without its values, which follow from the summary.
std::string to_json(const StudyPoint& point);

std::optional<std::map<std::string, std::string>> text_map(const std::string& json);
std::optional<std::vector<std::string>> text_list(const std::string& json);
std::optional<FigureAxis> figure_axis(const std::string& json);
std::optional<FigureSeries> figure_series(const std::string& json);
std::optional<std::vector<int64_t>> number_list(const std::string& json);
std::optional<StudyPoint> study_point(const std::string& json);

}  // namespace ergometer::run
