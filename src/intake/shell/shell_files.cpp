#include "intake/shell/shell_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "intake/shell/shell_state.h"

namespace ergometer::intake {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNames = 1'000;

bool is_pattern(const std::string& part) { return part.find_first_of("*?[") != part.npos; }

/// The part without the backslashes that hide characters.
std::string plain_name(const std::string& part) {
  std::string name;
  for (size_t i = 0; i < part.size(); ++i)
    if (part[i] != '\\' || ++i < part.size()) name += part[i];
  return name;
}

std::vector<std::string> matches_from(const fs::path& root, const std::vector<std::string>& parts) {
  std::vector<std::string> found = {""};
  for (const std::string& part : parts) {
    std::vector<std::string> next;
    for (const std::string& before : found) {
      const std::string prefix = before.empty() ? "" : before + "/";
      std::error_code error;
      if (!is_pattern(part)) {
        const std::string name = prefix + plain_name(part);
        if (fs::exists(root / name, error)) next.push_back(name);
        continue;
      }
      size_t seen = 0;
      for (fs::directory_iterator it(root / before, error), end; !error && it != end;
           it.increment(error)) {
        if (++seen > kMostNames) return {};
        const std::string name = it->path().filename().string();
        if (name.starts_with('.') && !part.starts_with('.')) continue;
        if (matches_pattern(name, part).value_or(false)) next.push_back(prefix + name);
      }
    }
    found = std::move(next);
    if (found.empty() || found.size() > kMostNames) return {};
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

bool may_name_files(std::string_view word, bool null_globs) {
  const size_t glob = word.find_first_of("*?[");
  if (glob == word.npos || ShellUnknowns::in(word)) return false;
  const bool only_brackets = word.find_first_of("*?") == word.npos;
  if (null_globs) return !only_brackets || word.find(']', glob) != word.npos;
  const bool option = word.starts_with('-');
  const bool assigned = word.find('=') != word.npos;
  const bool address = word.find("://") != word.npos;
  // Numbers, and the frequency and the kinds of layers: ([0]*1+[1]*26), M-M*-ME.
  const bool expression =
      word.size() > 1 && word.find_first_not_of("0123456789+-*/%().[]|ME") == word.npos;
  return !only_brackets && !option && !assigned && !address && !expression;
}

std::vector<std::string> files_that_match(const std::string& pattern, const std::string& folder,
                                          const std::string& script) {
  if (pattern.starts_with('/') || ShellUnknowns::in(folder)) return {};
  std::vector<std::string> parts;
  for (const std::string& part : base::split(pattern, '/'))
    if (!part.empty()) parts.push_back(part);
  constexpr size_t kDeepest = 12;
  if (parts.empty() || parts.size() > kDeepest) return {};
  const fs::path here = folder.empty() ? fs::path(".") : fs::path(folder);
  std::vector<std::string> found = matches_from(here, parts);
  if (found.empty()) found = matches_from(fs::path(script).parent_path() / folder, parts);
  return found;
}

}  // namespace ergometer::intake
