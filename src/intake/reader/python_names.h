#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "intake/reader/python_text.h"

/// What names of a Python text are bound to, as far as it is written there.
namespace ergometer::intake {

/// A statement that gives a name its value.
struct PythonBinding {
  size_t at = 0;           ///< where the expression is evaluated
  std::string expression;  ///< empty: not told apart (`x += 1`, `for x in ...`)
  int index = -1;          ///< of a target of several, `a, b = ...`; -1: the only one
};

/// `NAME: type = default` of a function or class.
struct PythonField {
  std::string name, value;  ///< no value: it has none
  size_t at = 0;
};

/// Where `=` stands that gives a value, outside brackets and strings; the text's size if nowhere.
size_t assignment_in(std::string_view text);

class PythonNames {
 public:
  static constexpr size_t kModule = std::string::npos;

  /// Both outlive this; `text` is free of comments.
  PythonNames(const std::string& text, const PythonStatements& statements)
      : text_(text), statements_(statements) {}

  /// Where the innermost `def` or `class` begins around a place; kModule outside of all.
  size_t scope(size_t at) const;
  bool is_class(size_t scope) const;
  /// `name` is "batch" or "args.batch".
  std::vector<PythonBinding> bindings(std::string_view name, size_t scope) const;
  /// NAME.pop(...), NAME["a"]["b"] = 1, or any change in another scope: what was bound is not what
  /// it is. What `bindings` have is none.
  bool is_mutated(std::string_view name, size_t scope) const;

  /// Where `def NAME` or `class NAME` begins; kModule: it is written nowhere, or twice.
  size_t definition(std::string_view kind, std::string_view name) const;
  /// The text of a function or class.
  std::string_view body(size_t definition) const;
  /// "train" of `def train(batch=4):`
  std::string name_of(size_t definition) const;
  bool is_decorated(size_t definition) const;
  std::vector<PythonField> parameters(size_t definition) const;
  /// Of a class, by its own statements, then by those of the classes that it derives from.
  std::optional<PythonField> field(std::string_view class_name, std::string_view name) const;
  /// The names of all its fields that have a value, those of its bases as well.
  std::vector<PythonField> fields(std::string_view class_name) const;
  std::vector<std::string> bases(std::string_view class_name) const;

 private:
  std::optional<PythonBinding> binding(std::string_view name, size_t at) const;
  std::optional<PythonBinding> mutation(std::string_view name, size_t at) const;

  const std::string& text_;
  const PythonStatements& statements_;
};

}  // namespace ergometer::intake
