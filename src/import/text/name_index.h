#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ergometer::importer {

/// Keeps every name once, in the order in which they came up.
class NameIndex {
 public:
  explicit NameIndex(std::vector<std::string>& names) : names_(names) {}

  uint32_t add(std::string_view name) {
    const auto found = index_.find(name);
    if (found != index_.end()) return found->second;
    const auto position = static_cast<uint32_t>(names_.size());
    names_.emplace_back(name);
    index_.emplace(std::string(name), position);
    return position;
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<std::string>& names_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> index_;
};

}  // namespace ergometer::importer
