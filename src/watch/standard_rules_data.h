#pragma once

/// watch/standard_rules.yaml as it is, embedded by the build.
extern "C" const char ergometer_standard_rules[], ergometer_standard_rules_end[];
