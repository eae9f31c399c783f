#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "import/bytes/window.h"

namespace ergometer::importer {

/// Walks over JSON of any size in little memory: objects and lists are entered or passed over,
/// small values read whole. Where the source ends in the middle everything ends, and `truncated`
/// says so. Input errors: text that is no JSON (file, byte, found, expected).
///
///   if (cursor.enter('{'))
///     while (cursor.next_key(key)) ... enter, value or skip, once a key ...
class JsonCursor {
 public:
  JsonCursor(ByteSource& source, const std::string& file) : window_(source), file_(file) {}

  /// Goes into the object ('{') or list ('[') at hand. False, and nothing is read, where something
  /// else stands.
  Result<bool> enter(char bracket);
  /// The next key of the object, false behind its last.
  Result<bool> next_key(std::string& key);
  /// Whether the list goes on, false behind its last element.
  Result<bool> next_element();
  /// Whether something stands before the bracket `end`, which is passed; commas are.
  Result<bool> next_item(char end);
  /// The value at hand, until the next call; nothing where it is cut off or larger than 16 MiB,
  /// which passes over it. Behind it at least 64 bytes may be read.
  Result<std::optional<std::string_view>> value();
  /// Bytes of the value at hand, all of which are in the window; nothing where it is cut off or
  /// larger than 16 MiB. It stays at hand.
  Result<std::optional<size_t>> measure();
  Result<void> skip();
  /// For who takes several values at once.
  Window& window() { return window_; }

  bool truncated() const { return truncated_; }
  /// Bytes that may be read from where the last value began.
  size_t readable(std::string_view value) const { return value.size() + Window::kPadding / 2; }

 private:
  Result<char> next_char(char also);

  Window window_;
  const std::string& file_;
  bool truncated_ = false;
};

}  // namespace ergometer::importer
