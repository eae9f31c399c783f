#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "intake/reader/reading.h"

namespace ergometer::intake {

/// What a reading says of a setting, its defaults and fallbacks among it; "-" for nothing.
inline std::string said(const Reading& reading, std::string_view name) {
  spec::Settings all = reading.fallbacks;
  all.merge(reading.defaults);
  all.merge(reading.settings);
  const auto* value = all.find(name);
  return value == nullptr ? "-" : value->text;
}

/// Whether a leftover of this kind has the name.
inline bool left(const Reading& reading, Leftover::Kind kind, std::string_view name) {
  return std::ranges::any_of(
      reading.leftovers, [&](const Leftover& it) { return it.kind == kind && it.name == name; });
}

}  // namespace ergometer::intake
