#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ergometer::base {

/// Writes one JSON document into a string piece by piece, two spaces a level, without holding it as
/// a tree.
///
///   JsonWriter json;
///   json.begin_object();
///   json.member("step_time_s", 1.25);
///   json.list("notes", notes);
///   json.rows("links", links, [&](const Link& link) { json.member("kind", link.kind); });
///   json.end_object();
///   std::string text = json.take();
///
/// Numbers are written with the fewest digits that read back as the same number, so equal results
/// give equal bytes. Text may hold anything: what is not valid UTF-8 becomes U+FFFD. Misuse (a key
/// outside an object, an unclosed array, a number that is not finite) is our bug and fails a check.
class JsonWriter {
 public:
  /// kOneLine keeps a container, with all it holds, on one line: short arrays, rows of a table.
  enum class Layout : uint8_t { kLines, kOneLine };

  JsonWriter& begin_object(Layout layout = Layout::kLines) { return begin('{', layout); }
  JsonWriter& end_object() { return end('{', '}'); }
  JsonWriter& begin_array(Layout layout = Layout::kLines) { return begin('[', layout); }
  JsonWriter& end_array() { return end('[', ']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  ///< must be finite: JSON has no other numbers
  JsonWriter& value(bool truth) { return literal(truth ? "true" : "false"); }
  template <std::integral T>
  JsonWriter& value(T number) {
    return literal(std::to_string(number));
  }
  JsonWriter& null() { return literal("null"); }
  /// null where there is none.
  template <class T>
  JsonWriter& value(const std::optional<T>& known) {
    return known ? value(*known) : null();
  }
  /// Puts in a value that is JSON text already, its lines indented to this depth.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }
  /// The same, left out where nothing is known: of an empty text, of an optional without a value.
  JsonWriter& known(std::string_view name, std::string_view text) {
    return text.empty() ? *this : member(name, text);
  }
  template <class T>
  JsonWriter& known(std::string_view name, const std::optional<T>& content) {
    return content ? member(name, *content) : *this;
  }
  /// An object under a name: of the names and values in a map, or in a list of such pairs.
  template <class Pairs>
  JsonWriter& object(std::string_view name, const Pairs& pairs, Layout layout = Layout::kLines) {
    key(name).begin_object(layout);
    for (const auto& [each, content] : pairs) member(each, content);
    return end_object();
  }

  /// An array under a name: of values,
  template <class Values>
  JsonWriter& list(std::string_view name, const Values& values, Layout layout = Layout::kLines) {
    return array(name, layout, values, [this](const auto& each) { this->value(each); });
  }
  /// of what `write(element)`, or `write(*this, element)`, makes of each element,
  template <class Elements, class Write>
  JsonWriter& array(std::string_view name, Layout layout, const Elements& elements,
                    const Write& write) {
    key(name).begin_array(layout);
    for (const auto& each : elements) write_element(write, each);
    return end_array();
  }
  template <class Elements, class Write>
  JsonWriter& array(std::string_view name, const Elements& elements, const Write& write) {
    return array(name, Layout::kLines, elements, write);
  }
  /// of objects whose members `write` writes likewise,
  template <class Elements, class Write>
  JsonWriter& objects(std::string_view name, const Elements& elements, const Write& write,
                      Layout layout = Layout::kLines) {
    return array(name, elements, [&](const auto& each) {
      begin_object(layout);
      write_element(write, each);
      end_object();
    });
  }
  /// and of such objects on a line each.
  template <class Rows, class Write>
  JsonWriter& rows(std::string_view name, const Rows& rows, const Write& write) {
    return objects(name, rows, write, Layout::kOneLine);
  }

  /// The document, ended by a newline. The writer is empty afterwards.
  std::string take();

 private:
  struct Level {
    char bracket;
    Layout layout;
    bool empty = true;
  };
  template <class Write, class Element>
  void write_element(const Write& write, const Element& element) {
    if constexpr (std::invocable<const Write&, const Element&>) {
      write(element);
    } else {
      write(*this, element);
    }
  }
  JsonWriter& begin(char bracket, Layout layout);
  JsonWriter& end(char opening, char closing);
  JsonWriter& literal(std::string_view text);
  bool on_one_line() const { return !levels_.empty() && levels_.back().layout == Layout::kOneLine; }
  void before_value();
  void before_element();
  void new_line();

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
  bool complete_ = false;
};

/// `text` in double quotes with JSON's escapes.
std::string json_quote(std::string_view text);

/// The fewest digits that read back as `number`; whole numbers below 2^53 without an exponent.
std::string shortest(double number);

inline constexpr JsonWriter::Layout kOneLine = JsonWriter::Layout::kOneLine;

/// Another library's document on one line; bytes that are no UTF-8 become U+FFFD. `Json` is
/// nlohmann::json or one of its kind, which few folders know.
template <class Json>
std::string json_line(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ergometer::base
