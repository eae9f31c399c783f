#include "page/comparison.h"

#include "compare/counterfactual.h"
#include "compare/measured.h"
#include "spec/files/settings_record.h"

namespace ergometer::page {
namespace {

using Settings = std::optional<spec::Settings>;

Result<Settings> settings_of(const NamedRun& named) {
  const auto settings = named.run.facts.find("settings");
  if (settings == named.run.facts.end()) return Settings();
  return spec::parse_settings_json(settings->second, named.name);
}

Result<compare::Measured> measured(const NamedRun& named, const Settings& settings) {
  if (!settings) return compare::measure(named.run.traces, named.run.log, named.name);
  ERGOMETER_ASSIGN(const spec::Job job, spec::resolve(*settings));
  return compare::measure_as_recorded(job);
}

bool is_simulated(const NamedRun& named) { return named.run.source == "simulated"; }

}  // namespace

Result<std::optional<compare::Comparison>> comparison_of(const NamedRun& a, const NamedRun& b,
                                                         const DocumentOptions& options) {
  using Answer = std::optional<compare::Comparison>;
  ERGOMETER_ASSIGN(const Settings left, settings_of(a));
  ERGOMETER_ASSIGN(const Settings right, settings_of(b));
  if ((is_simulated(a) && !left) || (is_simulated(b) && !right)) return Answer();
  Answer answer;
  if (is_simulated(a) && is_simulated(b)) {
    ERGOMETER_ASSIGN(const compare::JobPair pair, compare::JobPair::make(*left, *right));
    ERGOMETER_ASSIGN(answer,
                     compare::compare_jobs(pair, {.threads = options.threads,
                                                  .most_simulations = options.most_simulations,
                                                  .progress = options.progress}));
  } else {
    ERGOMETER_ASSIGN(const compare::Measured one, measured(a, left));
    ERGOMETER_ASSIGN(const compare::Measured other, measured(b, right));
    auto found = compare::compare_measured(one, other);
    if (!found) return Answer();
    answer = *std::move(found);
  }
  answer->a = a.name;
  answer->b = b.name;
  return answer;
}

}  // namespace ergometer::page
