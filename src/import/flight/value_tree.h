#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ergometer::importer {

/// What a pickle or a JSON document holds. Lists may be shared, and hold themselves: a reader goes
/// as deep as it knows the form, not as deep as the value.
struct TreeValue {
  enum class Kind : uint8_t { kNone, kTruth, kWhole, kReal, kText, kList, kDict };
  Kind kind = Kind::kNone;
  int64_t whole = 0;  ///< of kTruth 0 or 1
  double real = 0;
  size_t at = 0;  ///< into ValueTree::texts or ::lists
};

/// Owns what values refer to. A dict is the list of its keys and values in turn.
struct ValueTree {
  std::vector<std::string> texts;
  std::vector<std::vector<TreeValue>> lists;

  TreeValue text(std::string_view text) {
    texts.emplace_back(text);
    return {.kind = TreeValue::Kind::kText, .at = texts.size() - 1};
  }
  /// An empty list or dict.
  TreeValue container(TreeValue::Kind kind) {
    lists.emplace_back();
    return {.kind = kind, .at = lists.size() - 1};
  }
  const std::string* text_of(const TreeValue& value) const {
    return value.kind == TreeValue::Kind::kText ? &texts[value.at] : nullptr;
  }
  /// The elements of a list, or of a dict; none of anything else.
  const std::vector<TreeValue>& elements(const TreeValue& value) const {
    static const std::vector<TreeValue> kNone;
    return value.kind < TreeValue::Kind::kList ? kNone : lists[value.at];
  }
  /// What a dict holds for a key, the last where it stands twice; null: nothing.
  const TreeValue* find(const TreeValue& dict, std::string_view key) const {
    if (dict.kind != TreeValue::Kind::kDict) return nullptr;
    const auto& pairs = lists[dict.at];
    for (size_t i = pairs.size(); i >= 2; i -= 2)
      if (const std::string* name = text_of(pairs[i - 2]); name && *name == key)
        return &pairs[i - 1];
    return nullptr;
  }
};

}  // namespace ergometer::importer
