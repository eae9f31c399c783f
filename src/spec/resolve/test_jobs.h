#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/test_support.h"
#include "spec/settings/settings.h"

// Jobs for tests, said as on the command line.

namespace ergometer::spec::test {

using Values = std::vector<std::pair<std::string, std::string>>;

/// {"tp", "4"} is `--tp 4`: by name or short name. A word that is neither stays as it is, for
/// `resolve` to refuse.
inline Settings settings_of(const Values& values) {
  Settings settings;
  for (const auto& [word, value] : values) {
    const SettingInfo* info = find_setting(word);
    settings.set(info == nullptr ? word : std::string(info->name), value, {"--" + word, ""});
  }
  return settings;
}

/// What of `more` is said overrides `values`.
inline Settings settings_of(const Values& values, const Values& more) {
  Settings settings = settings_of(values);
  settings.merge(settings_of(more));
  return settings;
}

/// A job that cannot be is a failure of the test.
inline Job job_of(const Settings& settings) { return base::value_of(resolve(settings)); }
inline Job job_of(const Values& values) { return job_of(settings_of(values)); }

}  // namespace ergometer::spec::test
