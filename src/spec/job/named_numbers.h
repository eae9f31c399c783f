#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/collection.h"
#include "base/nearest.h"
#include "base/result.h"
#include "base/text.h"
#include "spec/job/measure_range.h"

namespace ergometer::spec {

/// A number of `Values` that is written by name: "up=50kW/s".
template <class Values>
struct NamedNumber {
  std::string_view name;
  MeasureRange range;
  double Values::* target;
};

/// Reads numbers by name, commas between: "floor=0.8,up=50kW/s". `form`: an example, for messages.
/// The error has no place: `flor is not known; did you mean floor?; ...`.
template <class Values, size_t N>
Result<void> read_named(std::string_view text, const std::array<NamedNumber<Values>, N>& known,
                        std::string_view form, Values& values) {
  if (text.empty()) return {};
  for (const std::string_view part : base::split(text, ',')) {
    const size_t equal = part.find('=');
    if (equal == part.npos) return input_error("found \"{}\"; the form is {}", part, form);
    const std::string_view name = part.substr(0, equal);
    const auto number = std::ranges::find(known, name, &NamedNumber<Values>::name);
    if (number == known.end()) {
      const auto names = base::mapped(known, &NamedNumber<Values>::name);
      return input_error("{} is not known{}; it is one of {}", name,
                         base::did_you_mean(name, names), fmt::join(names, ", "));
    }
    const auto value = number->range.read(part.substr(equal + 1));
    if (!value) return input_error("{}: {}", name, value.error().message);
    values.*number->target = *value;
  }
  return {};
}

}  // namespace ergometer::spec
