#include "engine/outcome/memory_fit.h"

#include <cmath>
#include <numbers>

#include "engine/outcome/evidence_tables.h"

namespace ergometer::engine {
namespace {

double normal_share_below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

}  // namespace

MemoryFit memory_fit(const spec::Job& job, const run::Memory& memory,
                     const std::vector<Evidence>& evidence, const Uncertainty& u) {
  MemoryFit fit;
  const double needed = memory.peak_bytes + memory.reserved_bytes;
  if (needed <= 0) return fit;
  fit.software = software_seen(job, evidence);
  const double active = (memory.activations_bytes + memory.reserved_bytes) / needed;
  const double unseen = fit.software == SoftwareSeen::kYes ? 0 : u.memory_software_unseen;
  fit.sigma = std::hypot(u.memory_base, u.memory_activations * active, unseen);
  if (memory.capacity_bytes <= 0) {
    fit.probability = 0;
  } else if (fit.sigma > 0) {
    fit.probability = normal_share_below(std::log(memory.capacity_bytes / needed) / fit.sigma);
  } else {
    fit.probability = needed <= memory.capacity_bytes ? 1 : 0;
  }
  return fit;
}

MemoryFit memory_fit(const spec::Job& job, const run::Memory& memory) {
  return memory_fit(job, memory, catalog_evidence(), catalog_uncertainty());
}

}  // namespace ergometer::engine
