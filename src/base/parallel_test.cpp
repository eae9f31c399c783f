#include "base/parallel.h"

#include <gtest/gtest.h>

#include <vector>

namespace ergometer::base {
namespace {

TEST(ParallelFor, CallsEveryIndexOnceWhateverTheNumberOfThreads) {
  for (const size_t threads : {1u, 2u, 7u, 64u}) {
    std::vector<int> calls(23, 0);
    parallel_for(calls.size(), threads, [&](size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(23, 1)) << threads << " threads";
  }
}

TEST(ParallelFor, NothingToDo) {
  parallel_for(0, 4, [](size_t) { FAIL(); });
}

}  // namespace
}  // namespace ergometer::base
