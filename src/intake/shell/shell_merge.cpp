#include "intake/shell/shell_merge.h"

#include <algorithm>
#include <set>

namespace ergometer::intake {
namespace {

using Texts = std::vector<ShellText>;

bool equal(const Texts& a, const Texts& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ShellText& x, const ShellText& y) { return x.text == y.text; });
}
bool equal(const ShellVariable& a, const ShellVariable& b) {
  return a.kind == b.kind && equal(a.items, b.items) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.text == y.second.text;
                    });
}

/// Blanks part words: a mark in the middle of one would hide what it is.
ShellText merged_text(const std::vector<ShellText>& all, const std::string& reason,
                      ShellUnknowns& unknowns) {
  const std::string& first = all.front().text;
  size_t common = first.size();
  for (const ShellText& other : all) {
    size_t same = 0;
    while (same < common && same < other.text.size() && other.text[same] == first[same]) ++same;
    common = same;
  }
  const auto ends_word = [&](const std::string& text) {
    return common >= text.size() || text[common] == ' ' || text[common] == '\n';
  };
  bool whole = true;
  for (const ShellText& text : all) whole = whole && ends_word(text.text);
  if (!whole) {
    const size_t blank = first.find_last_of(" \n", common == 0 ? 0 : common - 1);
    common = common == 0 || blank == first.npos ? 0 : blank + 1;
  }
  std::vector<std::string> choices;
  for (const ShellText& text : all) choices.push_back(text.text.substr(common));
  const std::string mark = unknowns.mark(reason, std::move(choices));
  return {first.substr(0, common) + (whole && common > 0 ? " " : "") + mark, all.back().line};
}

Texts merged_items(const std::vector<const Texts*>& all, const std::string& reason,
                   ShellUnknowns& unknowns) {
  const Texts& first = *all.front();
  size_t common = first.size();
  for (const Texts* other : all) {
    size_t same = 0;
    while (same < common && same < other->size() && (*other)[same].text == first[same].text) ++same;
    common = same;
  }
  std::vector<std::string> choices;
  int line = first.empty() ? 0 : first.back().line;
  for (const Texts* items : all) {
    std::string rest;
    for (size_t i = common; i < items->size(); ++i) {
      rest += (rest.empty() ? "" : " ") + (*items)[i].text;
      line = (*items)[i].line;
    }
    choices.push_back(std::move(rest));
  }
  Texts merged(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(common));
  merged.push_back({unknowns.mark(reason, std::move(choices)), line});
  return merged;
}

}  // namespace

ShellState merge_states(const std::vector<ShellState>& ends, const std::string& reason,
                        ShellUnknowns& unknowns) {
  ShellState merged = ends.front();
  std::set<std::string> names;
  for (const ShellState& end : ends) {
    for (const auto& [name, variable] : end.variables) names.insert(name);
    for (const auto& [path, text] : end.files)
      if (const auto [it, is_new] = merged.files.emplace(path, text); !is_new && it->second != text)
        it->second = unknowns.mark_lines(reason) + "\n";
    for (const auto& [name, body] : end.functions) merged.functions[name] = body;
    if (merged.missing_source.empty()) merged.missing_source = end.missing_source;
  }
  static const ShellVariable kNothing;
  for (const std::string& name : names) {
    std::vector<const ShellVariable*> all;
    bool same = true;
    for (const ShellState& end : ends) {
      const auto it = end.variables.find(name);
      all.push_back(it == end.variables.end() ? &kNothing : &it->second);
      same = same && equal(*all.back(), *all.front());
    }
    if (same) continue;
    ShellVariable& variable = merged.variables[name];
    const auto is_list = [](const ShellVariable* v) {
      return v->kind != ShellVariable::Kind::kText;
    };
    if (std::ranges::any_of(all, is_list)) {
      std::vector<const Texts*> items;
      for (const ShellVariable* v : all) items.push_back(&v->items);
      variable.kind = ShellVariable::Kind::kList;
      variable.items = merged_items(items, reason, unknowns);
    } else {
      std::vector<ShellText> texts;
      for (const ShellVariable* v : all)
        texts.push_back(v->items.empty() ? ShellText{} : v->items.front());
      variable.items = {merged_text(texts, reason, unknowns)};
    }
    variable.exported = std::ranges::any_of(all, [](const auto* v) { return v->exported; });
  }
  for (const ShellState& end : ends)
    if (!equal(end.arguments, merged.arguments)) {
      std::vector<const Texts*> items;
      for (const ShellState& each : ends) items.push_back(&each.arguments);
      merged.arguments = merged_items(items, reason, unknowns);
      break;
    }
  for (const auto& [path, text] : merged.files) {
    bool same = true;
    for (const ShellState& end : ends) {
      const auto it = end.files.find(path);
      same = same && it != end.files.end() && it->second == text;
    }
    if (!same) merged.files[path] = unknowns.mark(reason);
  }
  return merged;
}

int64_t size_of(const ShellState& state) {
  size_t bytes = 1'000;
  for (const auto& [name, variable] : state.variables) {
    bytes += 200 + name.size();
    for (const ShellText& item : variable.items) bytes += 40 + item.text.size();
    for (const auto& [key, entry] : variable.entries) bytes += 100 + key.size() + entry.text.size();
  }
  for (const auto& [path, text] : state.files) bytes += 100 + path.size() + text.size();
  for (const ShellText& argument : state.arguments) bytes += 40 + argument.text.size();
  return static_cast<int64_t>(bytes);
}

}  // namespace ergometer::intake
