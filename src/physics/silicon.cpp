#include "physics/silicon.h"

#include <algorithm>
#include <string_view>

#include "base/exponential.h"
#include "base/random.h"

namespace ergometer::physics {
namespace {

Silicon draw(const base::Random& random, const SiliconSpread& spread) {
  const auto deviations = [&](uint64_t n) { return std::clamp(random.normal(n), -3.0, 3.0); };
  Silicon silicon;
  silicon.leakage = base::exponential(spread.leakage * deviations(0));
  silicon.voltage = spread.voltage * deviations(1);
  silicon.thermal_resistance = 1 + spread.thermal_resistance * deviations(2);
  silicon.sensor_gain = 1 + spread.sensor_gain * deviations(3);
  return silicon;
}

}  // namespace

SiliconSpread silicon_spread(const spec::Gpu& gpu) {
  SiliconSpread spread;
  const auto take = [&](std::string_view name, double& value) {
    if (const base::Parameter* said = gpu.parameters.find(name)) value = said->value;
  };
  take("spread.leakage", spread.leakage);
  take("spread.voltage", spread.voltage);
  take("spread.resistance", spread.thermal_resistance);
  take("spread.sensor", spread.sensor_gain);
  return spread;
}

std::vector<Silicon> draw_silicon(uint64_t seed, int64_t gpus, const SiliconSpread& spread) {
  std::vector<Silicon> silicon(static_cast<size_t>(gpus));
  if (seed == 0) return silicon;
  for (size_t gpu = 0; gpu < silicon.size(); ++gpu)
    silicon[gpu] = draw(base::Random(seed, gpu, "silicon"), spread);
  return silicon;
}

}  // namespace ergometer::physics
