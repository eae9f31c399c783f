#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ergometer::base {

/// Of text, `contains` in text.h.
template <class Values, class Value>
  requires(!std::convertible_to<const Values&, std::string_view>)
bool contains(const Values& values, const Value& value) {
  return std::ranges::find(values, value) != std::ranges::end(values);
}

/// What a map holds for a key, or `otherwise`.
template <class Map, class Key>
typename Map::mapped_type value_or(const Map& map, const Key& key,
                                   typename Map::mapped_type otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? std::move(otherwise) : found->second;
}

/// What `of`, a function or a pointer to a member, makes of each value.
template <class Values, class Of>
auto mapped(const Values& values, const Of& of) {
  std::vector<std::decay_t<decltype(std::invoke(of, *std::begin(values)))>> results;
  results.reserve(std::size(values));
  for (const auto& value : values) results.push_back(std::invoke(of, value));
  return results;
}

/// Where the values lie.
template <class Values>
auto pointers_to(const Values& values) {
  return mapped(values, [](const auto& value) { return &value; });
}

/// What a map holds, in the order of its keys.
template <class Map>
std::vector<typename Map::mapped_type> values_of(Map map) {
  std::vector<typename Map::mapped_type> values;
  values.reserve(map.size());
  for (auto& [key, value] : map) values.push_back(std::move(value));
  return values;
}

/// Puts values in order and keeps of equal ones one.
template <class Value>
void sort_unique(std::vector<Value>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Of the values, or of what `of` makes of each, from the first to the last.
template <class Values, class Of = std::identity>
double sum(const Values& values, const Of& of = {}) {
  double total = 0;
  for (const auto& value : values) total += std::invoke(of, value);
  return total;
}

/// Of the values, or of what `of` makes of each, the largest; `least` where none is larger.
template <class Values, class Value, class Of = std::identity>
Value largest(const Values& values, Value least, const Of& of = {}) {
  for (const auto& value : values)
    least = std::max(least, static_cast<Value>(std::invoke(of, value)));
  return least;
}

/// Of values of which there is one at least.
template <class Values>
double mean(const Values& values) {
  return sum(values) / static_cast<double>(std::size(values));
}

// The middle one of values in order: of an even number the upper of the two in the middle, or the
// lower; 0 of none.
template <class Value>
Value upper_median(std::vector<Value> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
template <class Value>
Value lower_median(std::vector<Value> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
/// The mean of the two in the middle of an even number.
inline double middle_median(const std::vector<double>& values) {
  return (lower_median(values) + upper_median(values)) / 2;
}

}  // namespace ergometer::base
