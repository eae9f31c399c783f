#include "run/labels.h"

#include <gtest/gtest.h>

namespace ergometer::run {
namespace {

TEST(Labels, AreWhatPeopleSay) {
  EXPECT_EQ(label_of("step_time_s"), "step time");
  EXPECT_EQ(label_of("exposed_send_recv"), "send/recv");
  EXPECT_EQ(label_of("something_else"), "something_else");
}

TEST(Labels, GiveNumbersOneOrder) {
  EXPECT_LT(place_of("step_time_s"), place_of("energy_j_per_step"));
  EXPECT_LT(place_of("max_gpu_c"), place_of("mean_clock_mhz"));
  EXPECT_LT(place_of("exposed_send_recv"), place_of("something_else"));
}

}  // namespace
}  // namespace ergometer::run
