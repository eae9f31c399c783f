#pragma once

#include "base/test_support.h"
#include "search/space/space.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::search::test {

using spec::test::settings_of;
using spec::test::Values;

inline Space space_of(const Values& values, const SpaceOptions& options = {}) {
  auto space = Space::make(settings_of(values), options);
  EXPECT_TRUE(space.has_value()) << base::error_of(space);
  return *std::move(space);
}

}  // namespace ergometer::search::test
