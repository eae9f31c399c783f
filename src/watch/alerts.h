#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "watch/job_now.h"
#include "watch/rules.h"

namespace ergometer::watch {

/// Something a rule says of one device, node or job: pending while its condition holds and `for` is
/// not over, firing then, resolved when the condition no longer holds.
struct Alert {
  std::string rule, severity, subject;  ///< subject: "node7 gpu 3"; empty: the job
  std::string text;
  double value = 0;                        ///< of a metric; 0: it is a finding's
  int64_t pending_ns = 0;                  ///< when the condition began to hold
  int64_t firing_ns = 0, resolved_ns = 0;  ///< 0: not yet, or never
  const char* state() const {
    return resolved_ns > 0 ? "resolved" : firing_ns > 0 ? "firing" : "pending";
  }
  /// Its text, which says what is so; of what is resolved, that it no longer is.
  std::string told() const { return resolved_ns > 0 ? "no longer: " + text : text; }
};

/// One metric of one subject over the last window, in ten parts.
class Window {
 public:
  /// A reading at a time, which does not go back.
  void add(int64_t time_ns, int64_t window_ns, double value);
  /// Nothing where no reading is within the window. A mean, a highest and a lowest wait for a whole
  /// window; an increase, of values that are increases, is their sum at once.
  std::optional<double> take(Rule::Take how, int64_t time_ns, int64_t window_ns) const;

 private:
  struct Part {
    int64_t number = 0;
    double sum = 0, count = 0, highest = 0, lowest = 0;
  };
  std::deque<Part> parts_;
  int64_t first_ns_ = 0;
};

/// The alerts of one job. `look` about once a second.
class Alerts {
 public:
  static constexpr size_t kMostOpen = 4096;     ///< beyond, a condition waits for others to end
  static constexpr size_t kMostResolved = 100;  ///< that are kept to be shown
  static constexpr int64_t kShownNs = 600'000'000'000;

  struct Change {
    Alert alert;
    Action action;  ///< to be done; none of what is pending
  };

  explicit Alerts(const std::vector<Rule>& rules) { replace(rules, 0); }
  /// What is the same in both sets goes on, with its windows and alerts; alerts of a rule that is
  /// gone or another now are resolved, which the next `look` tells.
  void replace(const std::vector<Rule>& rules, int64_t time_ns);
  /// Alerts that were open when a server ended: they go on, and are not told again. Their windows
  /// begin anew, so that they are not over before a window is.
  void resume(std::vector<Alert> open, int64_t time_ns);

  /// What began to be pending, fired or was resolved.
  std::vector<Change> look(const JobNow& now);
  /// Firing, pending, then those resolved in the last ten minutes.
  std::vector<Alert> shown(int64_t time_ns) const;
  bool empty() const { return tracks_.empty() && changes_.empty(); }

 private:
  struct Track {
    Rule rule;
    std::map<std::string, Window> windows;  ///< by subject
    std::map<std::string, double> counts;   ///< by device, of a rule about increases
    std::map<std::string, Alert> open;
    int64_t open_until_ns = 0;  ///< at least
  };
  struct Held {
    double value = 0;
    std::string text;
  };
  using Holds = std::map<std::string, Held>;  ///< by subject: the condition holds
  static Holds holds(Track& track, const JobNow& now);
  static Holds holds_finding(const Rule& rule, const JobNow& now);
  static std::map<std::string, double> readings(Track& track, const JobNow& now);
  void advance(Track& track, const Holds& holds, int64_t time_ns);
  void resolve(const Track& track, Alert alert, int64_t time_ns);

  std::vector<Track> tracks_;
  std::deque<Alert> resolved_;
  std::vector<Change> changes_;
};

/// The alert as one line of JSON: what actions get, and what is added to a file.
std::string alert_json(const Alert& alert, const std::string& job, int64_t time_ns);

/// Whether a finding's kind is the one that is named, where one '*' stands for any text.
bool matches(std::string_view pattern, std::string_view kind);

}  // namespace ergometer::watch
