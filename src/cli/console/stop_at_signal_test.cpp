#include "cli/console/stop_at_signal.h"

#include <gtest/gtest.h>

#include <csignal>

namespace ergometer::cli {
namespace {

TEST(StopAtSignal, TheStatusIsThatOfTheSignal) {
  const StopAtSignal stop;
  EXPECT_FALSE(StopAtSignal::asked());
  std::raise(SIGTERM);
  EXPECT_TRUE(StopAtSignal::asked());
  EXPECT_EQ(StopAtSignal::status(), 143);
  std::raise(SIGINT);
  EXPECT_EQ(StopAtSignal::status(), 130);
}

}  // namespace
}  // namespace ergometer::cli
