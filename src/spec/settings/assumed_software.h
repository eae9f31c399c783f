#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// `changed` is the job `base` with changes. Where neither names its software, it is taken to run
/// under what `base` is assumed to, so that the two differ in what was changed; unless only other
/// software has what was changed, or what it makes is no job.
Result<void> keep_assumed_software(const Settings& base, Settings& changed);

/// The same of many jobs that stand side by side, in whatever order. Those on GPUs of one vendor
/// that name no software are taken to run under one: what only some software has a word for
/// decides, else what the most of them could run under, the last line of the table of inferences
/// that any of them suggests. For every job the software that it is taken to run under; empty where
/// it is named, or where the settings are no job.
std::vector<std::string> share_assumed_software(const std::vector<Settings*>& jobs);

}  // namespace ergometer::spec
