#pragma once

#include <cstdlib>

#include "base/result.h"
#include "spec/settings/settings.h"

/// What holds for every reader of settings: an error has a message, and what was read either
/// resolves to a job whose GPUs are all used, or is refused with a message too. `model` and
/// `cluster` are filled in, so that the settings behind them are reached.
inline void check_settings(const ergometer::Result<ergometer::spec::Settings>& read) {
  using namespace ergometer;
  if (!read) {
    if (read.error().message.empty()) std::abort();
    return;
  }
  spec::Settings settings;
  settings.set("model", "llama3-8b", {});
  settings.set("cluster", "hgx-h100", {});
  settings.merge(*read);
  const auto job = spec::resolve(settings);
  if (!job) {
    if (job.error().message.empty()) std::abort();
    return;
  }
  const auto& parallel = job->parallelism;
  if (parallel.tp * parallel.cp * parallel.pp * parallel.dp != job->gpus) std::abort();
}
