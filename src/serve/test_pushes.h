#pragma once

#include <string>

#include "serve/push_format.h"

namespace ergometer::serve {

/// A push of one batch from a node with `gpus` GPUs, without readings.
inline Push test_push(const std::string& host, int64_t sequence, int64_t gpus = 1) {
  Push push;
  push.recorder = "of-" + host;
  push.host = host;
  push.job = "job";
  for (int64_t i = 0; i < gpus; ++i) {
    run::Device device;
    device.host = host;
    device.index = i;
    device.name = "H100";
    push.devices.push_back(device);
  }
  push.batches.emplace_back().sequence = sequence;
  return push;
}

}  // namespace ergometer::serve
