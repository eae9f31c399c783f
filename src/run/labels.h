#pragma once

#include <cstddef>
#include <string_view>

namespace ergometer::run {

/// What people call a number of the summary, a comparison or a measured row that JSON and CSV call
/// `name` ("step time" for "step_time_s"): as the report page does. Of a name that has no other
/// one, the name.
std::string_view label_of(std::string_view name);

/// The place of a number in a table that shows several: the same in every table. Names without a
/// label come last.
size_t place_of(std::string_view name);

}  // namespace ergometer::run
