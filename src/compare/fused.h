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
  double overlapped_s = 0;  ///< the step with the software's own overlap (`Training::overlap_tp`),
                            ///< which fused kernels exclude; 0 where it has none
  std::string grown = {};   ///< where something is lost: the part of the step that grew most
  double grown_s = 0;

  bool loses() const { return fused_s > apart_s; }
};

/// `fused`: the Run of `job`. `unfused`: the job that the same settings without `fuse` make.
Result<FusedGain> fused_gain(const spec::Job& job, const spec::Job& unfused, const run::Run& fused);

/// As a sentence: "--fuse: 32.7 s a step instead of 34.3 s", why where it is longer, and what the
/// overlap that it takes the place of makes.
std::string to_text(const FusedGain& gain);

}  // namespace ergometer::compare
