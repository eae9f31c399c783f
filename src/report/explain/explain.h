#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/explain/explanation.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::report {

/// Explains a number of the summary by its name in `--json` ("mfu" or "performance.mfu",
/// "memory.peak_bytes", "links.nic.bytes_per_step"), the price of an operator ("op:qkv"), what a
/// step's energy is spent on ("energy", "energy.layer"), or, without a name, every setting of the
/// job with where it came from. An unknown name is an input error that suggests the nearest.
Result<Explanation> explain(const run::Run& run, const spec::Job& job, const std::string& name);

// The parts of it; see the files of these names.
Explanation explain_settings(const spec::Job& job);
Result<Explanation> explain_operator(const spec::Job& job, const std::string& name);
/// "memory.peak_bytes", "memory.fits", ...: a field of the summary.
Explanation explain_memory(const run::Run& run, const spec::Job& job, std::string_view field);
/// "power.mean_w_per_gpu", "thermal.max_gpu_c", ...; an error where the Run knows nothing of power.
Result<Explanation> explain_power(const run::Run& run, const spec::Job& job,
                                  std::string_view field);
/// "energy": a step's GPU energy by every dimension, the dearest rows of each; "energy.phase": all
/// rows of one. An error where the Run knows nothing of power.
Result<Explanation> explain_energy(const run::Run& run, const spec::Job& job,
                                   const std::string& name);
/// Shares of a whole in tenths of a percent that add up to 1000: rounded, and what is then missing
/// or too much taken by the largest, a tenth each, so that a small value has the same share in
/// every list of the same whole. `values`: not negative; all shares are 0 where their sum is.
std::vector<int> shares_in_tenths(const std::vector<double>& values);
/// "links.nic.bytes_per_step".
Result<Explanation> explain_link(const run::Run& run, const spec::Job& job,
                                 const std::string& name);
/// What takes most of the first stage's compute stream: count times price, at the reference clock.
Result<std::vector<Explanation>> heaviest_operators(const spec::Job& job);
/// One setting with its value, as an input of a formula; `name` as in spec's setting table.
Explanation explain_setting(const spec::Job& job, std::string_view name);
/// A number of the GPU's catalog entry, with its source and grade.
Explanation catalog_node(const spec::Job& job, std::string_view name);

}  // namespace ergometer::report
