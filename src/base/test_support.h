#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/result.h"

namespace ergometer::base {

/// What a result's error says; empty: it has none.
template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

/// A result's value; an error fails the test.
template <class T>
T value_of(Result<T> result) {
  EXPECT_TRUE(result.has_value()) << error_of(result);
  return result ? *std::move(result) : T{};
}

/// How many of `all` random cases a test plays: ERGOMETER_RANDOM_JOBS where it asks for a number.
/// Under sanitizers, which take five to twenty times as long and look for other mistakes than wrong
/// numbers, a tenth, and one at least.
inline int64_t random_cases(int64_t all) {
  if (const char* asked = std::getenv("ERGOMETER_RANDOM_JOBS")) return std::atoll(asked);
#ifdef ERGOMETER_SANITIZED
  return std::max<int64_t>(1, all / 10);
#else
  return all;
#endif
}

}  // namespace ergometer::base
