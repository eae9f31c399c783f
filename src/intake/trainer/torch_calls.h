#pragma once

#include "intake/trainer/program_text.h"

namespace ergometer::intake {

/// Tells of arguments that a call of PyTorch's does not have, in any of its releases: Python stops
/// at them. Of FSDP, DDP, their parts, loaders, autocast and optimizers.
void tell_unknown_arguments(ProgramText& program);

}  // namespace ergometer::intake
