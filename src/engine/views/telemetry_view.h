#pragma once

#include <span>
#include <vector>

#include "engine/power/power_play.h"
#include "engine/views/telemetry_bands.h"
#include "physics/sensor.h"
#include "run/run.h"

namespace ergometer::engine {

/// What a monitoring agent would read while a job is played: the time line of ticks through the
/// sensors of the GPU's kind. With the vendor's sensors, power is the mean over their window with
/// the board's gain, in milliwatts, temperatures are whole degrees, and a reading comes as often as
/// the sensor updates (of unlike GPUs: as the slowest does); with `spec::Sensor::kNone` every tick
/// is a row, as it is. At most a few thousand readings a GPU.
class TelemetryView {
 public:
  /// `ranks`: whose rows; `bands`: how readings are distributed over all ranks. Shown will be
  /// `span_s` seconds.
  TelemetryView(const Fleet& fleet, const spec::Job& job, std::span<const int64_t> ranks,
                bool bands, double span_s);

  /// Before time 0, which sensors look back to: the ticks then, or GPUs without work.
  void lead_in(const Tick& tick);
  void lead_in_idle(const FleetHeat& heat);
  void add(const Tick& tick, const FleetHeat& heat);

  /// Rows of more ranks than were asked for, of GPUs that are metered: with `bands` all are.
  void add_ranks(std::span<const int64_t> ranks);

  /// By rank, then time.
  std::vector<run::Telemetry> rows() const;
  std::vector<run::TelemetryBand> bands() const;

 private:
  void remember(const Tick& tick);
  double mean_w(size_t metered, double window_s, double until_s) const;
  run::Telemetry reading(size_t metered, double time_s, const Tick& tick,
                         const FleetHeat& heat) const;
  void read(double time_s, const Tick& tick, const FleetHeat& heat);

  const Fleet& fleet_;
  bool exact_;
  bool bands_;
  std::vector<physics::PowerSensor> instant_, average_;  ///< by kind
  double longest_window_s_ = 0;
  double period_s_ = 0;
  int64_t next_ = 0;  ///< number of the next reading
  std::vector<int64_t> ranks_;
  std::vector<size_t> gpus_;                 ///< that are metered
  std::vector<std::vector<double>> past_w_;  ///< by metered GPU: power of the last ticks, a ring
  std::vector<double> idle_w_;  ///< by metered GPU: before the first tick; empty: as in it
  size_t past_at_ = 0;          ///< in every ring: the oldest tick
  double tick_s_ = 0;           ///< length of the ticks in it
  std::vector<std::vector<run::Telemetry>> readings_;  ///< by metered GPU, without its rank
  std::vector<run::TelemetryBand> band_rows_;
};

}  // namespace ergometer::engine
