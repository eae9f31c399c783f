#pragma once

#include <string>

#include "spec/job/cluster.h"

namespace ergometer::spec {

/// The name of the catalog's GPU whose runs tell how well `gpu` is predicted, "H100-SXM5-80GB":
/// the one with the same clocks, peaks, bandwidth and kernels, whatever it is called here and
/// wherever it was written. Empty where there is none: then no run was ever seen on such a GPU.
/// Memory's size, power and temperatures do not count, as prices of kernels do not ask for them.
std::string measured_gpu(const Gpu& gpu);

}  // namespace ergometer::spec
