#pragma once

#include <string>
#include <string_view>

#include "spec/job/job.h"

namespace ergometer::spec {

/// What a job says of a setting of `setting_table()` after everything was filled in: a word
/// that is the same exactly when the values are. Empty: the job does not keep it under one name
/// (`stage_layers` and the layout that says the same in other words, `flops`, ...).
std::string setting_value(std::string_view name, const Job& job);

}  // namespace ergometer::spec
