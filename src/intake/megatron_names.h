#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/settings/settings.h"

// The names of Megatron-LM's arguments and its relatives', with underscores.

namespace ergometer::intake {

/// A size of the model.
enum class DimensionKind { kInteger, kReal, kSwitch, kText };
struct MegatronDimension {
  std::string_view name;
  DimensionKind kind;
};
/// By any of its names; null: none.
const MegatronDimension* find_megatron_dimension(std::string_view argument);

/// A switch that says the same as one setting with a fixed value.
struct MegatronMeaning {
  std::string argument;
  std::string_view setting;
  std::string value;
};
const MegatronMeaning* find_megatron_meaning(std::string_view argument);

/// The setting that an argument is, null when it is none.
const spec::SettingInfo* megatron_setting(std::string_view name);

/// What is understood, for suggestions.
const std::vector<std::string>& megatron_names();

/// Whether an argument counts, and whether it stands without a value.
bool megatron_reads(std::string_view name);
bool megatron_switch(std::string_view name);
/// Whether it is one number, behind which no other word may stand.
bool megatron_number(std::string_view name);

}  // namespace ergometer::intake
