#include "analysis/telemetry/collective_timings.h"

#include <gtest/gtest.h>

namespace ergometer::analysis {
namespace {

run::CollectiveLog inspected_rank(int64_t rank, std::vector<double> microseconds) {
  run::CollectiveLog log;
  log.source = "nccl-inspector";
  log.communicator = "0x7f";
  log.rank = rank;
  log.ranks = 3;
  int64_t sequence = 0;
  for (const double us : microseconds)
    log.timings.push_back({"AllReduce", sequence++, 1024, us * 1e-6, 2, 3});
  return log;
}

// The header's: 130, 120 and 30 us; then 100, 100 and 99, which are together.
TEST(CollectiveTimings, WhoComesLastByHand) {
  run::DeviceLog log;
  log.collectives = {inspected_rank(0, {130, 100}), inspected_rank(1, {120, 100}),
                     inspected_rank(2, {30, 99})};
  const CollectiveTimings timings = collective_timings(log);
  ASSERT_EQ(timings.ranks.size(), 3u);
  EXPECT_EQ(timings.ranks[0].rank, 2);
  EXPECT_EQ(timings.ranks[0].apart, 1);
  EXPECT_EQ(timings.ranks[0].last, 1);
  EXPECT_NEAR(timings.ranks[0].others_waited_s, 190e-6, 1e-12);
  EXPECT_NEAR(timings.ranks[0].all_time_s, 579e-6, 1e-12);
  EXPECT_FALSE(timings.ranks[0].late);  // one collective says nothing
  ASSERT_EQ(timings.sizes.size(), 1u);
  EXPECT_EQ(timings.sizes[0].timings, 6);
  EXPECT_DOUBLE_EQ(timings.sizes[0].median_s, 100e-6);
  EXPECT_DOUBLE_EQ(timings.sizes[0].lowest_s, 30e-6);
}

TEST(CollectiveTimings, ARankThatIsLateThroughout) {
  run::DeviceLog log;
  log.collectives = {inspected_rank(0, std::vector<double>(20, 130)),
                     inspected_rank(1, std::vector<double>(20, 40))};
  EXPECT_TRUE(collective_timings(log).ranks.at(0).late);
  EXPECT_EQ(collective_timings(log).ranks[0].rank, 1);
  EXPECT_FALSE(collective_timings(log).ranks.at(1).late);
  log.collectives.resize(1);
  EXPECT_TRUE(collective_timings(log).ranks.empty());
}

}  // namespace
}  // namespace ergometer::analysis
