#pragma once

#include "base/test_support.h"
#include "compare/pair.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::compare::test {

using spec::test::settings_of;
using spec::test::Values;

/// A small model on two nodes; `more` overrides.
inline spec::Settings small(const Values& more = {}) {
  return settings_of({{"model", "llama3-8b"},
                      {"cluster", "hgx-h100"},
                      {"gpus", "16"},
                      {"num_layers", "8"},
                      {"tp", "2"},
                      {"gbs", "32"}},
                     more);
}

inline JobPair pair_of(const spec::Settings& a, const spec::Settings& b) {
  auto pair = JobPair::make(a, b);
  EXPECT_TRUE(pair.has_value()) << base::error_of(pair);
  return *std::move(pair);
}

}  // namespace ergometer::compare::test
