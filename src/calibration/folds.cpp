#include "calibration/folds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace ergometer::calibration {
namespace {

/// Sets that merge, each known by its smallest member.
class Sets {
 public:
  explicit Sets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void merge(size_t a, size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

}  // namespace

std::vector<size_t> assign_folds(const std::vector<Sample>& samples, size_t folds) {
  Sets sets(samples.size());
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < samples.size(); ++i)
    for (const std::string& key : {"group " + samples[i].group, "series " + samples[i].series})
      sets.merge(first.emplace(key, i).first->second, i);

  std::map<size_t, std::set<std::string>> groups;  // by set
  for (size_t i = 0; i < samples.size(); ++i) groups[sets.find(i)].insert(samples[i].group);
  std::vector<size_t> order;
  for (const auto& [set, names] : groups) order.push_back(set);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return groups[a].size() > groups[b].size(); });

  std::vector<size_t> load(folds, 0);
  std::map<size_t, size_t> fold_of;
  for (const size_t set : order) {
    const auto fold =
        static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    fold_of[set] = fold;
    load[fold] += groups[set].size();
  }
  std::vector<size_t> result;
  for (size_t i = 0; i < samples.size(); ++i) result.push_back(fold_of[sets.find(i)]);
  return result;
}

}  // namespace ergometer::calibration
