#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ergometer::base {

/// Writes one JSON document into a string, two spaces a level. Numbers are written with the fewest digits that
/// read back as the same double, so equal results give equal bytes. Containers opened with `kOneLine` stay on
/// their line: rows of a table.
///
///   JsonWriter json;
///   json.begin_object();
///   json.member("step_time_s", 1.25);
///   json.key("links").begin_array(); ... json.end_array();
///   json.end_object();
///   std::string text = json.take();
class JsonWriter {
 public:
  enum class Layout : uint8_t { kLines, kOneLine };

  JsonWriter& begin_object(Layout layout = Layout::kLines) { return begin('{', layout); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array(Layout layout = Layout::kLines) { return begin('[', layout); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  ///< must be finite: JSON has no other numbers
  JsonWriter& value(int64_t number);
  JsonWriter& value(int number) { return value(static_cast<int64_t>(number)); }
  JsonWriter& value(bool truth);
  /// Puts in a value that is JSON text already, its lines indented to this depth.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    key(name);
    return value(content);
  }

  /// The document, ended by a newline. The writer is empty afterwards.
  std::string take();

 private:
  struct Level {
    Layout layout;
    bool empty;
  };
  JsonWriter& begin(char bracket, Layout layout);
  JsonWriter& end(char bracket);
  void before_value();
  void new_line();

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

/// `text` in double quotes with JSON's escapes.
std::string json_quote(std::string_view text);

/// The fewest digits that read back as `number`.
std::string shortest(double number);

}  // namespace ergometer::base
