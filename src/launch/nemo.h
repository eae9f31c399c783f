#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::launch {

/// A NeMo 1 configuration (24.x to 25.02, `megatron_gpt_pretraining.py`; with LoRA
/// `megatron_gpt_finetuning.py`) that runs a job on mock data for `steps` steps. `notes`: what NeMo
/// decides otherwise. An input error: NeMo's keys cannot say this job.
Result<std::string> nemo_yaml(const spec::Job& job, int64_t steps, std::vector<std::string>& notes);

/// That NeMo's keys can say a job, its model apart, and a model.
Result<void> nemo_check(const spec::Job& job);
Result<void> nemo_check_model(const spec::Model& model);
/// That NeMo runs what it is told of a job as the job says, without a note.
Result<void> nemo_same(const spec::Job& job);

}  // namespace ergometer::launch
