#pragma once

/// catalog/tables/sensor_errors.csv as it is, embedded by the build.
extern "C" const char ergometer_sensor_errors[], ergometer_sensor_errors_end[];
