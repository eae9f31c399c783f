#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "intake/reader/python_values.h"

namespace ergometer::intake {

/// Reads an expression from left to right and works it out on the way.
class PythonExpression {
 public:
  using Value = PythonValues::Value;

  PythonExpression(PythonValues& values, std::string_view text, size_t place)
      : values_(values), text_(text), place_(place) {}

  /// All of the text.
  Value whole();
  /// As much as belongs to it: `CONDITION else ...`, `CONDITION: ...`.
  Value first();

 private:
  struct Term {
    Value value;
    std::string path;    ///< a name that nothing was made of yet: "os.environ.get"
    std::string method;  ///< of the value
  };
  struct Call {
    std::vector<Value> items;
    std::vector<std::pair<std::string, Value>> named;
    bool spreads = false;  ///< holds `*items`, or `**items` that are not known
  };

  Value choice();
  Value disjunction();
  Value conjunction();
  Value negation();
  Value comparison();
  Value sum();
  Value product();
  Value unary();
  Value signed_value();
  Value postfix();
  Term atom();
  Value number();
  Value string();
  Value formatted(std::string_view text);
  Value list(char close);
  Value dictionary();
  Call arguments();
  Value call(const std::string& path, const Call& call);
  Value method(const nlohmann::json& self, std::string_view name, const Call& call);
  Value subscript(const Term& term);
  Value settled(const Term& term);

  /// What is not read here ends the expression.
  Value fail();
  void skip();
  bool take(std::string_view symbol);
  bool take_word(std::string_view word);
  bool ahead(std::string_view symbol);

  PythonValues& values_;
  const std::string_view text_;
  const size_t place_;
  size_t at_ = 0;
  bool failed_ = false;
};

/// What Python takes for true.
bool python_truth(const nlohmann::json& value);

}  // namespace ergometer::intake
