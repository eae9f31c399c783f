#pragma once

#include <cstddef>
#include <functional>

namespace ergometer::spread {

/// How many processes a launcher started of the same command, from the environment alone.
struct Launched {
  size_t rank = 0, ranks = 1;
  bool can_talk =
      true;  ///< false: a Slurm step without PMIx, whose ranks MPI cannot bring together
};

/// The text of an environment variable; null: not set.
using Lookup = std::function<const char*(const char* name)>;

/// Open MPI's `mpirun`, or a Slurm step of several tasks. An `mpirun` inside a step counts alone:
/// its ranks see the step of its daemons too.
Launched launched(const Lookup& lookup);
/// This process.
Launched launched();

}  // namespace ergometer::spread
