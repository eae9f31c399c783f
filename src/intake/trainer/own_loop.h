#pragma once

#include "base/result.h"
#include "intake/trainer/program_text.h"

namespace ergometer::intake {

/// Of a program without the Trainer: how its loop wraps the model, what makes the optimizer, and
/// whether it accumulates gradients. Refused: what only the run decides, and generation in the
/// loop.
Result<void> read_own_wrapping(ProgramText& program);
/// Its batches and number formats, on accelerate or alone; what is not known is left open.
void read_own_loop(ProgramText& program);

}  // namespace ergometer::intake
