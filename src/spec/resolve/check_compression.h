#pragma once

#include "spec/job/job.h"
#include "spec/settings/setting_reader.h"

namespace ergometer::spec {

/// Refuses compression of what is not sent in one piece that the plan knows.
void check_compression(SettingReader& read, const Job& job);

}  // namespace ergometer::spec
