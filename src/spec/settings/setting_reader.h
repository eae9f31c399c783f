#pragma once

#include <fmt/core.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// Typed access to Settings while a job is resolved. Every value asked for leaves its origin
/// behind; a setting that the user did not give takes the fallback, and the reason for it becomes
/// the origin. The first thing wrong is kept (`error()`), later calls return their fallback.
class SettingReader {
 public:
  /// `profile`: what the software profile says where the user says nothing.
  SettingReader(const Settings& settings, const Settings& profile,
                std::map<std::string, Origin>& origins)
      : settings_(settings), profile_(profile), origins_(origins) {}

  bool given(std::string_view name) const { return settings_.find(name) != nullptr; }
  /// Given, and no switch that is off.
  bool asks_for(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback, std::string_view reason);
  double real(std::string_view name, double fallback, std::string_view reason);
  bool flag(std::string_view name, bool fallback, std::string_view reason);
  std::string text(std::string_view name);
  /// The position of the word among the table's choices.
  int choice(std::string_view name, int fallback, std::string_view reason);
  template <class Choice>
    requires std::is_enum_v<Choice>
  Choice choice(std::string_view name, Choice fallback, std::string_view reason) {
    return static_cast<Choice>(choice(name, static_cast<int>(fallback), reason));
  }
  std::vector<std::string> list(std::string_view name, std::string_view reason);
  std::vector<int64_t> integers(std::string_view name, std::string_view reason);
  /// In the base unit of the table's unit.
  double measure(std::string_view name, double fallback, std::string_view reason);
  std::vector<std::string> words(std::string_view name);
  /// Every setting of which `SettingInfo::reason` says why the job's own value holds by default.
  void plain_settings(Job& job);
  /// Records why a setting has the value it has, when it follows from others.
  void derive(std::string_view name, std::string_view reason);
  /// Records why a setting has not the value that was said or that it has by default
  /// (`spec/job/adjustments.h`).
  void adjust(std::string_view name, std::string_view reason);

  /// The setting as the user said it: "--tp 3", "job.yaml:14: parallelism.tp = 3".
  std::string said(std::string_view name, int64_t value) const;
  std::string said(std::string_view name) const;
  /// Where the setting stands, without its value: "--tp", "job.yaml:14: parallelism.tp".
  std::string where(std::string_view name) const;
  void refuse(std::string message);
  template <class... Parts>
    requires(sizeof...(Parts) > 0)
  void refuse(fmt::format_string<Parts...> form, Parts&&... parts) {
    refuse(fmt::format(form, std::forward<Parts>(parts)...));
  }
  /// Refuses what was said of a setting.
  void refuse_value(std::string_view name, std::string_view allowed);
  const std::optional<base::Error>& error() const { return error_; }

 private:
  /// What the user says, or else the profile; null where neither does.
  const Settings::Value* find(std::string_view name) const;
  Origin origin_of(std::string_view name) const;
  const Settings::Value* value(std::string_view name, std::string_view reason);

  const Settings& settings_;
  const Settings& profile_;
  std::map<std::string, Origin>& origins_;
  std::optional<base::Error> error_;
};

/// "1, 2, 4, 8, 16, 32 or 64"; at most ten, those around `near` when there are more.
std::string divisors_text(int64_t number, int64_t near);
std::string either(const std::vector<int64_t>& numbers);

}  // namespace ergometer::spec
