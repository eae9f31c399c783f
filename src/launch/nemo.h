#pragma once

#include <string>

#include "base/result.h"
#include "spec/job.h"

namespace ergometer::launch {

/// A NeMo 1 configuration (24.x to 25.02, `megatron_gpt_pretraining.py`; with LoRA
/// `megatron_gpt_finetuning.py`) that runs a job on mock data for `steps` steps. `notes`: what NeMo
/// decides otherwise. An input error: NeMo's keys cannot say this job.
base::Result<std::string> nemo_yaml(const spec::Job& job, int64_t steps,
                                    std::vector<std::string>& notes);

}  // namespace ergometer::launch
