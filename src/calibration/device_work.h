#pragma once

namespace ergometer::calibration {

/// The matrix product of the measurement: 8192 x 8192 x 8192 in BF16, 2 n^3 FLOPs.
inline constexpr double kGemmSize = 8192;
/// Each of the three matrices crosses the HBM once: 3 x 2 n^2 B / (2 n^3 FLOP).
inline constexpr double kGemmMemoryBytesPerFlop = 3 / kGemmSize;
/// As cost/energy.cpp counts it: operands come from the last-level cache once a tile of 128 x 256
/// (cuBLAS's largest on Hopper), 2 n^3 (1/128 + 1/256) B / (2 n^3 FLOP), and HBM traffic passes it.
inline constexpr double kGemmCacheBytesPerFlop = 1.0 / 128 + 1.0 / 256 + kGemmMemoryBytesPerFlop;

/// Why a library that is not there is needed.
inline constexpr const char* kWithoutDriver =
    "a GPU can only be measured where its driver is installed";

}  // namespace ergometer::calibration
