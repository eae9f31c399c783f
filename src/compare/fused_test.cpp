#include "compare/fused.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "compare/test_jobs.h"

namespace ergometer::compare {
namespace {

using test::small;
using test::Values;

FusedGain gain_of(const Values& more) {
  FusedGain gain;
  const auto fill = [&]() -> Result<void> {
    ERGOMETER_ASSIGN(const spec::Job job, spec::resolve(small(more)));
    ERGOMETER_ASSIGN(const run::Run run, engine::simulate(job, {.intervals = false}));
    Values without = more;
    std::erase_if(without, [](const auto& value) { return value.first == "fuse"; });
    ERGOMETER_ASSIGN(const spec::Job unfused, spec::resolve(small(without)));
    ERGOMETER_ASSIGN(gain, fused_gain(job, unfused, run));
    return {};
  };
  const auto done = fill();
  EXPECT_TRUE(done.has_value()) << base::error_of(done);
  return gain;
}

TEST(FusedGain, IsAgainstTheSameJobWithoutThem) {
  const Values values = {{"tp", "4"}, {"sp", "true"}};
  Values fused = values;
  fused.emplace_back("fuse", "ag-gemm");
  const FusedGain gain = gain_of(fused), none = gain_of(values);
  EXPECT_FALSE(gain.loses());
  EXPECT_EQ(gain.apart_s, none.fused_s);
  EXPECT_EQ(none.fused_s, none.apart_s);
}

// Where a software overlaps these transfers by itself, that is what fused kernels compete with.
TEST(FusedGain, TakesThePlaceOfTheSoftwaresOwnOverlap) {
  const Values values = {{"cluster", "mi300x"}, {"tp", "2"}, {"sp", "true"}};
  Values fused = values;
  fused.emplace_back("fuse", "gemm-rs");
  const FusedGain gain = gain_of(fused);
  EXPECT_EQ(gain.overlapped_s, gain_of(values).fused_s);
  EXPECT_NE(gain.overlapped_s, gain.apart_s);
  EXPECT_EQ(to_text({.fused_s = 2, .apart_s = 3, .overlapped_s = 1}),
            "--fuse: 2.00 s a step instead of 3.00 s apart; the software's own --tp-comm-overlap, "
            "which it takes the place of, makes 1.00 s");
}

// A pipeline that the network limits: kernels are shorter, and transfers share its links otherwise.
TEST(FusedGain, SaysWhyAStepIsLonger) {
  const FusedGain gain = gain_of({{"model", "phi-3-mini"},
                                  {"num_layers", "32"},
                                  {"cluster", "charllm-h100"},
                                  {"gpus", "64"},
                                  {"tp", "2"},
                                  {"pp", "8"},
                                  {"vpp", "2"},
                                  {"mbs", "2"},
                                  {"gbs", "448"},
                                  {"seq", "2048"},
                                  {"sp", "true"},
                                  {"fuse", "ag-gemm,gemm-rs"}});
  ASSERT_TRUE(gain.loses());
  EXPECT_EQ(gain.grown, "idle");
  EXPECT_LT(gain.fused_unshared_s, gain.apart_unshared_s);
  EXPECT_NE(to_text(gain).find("as transfers meet others on the links"), std::string::npos);
}

TEST(FusedGain, Words) {
  EXPECT_EQ(to_text({.fused_s = 2, .apart_s = 3}), "--fuse: 2.00 s a step instead of 3.00 s");
  EXPECT_EQ(to_text({.fused_s = 3,
                     .apart_s = 2,
                     .fused_unshared_s = 2,
                     .apart_unshared_s = 1,
                     .grown = "idle",
                     .grown_s = 1}),
            "--fuse: 3.00 s a step instead of 2.00 s, although no fused kernel is longer than its "
            "parts: idle grows by 1.00 s");
}

}  // namespace
}  // namespace ergometer::compare
