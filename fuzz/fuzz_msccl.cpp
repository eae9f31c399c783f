// MSCCL files: what is right is played to its end, in a time that grows with its chunks.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cost/algorithm_play.h"
#include "spec/collective/check_algorithm.h"
#include "spec/collective/read_msccl.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  const auto algorithm =
      spec::parse_msccl({reinterpret_cast<const char*>(data), size}, "algorithm.xml");
  if (!algorithm || !spec::check_algorithm(*algorithm)) return 0;
  cost::AlgorithmRoutes routes{{1e9}, 1e9, {}};
  for (const spec::GpuProgram& gpu : algorithm->gpus)
    routes.out.emplace_back(gpu.blocks.size(), cost::AlgorithmRoute{{0}, 1e-6});
  const auto end_s = [&](double chunk_bytes) {
    return cost::play_algorithm(*algorithm, routes, chunk_bytes, 2, true).back();
  };
  const double short_s = end_s(1e3), long_s = end_s(1e6);
  ERGOMETER_CHECK(std::isfinite(long_s) && short_s > 0 && long_s > short_s,
                  "a right algorithm moves something and ends");
  return 0;
}
