#include "campaign/failures.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::campaign {
namespace {

constexpr std::string_view kHead = "kind,term,value,source,grade\n";

std::string refusal(const std::string& rows) {
  return base::error_of(parse_failures(std::string(kHead) + rows, "f.csv"));
}

TEST(Failures, OfTheCatalogAreThePublishedCount) {
  const Failures failures = catalog_failures();
  EXPECT_NEAR(failures.per_gpu_hour, 466 / (54 * 24 * 16384.0), 1e-9);
  EXPECT_EQ(failures.grade, base::Grade::kMeasured);
  ASSERT_EQ(failures.kinds.size(), 2U);
  EXPECT_TRUE(failures.kinds[0].takes_node());
  EXPECT_FALSE(failures.kinds[1].takes_node());
}

TEST(Failures, AreReadWithUnits) {
  const auto failures =
      parse_failures(std::string(kHead) +
                         "all,per_gpu_hour,1e-5,log,measured\ngpu,share,0.5,,assumed\n"
                         "gpu,repair,2 d,,assumed\nnet,share,0.5,,assumed\n"
                         "net,restart,90 s,,assumed\n",
                     "f.csv");
  ASSERT_TRUE(failures.has_value());
  EXPECT_EQ(failures->kinds[0].repair_s, 2 * 86400);
  EXPECT_EQ(failures->kinds[1].restart_s, 90);
  EXPECT_EQ(failures->spread, 1);
}

TEST(Failures, WithAnMtbfAreKnown) {
  const Failures failures = with_mtbf(catalog_failures(), 50000.0 * 3600);
  EXPECT_DOUBLE_EQ(failures.per_gpu_hour, 1 / 50000.0);
  EXPECT_EQ(failures.spread, 1);
}

TEST(Failures, ThatAreWrongSayWhere) {
  EXPECT_EQ(refusal("all,rate,1,,assumed\n"),
            "f.csv:2: 'rate' is no term of all; it is per_gpu_hour or spread");
  EXPECT_EQ(refusal("gpu,shar,1,,assumed\n"),
            "f.csv:2: 'shar' is no term of a kind; it is share, detection, restart or repair");
  EXPECT_EQ(refusal("all,per_gpu_hour,1e-5,,assumed\ngpu,share,0.5,,assumed\n"),
            "f.csv: the kinds' shares add up to 0.5; they are to add up to 1");
  EXPECT_EQ(refusal("gpu,share,1,,assumed\n"),
            "f.csv: lacks a row all,per_gpu_hour: how often a job is interrupted, over its GPUs "
            "and hours");
  EXPECT_EQ(refusal("gpu,share,1,,guessed\n"),
            "f.csv:2: grade is 'guessed'; it is datasheet, measured, fitted or assumed");
  EXPECT_TRUE(refusal("gpu,restart,much,,assumed\n").starts_with("f.csv:2: restart of gpu: "));
}

}  // namespace
}  // namespace ergometer::campaign
