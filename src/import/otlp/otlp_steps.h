#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "import/otlp/otlp_document.h"
#include "run/device_log.h"

namespace ergometer::importer {

/// Training steps as programs tell them over OTLP (otlp_steps.cpp lists the names): spans of one
/// iteration each, a metric of how long a step took, or two that count iterations and their time.
/// Several ranks may tell the same step; it counts once.
class OtlpSteps {
 public:
  /// Adds the steps that a document tells of.
  void add(const OtlpDocument& document, std::vector<run::TrainingStep>& steps);
  /// The same of a line of text; one that is no document tells of none.
  void add(std::string_view line, std::vector<run::TrainingStep>& steps);
  static bool is_of_step(std::string_view metric);

 private:
  struct Told {
    std::optional<double> seconds, number, rate, counted, counted_ms;
  };
  void take(const OtlpPoint& point);
  void take(const OtlpSpan& span, std::vector<run::TrainingStep>& steps);
  void take(int64_t time_ns, const Told& told, std::vector<run::TrainingStep>& steps);
  void put(run::TrainingStep step, bool numbered, std::vector<run::TrainingStep>& steps);

  std::map<int64_t, Told> told_;  ///< of the document, by time
  std::optional<run::TrainingStep> last_;
  std::optional<std::pair<double, double>> counted_;  ///< iterations and their ms so far
};

}  // namespace ergometer::importer
