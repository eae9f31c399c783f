#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/python_values.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// A program of OLMo-core: what it builds a TransformerTrainModuleConfig of.
bool calls_olmo_core(const std::string& text);
/// Its words, --train_module.rank_microbatch_size=8192, count over what it builds.
Result<Reading> parse_olmo_core(const std::string& text, const std::string& file,
                                PythonStart start = {});

}  // namespace ergometer::intake
