#pragma once

namespace ergometer::cost {

/// What one TCP connection passes on that loses a share `loss` > 0 of its packets, bytes/s:
///   MSS / round trip x sqrt(3/2) / sqrt(loss)
/// (Mathis, Semke, Mahdavi and Ott: The macroscopic behavior of the TCP congestion avoidance
/// algorithm, 1997). Of senders that do not slow down for a loss (BBR) it is too low.
/// Worked: 40 ms and 0.01 %: 1,448 B / 0.04 s x 1.2247 / 0.01 = 4.43 MB/s.
double lossy_tcp_bytes_per_s(double round_trip_s, double loss);

}  // namespace ergometer::cost
