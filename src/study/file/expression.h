#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace ergometer::study {

/// What an expression's name or the whole of it may be. Truth is 1 or 0.
using Value = std::variant<double, std::string>;

/// A small formula over named values, as constraints and figures of a study file hold it:
///
///   tp * pp <= gpus and model != 'gpt3-175b'
///   performance.tokens_per_s / power.cluster_mean_w
///   max(1, floor(gpus / 8))
///
/// Weakest to strongest: `or`, `and`, `not`, comparisons (`==` `!=` `<` `<=` `>` `>=`; they do not
/// chain), `+` `-`, `*` `/` `%`, a sign. Functions: min, max, abs, floor, ceil, sqrt, log2. Texts
/// stand in single or double quotes and can be compared. Names are words of letters, digits and `_`
/// joined by dots.
class Expression {
 public:
  /// The error has no place: `"tp * (pp": found the end; expected )`.
  static Result<Expression> parse(std::string_view text);

  /// What a name means; nothing where it has no value here.
  using Lookup = std::function<std::optional<Value>(std::string_view name)>;
  /// Nothing where a name has no value, a number is divided by zero, or a text stands where a
  /// number must.
  std::optional<Value> evaluate(const Lookup& lookup) const;
  /// The same as a number.
  std::optional<double> number(const Lookup& lookup) const;

  const std::vector<std::string>& names() const { return names_; }  ///< each once, as they come
  const std::string& text() const { return text_; }

  struct Node;

 private:
  std::string text_;
  std::vector<std::string> names_;
  std::shared_ptr<const Node> root_;
};

}  // namespace ergometer::study
