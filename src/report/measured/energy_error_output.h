#pragma once

#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "run/sensor_error.h"

namespace ergometer::report {

// What a measured energy or power is off, half of its 90 % interval, beside it; nothing where it is
// not stated.

std::string plus_minus(const run::EnergyError& error);  ///< " +-4.4 %"
void write_error(base::JsonWriter& json, std::string_view name, const run::EnergyError& error);

}  // namespace ergometer::report
