#pragma once

#include <string_view>

#include "record/bmc/node_readings.h"

namespace ergometer::record {

/// `ipmitool -c sdr`: lines of "Inlet Temp,23,degrees C,ok". What a sensor stands for is in its
/// name, which every maker chooses: what no rule knows is passed over.
void read_sdr(std::string_view text, NodeReadings& readings);

/// `ipmitool dcmi power reading`: "Instantaneous power reading:   220 Watts".
void read_dcmi_power(std::string_view text, NodeReadings& readings);

}  // namespace ergometer::record
