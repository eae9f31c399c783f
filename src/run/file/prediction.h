#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/run.h"

namespace ergometer::run {

class Database;

/// One number that is predicted of a job, under the summary's name, with its 90 % interval where
/// the summary has one; else both ends are the number itself.
struct Predicted {
  std::string name, unit;
  double value = 0, low = 0, high = 0;
  bool has_interval() const { return high > low; }
};

/// Where a measured value lies.
enum class Place : uint8_t { kInside, kAbove, kBelow, kNoInterval };
/// A GPU that stays cool is inside: of one node among many the hottest is not the job's. So is what
/// its sensor's `error` (half of its 90 % interval, relative) reaches into the interval of: outside
/// is what is so for sure.
Place place_of(const Predicted& predicted, double measured, double error = 0);
const char* to_word(Place place);  ///< "inside", "above", "below", "no_interval"

/// What was predicted of a job before it ran, kept beside what is measured of it: the fact
/// `prediction` of a recorded Run, as JSON.
struct Prediction {
  std::string job;  ///< the file that describes it, as the user named it
  int64_t gpus = 0;
  /// step_time_s, tokens_per_s_per_gpu, and where power is known mean_w_per_gpu, max_gpu_c and
  /// mean_clock_mhz.
  std::vector<Predicted> quantities;

  const Predicted* find(std::string_view name) const;
};
inline constexpr const char* kPredictionFact = "prediction";

/// Of a simulated Run, as its summary says.
Prediction prediction_of(const Run& run, std::string job, int64_t gpus);

/// For people: "step time", "power a GPU"; "1.25 s", "612 W".
std::string predicted_label(std::string_view name);
std::string predicted_text(double value, std::string_view unit);

/// On one line.
std::string prediction_json(const Prediction& prediction);
/// Input error: what is missing or wrong.
Result<Prediction> parse_prediction(std::string_view json);

/// The fact of this name; empty: there is none.
std::string fact_of(Database& db, std::string_view name);
/// The same of a Run file; empty also where it is no Run.
std::string read_fact(const std::string& path, const std::string& name);

}  // namespace ergometer::run
