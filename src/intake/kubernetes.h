#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// A Kubernetes manifest: the command of the containers that have GPUs (of an MPIJob the
/// launcher's), followed as a script is; how many GPUs there are from limits, replicas and
/// parallelism. Refused: a manifest without GPUs or commands, several jobs, a command that says
/// another number of GPUs.
Result<Reading> parse_kubernetes(const std::string& text, const std::string& file,
                                 const ScriptContext& context = {});

}  // namespace ergometer::intake
