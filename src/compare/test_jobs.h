#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "compare/pair.h"

namespace ergometer::compare::test {

using Values = std::vector<std::pair<std::string, std::string>>;

inline spec::Settings settings_of(const Values& values) {
  spec::Settings settings;
  for (const auto& [word, value] : values) {
    const spec::SettingInfo* info = spec::find_setting(word);
    settings.set(info == nullptr ? word : std::string(info->name), value, {"test", word});
  }
  return settings;
}

/// A small model on two nodes; `more` overrides.
inline spec::Settings small(const Values& more = {}) {
  spec::Settings settings = settings_of({{"model", "llama3-8b"},
                                         {"cluster", "hgx-h100"},
                                         {"gpus", "16"},
                                         {"num_layers", "8"},
                                         {"tp", "2"},
                                         {"gbs", "32"}});
  settings.merge(settings_of(more));
  return settings;
}

inline JobPair pair_of(const spec::Settings& a, const spec::Settings& b) {
  auto pair = JobPair::make(a, b);
  EXPECT_TRUE(pair.has_value()) << (pair ? "" : pair.error().message);
  return *std::move(pair);
}

}  // namespace ergometer::compare::test
