#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "spec/settings/resolve_parts.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// A job while a recipe fills what its user left open: what was said, and the defaults settled so
/// far. Whoever settles a setting first has the last word, and the user comes before all.
class RecipeDraft {
 public:
  /// Both must outlive the draft.
  RecipeDraft(const Settings& said, const JobParts& parts);

  /// A setting by its name in the table, or a fact that conditions know (recipe_condition.h), as
  /// words that compare: switches are "true" or "false", sizes that nobody gave "1", the release
  /// "25.07". Empty where nothing is known.
  std::string text(std::string_view name) const;
  int64_t number(std::string_view name, int64_t fallback) const;
  bool is_on(std::string_view name) const { return text(name) == "true"; }
  /// Whether the user or a default settles it.
  bool has(std::string_view name) const;
  /// Whether the user does.
  bool said(std::string_view name) const;

  void fill(std::string_view setting, std::string value, const std::string& origin);
  /// Takes a default back; what the user said stays.
  void drop(std::string_view setting) { defaults_.erase(setting); }
  void drop_if_on(std::string_view setting) {
    if (is_on(setting)) drop(setting);
  }

  const Model& model() const { return parts_.model; }
  const Cluster& cluster() const { return parts_.cluster; }
  /// The catalog's name of the model; of other files and inline models that of the catalog's model
  /// with the same shape, empty if there is none.
  const std::string& model_name() const;
  int64_t gpus() const;
  /// gpus / (tp x cp x pp); at least 1.
  int64_t replicas() const;

  std::string release;  ///< of the recipe, "25.07"; empty without one
  const Settings& defaults() const { return defaults_; }

 private:
  std::string fact(std::string_view name) const;

  const Settings& said_;
  const JobParts& parts_;
  Settings defaults_;
  mutable std::optional<std::string> model_name_;  ///< once somebody asked
};

}  // namespace ergometer::spec
