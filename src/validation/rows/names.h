#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace ergometer::validation {

/// The words of a text, lower case, cut at everything that is neither letter, digit nor dot.
std::vector<std::string> words(std::string_view text);
using base::contains;

/// What a model's name says.
struct ModelName {
  std::string key;          ///< squashed, without the words below: "qwen3235ba22b"
  bool token_drop = false;  ///< "(tokendrop)"
  bool dropless = false;    ///< "(dropless)"
  std::optional<bool> mtp;  ///< "(w/ MTP)", "(w/o MTP)"
  bool lora = false, fine_tuning = false, fsdp = false;
  bool proxy = false;          ///< "(405b-Proxy, reduced layers)": the row should say how many
  std::optional<long> layers;  ///< "reduced to 12 layers"
};
ModelName parse_model_name(std::string_view name);

/// A number format, as rows and recipes spell it.
struct PrecisionName {
  std::string_view precision;   ///< "fp32", "fp16", "bf16", "fp8", "nvfp4"; empty: not known
  std::string_view fp8_recipe;  ///< "delayed", "tensorwise", "blockwise", "mxfp8", or empty
};
/// `blackwell`: of "FP8 block/MX" the second is meant.
PrecisionName parse_precision(std::string_view text, bool blackwell);

/// Every "A.B" in the text, in order; what follows a second point is passed over.
struct Version {
  int major = 0, minor = 0;
};
std::vector<Version> versions_in(std::string_view text);

/// The release as a number that grows with time, year x 100 + month: "NeMo 25.04.rc2", "dgxc
/// 25.4" and "2025.04" are 2504; 0 without one.
int release_number(std::string_view text);

}  // namespace ergometer::validation
