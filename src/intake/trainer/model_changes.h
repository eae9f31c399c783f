#pragma once

#include "base/result.h"
#include "intake/trainer/program_text.h"

namespace ergometer::intake {

/// What a program does to its model once it is loaded: layers computed again, weights cast.
/// Refused: what only the run decides.
Result<void> read_model_changes(ProgramText& program);
/// The model whose sizes a program says itself. `alone`: of several that it loads, which one is
/// trained is left open.
void read_own_model(ProgramText& program, bool alone);
/// Number formats of products, and whether some weights are not trained.
void read_weights(ProgramText& program);

}  // namespace ergometer::intake
