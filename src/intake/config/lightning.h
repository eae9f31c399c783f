#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/python_values.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// PyTorch Lightning (and Fabric): what its Trainer is told of GPUs, sharding, number formats and
/// accumulation, by `lightning.Trainer(...)` in a Python program or by LightningCLI's YAML. The
/// model is the program's own: a published one by the name that it is loaded by, else it is to be
/// given beside. A batch is what every process's loader is given.

/// Whether a Python program makes a Trainer of Lightning's.
bool calls_lightning(const std::string& text);
Result<Reading> parse_lightning_python(const std::string& text, const std::string& file,
                                       PythonStart start = {});
/// `overrides`: words of the command line, "trainer.devices".
Result<Reading> parse_lightning(const std::string& text, const std::string& file,
                                const spec::FlatYaml& overrides = {});

}  // namespace ergometer::intake
