#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// A file that asks for machines and says what they run: a task of SkyPilot (`run`, `num_nodes`,
/// `resources.accelerators`, `envs`) or of dstack (`commands`, `nodes`, `resources.gpu`), a run of
/// MosaicML's mcli (`command`, `compute.gpus`, and `parameters`, which lie as
/// /mnt/config/parameters.yaml beside the command), a command job of Azure ML, an experiment of
/// Determined (`entrypoint`, `resources.slots_per_trial`), a service of Docker Compose that
/// reserves GPUs. The command is followed as a script is.
/// Refused: one that starts another number of GPUs than is asked for.
Result<Reading> parse_run_file(const std::string& text, const std::string& file,
                               const ScriptContext& context = {});

}  // namespace ergometer::intake
