#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/text.h"
#include "spec/settings/settings.h"

namespace ergometer::spec::test {

/// Values that a user may write, as a job says them.
inline std::vector<std::string> values_of(const SettingInfo& info) {
  using enum SettingKind;
  switch (info.kind) {
    case kSwitch: return {"on", "off"};
    case kChoice: return base::split(info.choices, '|');
    case kList:
      return info.choices.empty() ? std::vector<std::string>{"3,1,2", "4"}
                                  : base::split(info.choices, '|');
    case kInteger: return {fmt::format("{:.0f}", info.min), fmt::format("{:.0f}", info.max)};
    case kReal:
    case kMeasure: return {base::shortest(info.min), base::shortest(info.max)};
    case kText:
    case kWords: break;
  }
  return {};
}

}  // namespace ergometer::spec::test
