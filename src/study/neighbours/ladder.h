#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::study {

/// A setting that is varied, and values around a job's own, in their order.
struct Ladder {
  const spec::SettingInfo* setting = nullptr;
  std::vector<std::string> values;  ///< as a job file has them; of a measure in the setting's unit
  size_t own = 0;                   ///< which of them is the job's

  /// What a user calls it: "tp", "power_cap".
  std::string_view word() const {
    return setting->short_name.empty() ? setting->name : setting->short_name;
  }
};

/// Every value that may be tried, legal or not: of numbers the halves and doubles of the job's own,
/// four of each at most; of words, switches and short ranges all; of power caps and locked clocks
/// round steps down from the GPU's own, of the inlet 5 C steps. An input error: there is none to
/// try.
Result<Ladder> ladder(const spec::SettingInfo& setting, const spec::Job& job);

/// The settings of a list, "tp,pp,mbs,cap": names, short names, and "cap", "clock", "inlet" for
/// power_cap, lock_clock, inlet_c. An input error: a word that is none, one twice, one whose values
/// have no order to try them in, or more than five.
Result<std::vector<const spec::SettingInfo*>> settings_to_vary(const std::string& list);

}  // namespace ergometer::study
