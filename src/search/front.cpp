#include "search/front.h"

#include <algorithm>
#include <limits>

namespace ergometer::search {

double value_of(Objective objective, const Found& found) {
  const Estimate& e = found.estimate;
  switch (objective) {
    case Objective::kTime: return e.step_s;
    case Objective::kEnergy:
    // Every candidate works through the same tokens.
    case Objective::kTokensPerJoule: return e.energy_j;
    case Objective::kEnergyDelay: return e.energy_j * e.step_s;
    case Objective::kCost: return e.step_s * static_cast<double>(found.gpus);
    case Objective::kMemory: return e.memory_bytes;
  }
  return e.step_s;
}

double Best::threshold() const {
  if (found_.size() < most_) return std::numeric_limits<double>::infinity();
  const double within = value_of(objective_, found_[most_ - 1]) * (1 + margin_);
  return found_.size() < limit_ ? within : std::min(within, value_of(objective_, found_.back()));
}

void Best::offer(const Found& found) {
  if (value_of(objective_, found) > threshold()) return;
  const auto before = [this](const Found& a, const Found& b) {
    const double x = value_of(objective_, a), y = value_of(objective_, b);
    return x != y ? x < y : a.number < b.number;
  };
  found_.insert(std::upper_bound(found_.begin(), found_.end(), found, before), found);
  if (found_.size() > limit_) found_.pop_back();
  const double most = threshold();
  while (found_.size() > most_ && value_of(objective_, found_.back()) > most) found_.pop_back();
}

bool Front::beats(const Found& least) const {
  return std::ranges::any_of(values_, [&](const std::vector<double>& other) {
    bool better = false;
    for (size_t i = 0; i < objectives_.size(); ++i) {
      const double value = value_of(objectives_[i], least);
      if (other[i] > value) return false;
      better |= other[i] < value;
    }
    return better;
  });
}

void Front::offer(const Found& found) {
  std::vector<double> values;
  for (const Objective objective : objectives_) values.push_back(value_of(objective, found));
  const auto covers = [](const std::vector<double>& a, const std::vector<double>& b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] > b[i]) return false;
    return true;
  };
  for (size_t k = 0; k < values_.size(); ++k) {
    if (!covers(values_[k], values)) continue;
    if (values_[k] == values && found.number < found_[k].number) found_[k] = found;
    return;
  }
  for (size_t k = values_.size(); k-- > 0;) {
    if (!covers(values, values_[k])) continue;
    values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(k));
    found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(k));
  }
  values_.push_back(std::move(values));
  found_.push_back(found);
}

}  // namespace ergometer::search
