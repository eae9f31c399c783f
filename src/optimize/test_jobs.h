#pragma once

#include "spec/resolve/test_jobs.h"

namespace ergometer::optimize {

using spec::test::Values;

/// Two nodes, four stages of a small model, few micro batches: a tenth of a second to play.
inline Values small_job() {
  return {{"model", "llama3-8b"}, {"num_layers", "16"}, {"cluster", "charllm-h200"},
          {"gpus", "16"},         {"tp", "4"},          {"pp", "4"},
          {"gbs", "8"},           {"mbs", "1"},         {"seq", "4096"}};
}

}  // namespace ergometer::optimize
