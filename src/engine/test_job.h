#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "spec/settings.h"

namespace ergometer::engine::test {

using Values = std::vector<std::pair<std::string, std::string>>;

/// The job of these settings, by name or short name.
inline base::Result<spec::Job> try_job_of(const Values& values) {
  spec::Settings settings;
  for (const auto& [word, value] : values) {
    const spec::SettingInfo* info = spec::find_setting(word);
    settings.set(info == nullptr ? word : std::string(info->name), value, {});
  }
  return spec::resolve(settings);
}

/// The same; a job that cannot be is a failure of the test.
inline spec::Job job_of(const Values& values) {
  auto job = try_job_of(values);
  EXPECT_TRUE(job.has_value()) << (job ? "" : job.error().message);
  return job ? *std::move(job) : spec::Job{};
}

}  // namespace ergometer::engine::test
