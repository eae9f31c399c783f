#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ergometer::run {

/// A host's clocks, read one right after the other.
struct ClockReading {
  int64_t time_ns = 0;       ///< since 1970, what telemetry is stamped with
  int64_t monotonic_ns = 0;  ///< since the host started; no one sets it
  int64_t max_error_ns = 0;  ///< what the kernel says of the first (adjtimex); 0: it is not held
};

/// One question to another host for its time, as in NTP (RFC 5905): sent and answered by this
/// host's clock, received and sent back by the other's. All since 1970.
struct ClockProbe {
  std::string peer;  ///< the other host's name
  int64_t sent_ns = 0, peer_received_ns = 0, peer_sent_ns = 0, received_ns = 0;
};

/// What is known of the clock of one host's recording.
struct HostClock {
  std::string host;
  std::vector<ClockReading> readings;  ///< in order of time
  std::vector<ClockProbe> probes;
};

}  // namespace ergometer::run
