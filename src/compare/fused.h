#pragma once

#include <string>

#include "base/result.h"
#include "engine/simulate.h"
#include "spec/job/job.h"

namespace ergometer::compare {

/// What a job's fused kernels (`Training::fuse`) bring, by playing it without them. No kernel is
/// longer than its parts; a step may be, where transfers then meet others on the links.
struct FusedGain {
  double fused_s = 0, apart_s = 0;                    ///< the step with them and without
  double fused_unshared_s = 0, apart_unshared_s = 0;  ///< where no work slows other work beside it
                                                      ///< down; 0 where nothing is lost
  std::string grown = {};  ///< where something is lost: the part of the step that grew most
  double grown_s = 0;

  bool loses() const { return fused_s > apart_s; }
};

/// `fused`: the Run of `job`.
Result<FusedGain> fused_gain(const spec::Job& job, const run::Run& fused);

/// As a sentence: "--fuse: 32.7 s a step instead of 34.3 s", and why where it is longer.
std::string to_text(const FusedGain& gain);

}  // namespace ergometer::compare
