#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "spec/settings/settings.h"

namespace ergometer::optimize {

using Values = std::vector<std::pair<std::string, std::string>>;

inline spec::Settings settings_with(const Values& values) {
  spec::Settings settings;
  for (const auto& [name, value] : values) {
    const spec::SettingInfo* info = spec::find_setting(name);
    EXPECT_NE(info, nullptr) << name;
    settings.set(info->name, value, {"test", ""});
  }
  return settings;
}

inline spec::Job job_with(const Values& values) {
  auto job = spec::resolve(settings_with(values));
  EXPECT_TRUE(job) << job.error().message;
  return *job;
}

/// Two nodes, four stages of a small model, few micro batches: a tenth of a second to play.
inline Values small_job() {
  return {{"model", "llama3-8b"}, {"num_layers", "16"}, {"cluster", "charllm-h200"},
          {"gpus", "16"},         {"tp", "4"},          {"pp", "4"},
          {"gbs", "8"},           {"mbs", "1"},         {"seq", "4096"}};
}

}  // namespace ergometer::optimize
