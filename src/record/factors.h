#pragma once

namespace ergometer::record {

// From what drivers count in to the units of metrics.
inline constexpr double kMilli = 1e-3, kMicro = 1e-6, kNano = 1e-9;

}  // namespace ergometer::record
