#include "spec/job/sample_sizes.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::spec {
namespace {

std::string samples_error(const char* text) { return base::error_of(parse_samples(text)); }

TEST(SampleSizes, ReadsEveryForm) {
  // Nearly all samples would be of one token, however many of them a sequence takes.
  EXPECT_FALSE(parse_samples("lognormal:0,0,4000,40001"));
  EXPECT_TRUE(parse_samples("lognormal:0,0,4000,40000"));
  const auto moments = parse_samples("lognormal:2,1.5,500,300");
  ASSERT_TRUE(moments);
  EXPECT_EQ(moments->kind, LengthKind::kMoments);
  EXPECT_EQ(moments->moments.tiles_deviation, 1.5);
  EXPECT_EQ(moments->moments.text, 500);
  EXPECT_TRUE(moments->has_images());
  const auto counted = parse_samples("counts:2/600x2,0/80");
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->samples, (std::vector<SampleSize>{{0, 80}, {2, 600}, {2, 600}}));
}

TEST(SampleSizes, ReadsATable) {
  EXPECT_EQ(*parse_sample_table("images,tokens\n2,600\n0,80\n2,600\n", "a.csv"),
            "counts:0/80x1,2/600x2");
  EXPECT_EQ(*parse_sample_table("tokens,count,images\n600,5,2\n", "a.csv"), "counts:2/600x5");
}

TEST(SampleSizes, SaysWhatIsWrong) {
  for (const char* text : {"", "even", "lognormal:2,1,500", "lognormal:-1,1,500,3",
                           "lognormal:2,1,0,3", "counts:", "counts:2", "counts:2/0", "counts:x2/3"})
    EXPECT_TRUE(samples_error(text).starts_with("found \"")) << text;
  EXPECT_EQ(parse_sample_table("images,tokens\n2,0\n", "a.csv").error().message,
            "a.csv:2: tokens: found \"0\"; allowed: a whole number from 1 to 134217728");
  EXPECT_EQ(parse_sample_table("images,tokens\n", "a.csv").error().message,
            "a.csv: holds no samples");
}

TEST(SampleSizes, MeanSample) {
  const auto samples = *parse_samples("counts:2/600x3,0/200");
  const MeanSample mean = mean_sample(samples, 4096);
  EXPECT_EQ(mean.tiles, 1.5);
  EXPECT_EQ(mean.tokens, 500);
  EXPECT_EQ(mean_sample(samples, 400).tokens, 350);  // (3 x 400 + 200) / 4
}

// Of 3 + 1 images sequences hold 2 + 1; the lognormal's is worked at its definition.
TEST(SampleSizes, ImagesThatSequencesDoNotHold) {
  SequenceLengths counted;
  counted.kind = LengthKind::kSamples;
  counted.samples = {{3, 10}, {1, 10}};
  EXPECT_DOUBLE_EQ(images_left_out(counted, 2), 0.25);
  EXPECT_DOUBLE_EQ(images_left_out(counted, 3), 0);
  SequenceLengths drawn;
  drawn.kind = LengthKind::kMoments;
  drawn.moments.tiles = drawn.moments.tiles_deviation = 2;
  EXPECT_NEAR(images_left_out(drawn, 1), 0.564, 0.002);
  EXPECT_NEAR(images_left_out(drawn, 1000), 0, 1e-6);
  drawn.moments.tiles_deviation = 0;
  EXPECT_DOUBLE_EQ(images_left_out(drawn, 1), 0.5);
}

}  // namespace
}  // namespace ergometer::spec
