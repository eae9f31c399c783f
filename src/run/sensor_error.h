#pragma once

#include <span>
#include <string>
#include <string_view>

#include "run/device_log.h"

namespace ergometer::run {

/// How far the readings of a kind of sensor are off, and what a reading is a mean of:
/// catalog/tables/sensor_errors.csv, which says the source of every number.
struct SensorFacts {
  /// One standard deviation, relative: of one board against others of its kind (a gain, constant in
  /// time), and of what all of them are off together.
  double own = 0, common = 0;
  double window_s = 0;  ///< a reading is the mean over; 0: not known, or a counter's
  bool known = true;    ///< false: no row of the table names the sensor
};

/// By a UUID as NVIDIA's driver gives it.
inline bool is_nvidia(std::string_view uuid) { return uuid.starts_with("GPU-"); }

/// `way`: how the energy, or the power, was known: "counter", "average_power", "power",
/// "instant_power", "windows"; one that begins with these ("instant_power_whole_beats") is the same
/// sensor. By whole words of the device's name, in either case; a GPU without one whose UUID is
/// NVIDIA's is of NVIDIA.
SensorFacts sensor_facts(const Device& device, std::string_view way);

/// What an energy that was measured, and the mean power with it, is off: one standard deviation of
/// each part, relative.
struct EnergyError {
  double own = 0;      ///< of its board alone, constant in time
  double common = 0;   ///< of all boards of a kind together: does not shrink with their number
  double unseen = 0;   ///< of what happened between the sensor's looks
  bool known = true;   ///< false: the sensor is not known, the parts are wide
  bool stated = true;  ///< false: nothing was measured

  /// Half of its 90 % interval, relative: 1.645 sqrt(own^2 + common^2 + unseen^2).
  double relative() const;
  double percent() const;
};

/// What the gain of such a sensor alone leaves open.
EnergyError gain_of(const SensorFacts& facts);

/// How the looks of a sensor lie over an energy.
struct Looks {
  double count = 0, interval_s = 0;  ///< updates, and how far they are apart
  double scatter = 0;                ///< of updates that follow each other, relative: see below
  double duration_s = 0;
  double counter_s = 0;  ///< how far a counter's updates are apart; 0: readings of power
  double beat = 0;       ///< relative: what whole beats of a repeating load say instead
};

/// One standard deviation of what such looks leave unseen, relative. A reading is the mean over a
/// window w of every interval d; what it says of the rest, 1 - w / d of the time, is off by as much
/// as readings that follow each other differ, sqrt(mean of their squared differences / 2), and of n
/// readings that over the root of n. Of a counter up to an update, c, is missing at each end,
/// evenly so; it has one each second at least (assumed). Readings of power are added up from the
/// first to the last: nothing of that time is missing.
///
///   unseen^2 = (1 - w / d) scatter^2 / n + (min(c, 1 s, T) / T)^2 / 6 + beat^2
///
/// Worked: 25 of each 100 ms, 100 readings that differ by 0.2: 0.75 x 0.04 / 100 = 3.0e-4, 1.73 %.
/// A counter of 0.1 s over 1 s: 0.1^2 / 6 = 1.67e-3, 4.08 %.
double unseen(const SensorFacts& facts, const Looks& looks);

/// An energy with its error.
struct MeasuredEnergy {
  double energy_j = 0;
  EnergyError error;
};
/// Of their sum: own parts are independent, common ones add up. So do unseen ones: boards of a job
/// do the same at the same time and are read together, so what one look misses all miss.
///
///   own^2 = sum (own_i E_i)^2 / E^2     common, unseen = sum common_i E_i / E
///
/// Not stated where one of them is not.
///
/// Worked: 8 equal boards with own 2.5 % and common 1 %: 0.88 % and 1 %, +-2.2 %.
EnergyError error_of_sum(std::span<const MeasuredEnergy> energies);

}  // namespace ergometer::run
