#include "search/search_file.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/file.h"
#include "base/output_file.h"

namespace ergometer::search {
namespace {

constexpr std::string_view kHead = "ergometer search 2";
constexpr size_t kLargestFile = size_t{256} << 20;

/// A word may hold any byte but NUL; a line holds no line break.
std::string escaped(std::string_view word) {
  std::string text;
  for (const char c : word)
    if (c == '\n')
      text += "\\n";
    else if (c == '\\')
      text += "\\\\";
    else
      text += c;
  return text;
}

std::string unescaped(std::string_view text) {
  std::string word;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size())
      word += text[i];
    else
      word += text[++i] == 'n' ? '\n' : text[i];
  }
  return word;
}

/// Lines one after the other, each with the word that it begins with.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  /// What stands behind `name` and a space; nothing when the next line is another.
  std::optional<std::string_view> take(std::string_view name) {
    const size_t end = text_.find('\n');
    const std::string_view line = text_.substr(0, end);
    if (end == std::string_view::npos || !line.starts_with(name)) return std::nullopt;
    std::string_view rest = line.substr(name.size());
    if (!rest.empty() && rest.front() != ' ') return std::nullopt;
    if (!rest.empty()) rest.remove_prefix(1);
    text_.remove_prefix(end + 1);
    return rest;
  }

 private:
  std::string_view text_;
};

}  // namespace

Result<bool> is_search_file(const std::string& path) {
  ERGOMETER_ASSIGN(const std::string head, base::read_head(path, kHead.size()));
  return head == kHead;
}

Result<SearchFile> parse_search_file(const std::string& text, const std::string& path) {
  Lines lines(text);
  SearchFile file;
  if (!lines.take(kHead)) return input_error("{}: is no file of `ergometer search --out`", path);
  const auto damaged = [&](const char* what) {
    return input_error(
        "{}: is cut off or damaged ({}); make it again with `ergometer search --out`", path, what);
  };
  const auto identity = lines.take("search"), shard = lines.take("shard");
  if (!identity || !shard) return damaged("which search it is");
  file.identity = *identity;
  const auto parsed = spread::parse_shard(std::string(*shard));
  if (!parsed) return damaged("its shard");
  file.shard = *parsed;
  while (const auto word = lines.take("word")) file.words.push_back(unescaped(*word));
  const auto estimates = lines.take("estimates");
  if (!estimates || !lines.take("end")) return damaged("its estimates");
  file.estimates = *estimates;
  return file;
}

Result<SearchFile> read_search_file(const std::string& path) {
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, kLargestFile));
  return parse_search_file(text, path);
}

std::string to_text(const SearchFile& file) {
  std::string text =
      fmt::format("{}\nsearch {}\nshard {}\n", kHead, file.identity, spread::to_text(file.shard));
  for (const std::string& word : file.words) text += fmt::format("word {}\n", escaped(word));
  text += fmt::format("estimates {}\nend\n", file.estimates);
  return text;
}

Result<void> write_search_file(const SearchFile& file, const std::string& path) {
  return base::write_file_atomically(path, to_text(file));
}

}  // namespace ergometer::search
