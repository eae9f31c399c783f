#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::spec {

/// Reads how many images and tokens of text the samples of a job have: "lognormal:3,2,600,300", the
/// mean and the standard deviation of images, then of tokens of text; "file:samples.csv", a table
/// with the columns images and tokens, and count where rows stand for several samples; or
/// "counts:2/600x5,1/900", the same in line. `SequenceLengths::samples` then holds images for tiles
/// and tokens of text alone. What is wrong has no place but in a file.
Result<SequenceLengths> parse_samples(const std::string& text);

/// A file's samples in line. `file` is what messages call it.
Result<std::string> parse_sample_table(std::string_view text, const std::string& file);

/// The same samples without a file: "counts:2/600x5" for "file:samples.csv".
Result<std::string> samples_without_file(const std::string& text);

/// The share of the images that samples lose where a sequence holds no more than `most` of one, of
/// `lengths` in images. Of moments E[min(X, most)] / E[X] of a lognormal X, rounding left out.
double images_left_out(const SequenceLengths& lengths, int64_t most);

/// The mean sample, in images and tokens of text, or in tiles and all tokens, as `lengths` has
/// them; of counted ones, tokens beyond `most_tokens` are cut off.
struct MeanSample {
  double tiles = 0, tokens = 0;
};
MeanSample mean_sample(const SequenceLengths& lengths, int64_t most_tokens);

}  // namespace ergometer::spec
