#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// The YAML that `accelerate config` writes: number of GPUs, precision, and DeepSpeed, FSDP, DDP or
/// Megatron-LM with their settings.
Result<Reading> parse_accelerate(const std::string& text, const std::string& file);
/// The same of values that stand in a file, on the command line or in the environment.
Result<Reading> read_accelerate(const spec::FlatYaml& values, const std::string& file);

/// Its ParallelismConfig, of a file's section `parallelism_config` or of a Python program.
void read_parallelism_config(FlatReader& read);

}  // namespace ergometer::intake
