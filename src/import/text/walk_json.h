#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "import/bytes/whole_text.h"
#include "import/text/decimal.h"
#include "import/text/json_text.h"

// What readers of JSON documents share. The caller includes simdjson, which takes long to compile,
// and names what of it is needed. simdjson throws where the text is damaged.

namespace ergometer::importer {

/// Hands the whole JSON document of `source` to `read`, which returns nothing or a Result<void>.
/// Whatever simdjson refuses on the way is an input error with the line. `Parser` and `Failure` are
/// simdjson's parser and exception.
template <class Parser, class Failure, class Read>
Result<void> walk_json(ByteSource& source, const std::string& file, Read read) {
  ERGOMETER_ASSIGN(const std::string text, whole_text(source, file));
  Parser parser;
  const size_t size = text.size() - kTextPadding;
  auto opened = parser.iterate(text.data(), size, text.size());
  if (opened.error())
    return json_error(file, text, std::string::npos, Failure(opened.error()).what());
  auto& document = opened.value_unsafe();
  try {
    if constexpr (std::is_void_v<decltype(read(document))>)
      return read(document), Result<void>();
    else
      return read(document);
  } catch (const Failure& failure) {
    using Code = decltype(failure.error());
    const bool cut_off = failure.error() == Code::INCOMPLETE_ARRAY_OR_OBJECT;
    const char* at = nullptr;
    if (cut_off || document.current_location().get(at)) at = text.data() + size;
    return json_error(file, text, static_cast<size_t>(at - text.data()), failure.what());
  }
}

/// `reader.read(document)` with the whole document of `source`, then what `reader.finish(rest...)`
/// makes of it.
template <class Parser, class Failure, class Reader, class... Rest>
auto read_json(ByteSource& source, const std::string& file, Reader reader, const Rest&... rest)
    -> decltype(reader.finish(rest...)) {
  const auto walked = walk_json<Parser, Failure>(
      source, file, [&](auto& document) { return reader.read(document); });
  ERGOMETER_TRY(walked);
  return reader.finish(rest...);
}

/// `use(key, value)` for every member of an object; false, and nothing used, of any other value.
template <class Value, class Use>
bool for_each_member(Value value, const Use& use) {
  auto members = value.get_object();
  if (members.error()) return false;
  for (auto member : members) {
    const std::string_view key = member.unescaped_key();
    use(key, member.value().value());
  }
  return true;
}

/// `use(value)` for every element of a list; nothing for any other value.
template <class Value, class Use>
void for_each_element(Value value, const Use& use) {
  auto list = value.get_array();
  if (list.error()) return;
  for (auto element : list) use(element.value());
}

/// A whole number, in quotes or not.
template <class Value>
  requires requires(Value value) { value.raw_json_token(); }
std::optional<int64_t> whole_number(Value value) {
  return whole_number(unquoted(value.raw_json_token()));
}

}  // namespace ergometer::importer
