#pragma once

#include <optional>
#include <string>

#include "run/run.h"
#include "study/session.h"

namespace ergometer::study {

/// What a study's Run says of its making, among the Run's facts: enough to go on with it and to
/// join its shards.
struct Facts {
  std::string fingerprint;
  std::string file, text;  ///< the study file
  Shard shard;
  size_t points = 0;  ///< of the whole study
};

void write_facts(const Facts& facts, run::Run& run);
/// Nothing when the Run is not a study's.
std::optional<Facts> read_facts(const run::Run& run);

}  // namespace ergometer::study
