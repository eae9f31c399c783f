#include "spread/launcher.h"

#include <cstdlib>
#include <optional>

#include "base/text.h"

namespace ergometer::spread {
namespace {

/// Both numbers, when there are several ranks and ours is one of them.
std::optional<Launched> ranks_of(const Lookup& lookup, const char* rank, const char* ranks) {
  const char *index = lookup(rank), *count = lookup(ranks);
  if (index == nullptr || count == nullptr) return std::nullopt;
  const auto i = base::parse_integer(index), n = base::parse_integer(count);
  if (!i || !n || *i < 0 || *i >= *n) return std::nullopt;
  return Launched{static_cast<size_t>(*i), static_cast<size_t>(*n), true};
}

}  // namespace

Launched launched(const Lookup& lookup) {
  if (const auto mpirun = ranks_of(lookup, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
    return *mpirun;
  auto step = ranks_of(lookup, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
  if (!step) return {};
  step->can_talk = step->ranks == 1 || lookup("PMIX_RANK") != nullptr;
  return *step;
}

Launched launched() {
  return launched([](const char* name) { return std::getenv(name); });
}

}  // namespace ergometer::spread
