#pragma once

#include <vector>

#include "engine/outcome/interval.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// How likely a job is to run in its GPUs' memory.
///
/// With need N = peak + reserved of the fullest stage, capacity C and A = activations + reserved,
/// ln(what it takes / N) is taken as normal around 0 with
///   sigma^2 = memory_base^2 + (memory_activations A / N)^2 + memory_software_unseen^2 [if so]
///   P = Phi(ln(C / N) / sigma)
/// so that P is one half or more exactly where N <= C.
/// Worked: N = 72 GiB, of which A = 36 GiB, C = 79.1 GiB, terms 0.05 and 0.15: sigma = 0.0901,
/// ln(C / N) = 0.0941, P = Phi(1.044) = 0.852.
struct MemoryFit {
  double probability = 1, sigma = 0;
  SoftwareSeen software = SoftwareSeen::kYes;
};
MemoryFit memory_fit(const spec::Job& job, const run::Memory& memory,
                     const std::vector<Evidence>& evidence, const Uncertainty& uncertainty);
/// The same with the catalog's tables.
MemoryFit memory_fit(const spec::Job& job, const run::Memory& memory);

}  // namespace ergometer::engine
