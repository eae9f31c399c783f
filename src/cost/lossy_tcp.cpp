#include "cost/lossy_tcp.h"

#include <cmath>

namespace ergometer::cost {

double lossy_tcp_bytes_per_s(double round_trip_s, double loss) {
  constexpr double kSegmentBytes = 1448;  // Ethernet's 1500 without TCP's and IP's headers
  return kSegmentBytes / round_trip_s * std::sqrt(1.5 / loss);
}

}  // namespace ergometer::cost
