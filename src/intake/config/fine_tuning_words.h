#pragma once

#include <span>
#include <string_view>

namespace ergometer::intake {

/// A framework's word, the setting that it is, and what the framework does where it is not said.
struct FineTuningWord {
  enum class Takes { kModel, kCount, kPrecision, kAttention, kSwitch };
  std::string_view framework, word, setting;
  Takes takes;
  std::string_view otherwise;  ///< empty: nothing, or another of its words says it
  std::string_view on;         ///< of a switch: the setting's value
};

/// Words of OpenRLHF, verl, LitGPT, NeMo AutoModel, llama-recipes and ColossalAI; words and
/// defaults are those of their own command lines and configuration classes.
std::span<const FineTuningWord> fine_tuning_words();

}  // namespace ergometer::intake
