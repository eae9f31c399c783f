#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/job/measure_range.h"

namespace ergometer::campaign {

/// A CSV file with the columns hour and `column`: hours from 0 on, each once, in order, as many as
/// the series has before it begins anew (24: a day). Values are read as `range` says.
Result<std::vector<double>> parse_by_hour(std::string_view csv, const std::string& file,
                                          std::string_view column, const spec::MeasureRange& range);

}  // namespace ergometer::campaign
