#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "search/space/space.h"

namespace ergometer::search::test {

using Values = std::vector<std::pair<std::string, std::string>>;

/// Settings by name or short name.
inline spec::Settings settings_of(const Values& values) {
  spec::Settings settings;
  for (const auto& [word, value] : values) {
    const spec::SettingInfo* info = spec::find_setting(word);
    settings.set(info == nullptr ? word : std::string(info->name), value, {});
  }
  return settings;
}

inline Space space_of(const Values& values, const SpaceOptions& options = {}) {
  auto space = Space::make(settings_of(values), options);
  EXPECT_TRUE(space.has_value()) << (space ? "" : space.error().message);
  return *std::move(space);
}

}  // namespace ergometer::search::test
