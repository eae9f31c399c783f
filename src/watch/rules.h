#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/device_log.h"

namespace ergometer::watch {

/// What is done when an alert begins to fire and when it is over.
struct Action {
  enum class Kind : uint8_t { kNone, kWebhook, kCommand, kFile };
  Kind kind = Kind::kNone;
  std::string target;      ///< URL, or path of the file that lines are added to
  std::string token_file;  ///< of a webhook: what it has to be told; empty: nothing
  std::string url_file;    ///< of a webhook: whose first line is the URL, which is a secret then
  std::vector<std::string> command;
  bool operator==(const Action&) const = default;
};

/// One rule of a rules file (docs/guide/alerts.md): a finding, or a metric over a window that is
/// above or below a number, for some time.
struct Rule {
  enum class Take : uint8_t { kMean, kHighest, kLowest, kIncrease };
  enum class Per : uint8_t { kDevice, kNode, kJob };

  std::string name, severity = "warning", text;
  std::string finding;  ///< kind of a finding, "throttled.*" for all that begin so; empty: a metric
  std::string metric;   ///< a column of readings, "step_time_s" or "tokens_per_s_per_gpu"
  std::optional<run::Metric> reading;  ///< of a device; none: of the job's steps
  run::DeviceKind of = run::DeviceKind::kGpu;
  Per per = Per::kDevice;  ///< by node and by job readings of all devices are added up
  Take take = Take::kMean;
  std::optional<double> above, below;
  int64_t window_ns = 0, for_ns = 0;
  Action action;
  bool operator==(const Rule&) const = default;
};

/// Of a rules file's text. Errors name file, line and key, what was found and what is allowed.
Result<std::vector<Rule>> parse_rules(std::string_view text, const std::string& file);
/// Of a file, or "standard": the set that the program holds.
Result<std::vector<Rule>> read_rules(const std::string& path);
inline constexpr const char* kStandardRules = "standard";

/// Of the metric; empty: it is a pure number.
std::string_view unit_of(const Rule& rule);

/// "gpu-hot (warning): the mean of gpu_temperature over 1 min of a gpu is above 90 C for 30 s;
/// then: a line into alerts.jsonl"
std::string meaning(const Rule& rule);

}  // namespace ergometer::watch
