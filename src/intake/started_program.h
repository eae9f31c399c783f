#pragma once

#include "base/result.h"
#include "intake/reader/reading.h"
#include "intake/script/shell_launch.h"

namespace ergometer::intake {

/// Whether a program's words say how a model is trained: enough to tell the training from what a
/// script does beside it.
bool trains(const Launch& launch);

/// The job that a program was started for: Megatron-LM and its relatives by their arguments (with
/// DeepSpeed's file beside them), programs on the Hugging Face Trainer, torchtitan and NeMo 1 by
/// their file and what overrides it, others by a file that intake/read_user_file.h knows. Files may
/// have been written by the script itself. Refused, naming the line: a file that is not here, and
/// what counts and is not known.
Result<Reading> read_program(const Launch& launch, const ShellRun& run);

}  // namespace ergometer::intake
