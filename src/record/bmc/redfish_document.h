#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/bmc/node_readings.h"

namespace ergometer::record {

/// What one answer of a Redfish service (DMTF DSP2046) says: readings, and where more stands.
/// Absent, null and wrongly typed members are what they mostly are on real controllers: nothing.

/// Adds the readings of a Power, Thermal, EnvironmentMetrics, ThermalMetrics, PowerSupplyMetrics,
/// Fan or Sensor. False when it is no JSON object.
bool read_redfish(std::string_view json, NodeReadings& readings);

/// The paths in `Members` of a collection.
std::vector<std::string> redfish_members(std::string_view json);
/// The path that a member of a document refers to: {"Thermal": {"@odata.id": "/redfish/..."}}.
/// Empty when there is none.
std::string redfish_link(std::string_view json, std::string_view member);
/// Whether a chassis stands within another one: a GPU's board, a drive bay.
bool is_contained(std::string_view chassis_json);

}  // namespace ergometer::record
