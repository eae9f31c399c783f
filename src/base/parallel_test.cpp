#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
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

TEST(ParallelFor, AnExceptionReachesTheCallerAndEndsTheWork) {
  for (const size_t threads : {1u, 4u}) {
    std::atomic<size_t> calls = 0;
    EXPECT_THROW(parallel_for(1'000'000, threads,
                              [&](size_t) {
                                ++calls;
                                throw std::bad_alloc();
                              }),
                 std::bad_alloc);
    EXPECT_LE(calls, 2 * threads);
  }
}

}  // namespace
}  // namespace ergometer::base
