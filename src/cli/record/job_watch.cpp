#include "cli/record/job_watch.h"

#include <fmt/format.h>

#include "base/wrap.h"
#include "cli/job/predicted_job.h"
#include "record/clock.h"

namespace ergometer::cli {
namespace {

constexpr size_t kColumns = 79;

/// "alert gpu-hot fires: node7 gpu 3: gpu_temperature is 91 C, above 88"
std::string told(const watch::Alert& alert) {
  const std::string subject = alert.subject.empty() ? "" : alert.subject + ": ";
  return fmt::format("alert {} {}: {}{}", alert.rule,
                     alert.resolved_ns > 0 ? "is resolved" : "fires", subject, alert.told());
}

}  // namespace

JobWatch::JobWatch(const RecordOptions& options, record::Recorder& recorder,
                   const record::Snapshot& snapshot)
    : options_(options),
      recorder_(recorder),
      started_(record::read_clocks()),
      snapshot_(snapshot),
      rules_(options.rules) {
  if (options.prediction) against_.emplace(*options.prediction);
  if (!rules_) return;
  alerts_.emplace(rules_->rules());
  actions_.emplace([&recorder](const std::string& text) { recorder.tell(text); });
}

/// Since 1970, by the clock that no one sets.
int64_t JobWatch::now_ns() const {
  return started_.time_ns + record::read_clocks().monotonic_ns - started_.monotonic_ns;
}

void JobWatch::look() {
  const int64_t time_ns = now_ns();
  if (time_ns - looked_ns_ < record::kNsPerSecond) return;
  looked_ns_ = time_ns;
  watch::JobNow now = snapshot_.look(time_ns);
  now.findings = findings_.look(now);
  if (against_) hold_to_prediction(now);
  if (rules_) hold_to_rules(now);
}

void JobWatch::hold_to_prediction(watch::JobNow& now) {
  against_->look(now);
  against_->add_findings(now);
  if (!told_ && against_->deviation()) recorder_.tell(against_->deviation()->text);
  told_ = against_->deviation().has_value();
}

void JobWatch::hold_to_rules(const watch::JobNow& now) {
  if (rules_->look(false)) {
    if (rules_->problem().empty())
      alerts_->replace(rules_->rules(), now.time_ns);
    else
      recorder_.tell(rules_->problem() + "; the rules from before hold");
  }
  for (const watch::Alerts::Change& change : alerts_->look(now)) {
    if (change.alert.firing_ns == 0) continue;  // pending, or over before it fired
    recorder_.tell(told(change.alert));
    actions_->put(change.action, watch::alert_json(change.alert, options_.push.job, now.time_ns));
  }
}

std::string JobWatch::text() const {
  std::string text;
  if (against_) text += beside_prediction_text(*against_);
  if (told_) text += base::wrap(against_->deviation()->text, kColumns, 0) + '\n';
  if (!alerts_) return text;
  for (const watch::Alert& alert : alerts_->shown(looked_ns_))
    if (alert.firing_ns > 0 && alert.resolved_ns == 0)
      text += base::wrap(told(alert), kColumns, 0) + '\n';
  return text;
}

}  // namespace ergometer::cli
