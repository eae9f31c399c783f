#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "run/run.h"
#include "spec/collective/given_algorithms.h"

namespace ergometer::report {

/// What each algorithm that the nodes are given runs, a sentence each; none are given: nothing.
inline std::vector<std::string> given_collectives(const run::Run& run) {
  const auto found = run.facts.find(std::string(spec::kGivenAlgorithms));
  return found == run.facts.end() ? std::vector<std::string>() : base::split(found->second, '\n');
}

}  // namespace ergometer::report
