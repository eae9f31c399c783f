#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "spec/settings/settings.h"

namespace ergometer::launch {

/// Whose training program is told.
enum class Framework : uint8_t { kMegatron, kNemo, kTorchtitan };

inline constexpr std::string_view kFrameworkWords = "megatron, nemo, torchtitan";

inline std::optional<Framework> framework_of(std::string_view word) {
  if (word == "megatron") return Framework::kMegatron;
  if (word == "nemo") return Framework::kNemo;
  if (word == "torchtitan") return Framework::kTorchtitan;
  return std::nullopt;
}

inline std::string_view to_word(Framework framework) {
  switch (framework) {
    case Framework::kMegatron: return "megatron";
    case Framework::kNemo: return "nemo";
    case Framework::kTorchtitan: return "torchtitan";
  }
  return "";
}

/// A job whose software nobody named is predicted as the framework runs that it is for. `option`:
/// what the user said of it, "--for nemo".
void settle_software(Framework framework, std::string_view option, spec::Settings& settings);

}  // namespace ergometer::launch
