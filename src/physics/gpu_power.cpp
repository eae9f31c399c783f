#include "physics/gpu_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/exponential.h"
#include "base/widths.h"

namespace ergometer::physics {
namespace {

/// Reads required parameters of one GPU and remembers the first that is missing.
class Reader {
 public:
  explicit Reader(const spec::Gpu& gpu) : gpu_(gpu) {}

  double operator()(std::string_view name) {
    const base::Parameter* const found = gpu_.parameters.find(name);
    if (!found && missing_.empty()) missing_ = name;
    return found ? found->value : 0;
  }
  double operator()(std::string_view name, double fallback) const {
    return gpu_.parameters.value_or(name, fallback);
  }
  bool complete() const { return missing_.empty(); }
  base::Error error() const {
    const bool of_power = missing_.starts_with("power.");
    const std::string& entry = of_power && !gpu_.power.empty() ? gpu_.power : gpu_.entry;
    const std::string place =
        entry.empty()
            ? std::string("written inline")
            : fmt::format("catalog/{}/{}.yaml", &entry == &gpu_.power ? "power" : "gpus", entry);
    const std::string hint =
        of_power && gpu_.power.empty() ? "; name a power entry, as in `power: h100`" : "";
    return {base::ErrorKind::kInput,
            fmt::format("GPU {} ({}): parameter {} is missing, power needs it{}", gpu_.name, place,
                        missing_, hint)};
  }

 private:
  const spec::Gpu& gpu_;
  std::string missing_;
};

/// How leakage follows the temperature: times exp(k (min(T, T_off) - T0)), k in 1/K.
struct LeakageCurve {
  double per_k, hottest_c, t0_c;
  explicit LeakageCurve(const GpuPower& gpu)
      : per_k(gpu.leakage_per_k),
        hottest_c(gpu.shutdown_c > 0 ? gpu.shutdown_c : kNoChipRunsC),
        t0_c(gpu.leakage_c) {}
  double exponent(double die_c) const {
    return per_k * ((hottest_c < die_c ? hottest_c : die_c) - t0_c);
  }
  static constexpr double kNoChipRunsC = 150;
};

/// False: a temperature is none of a chip, and nothing of the result counts.
ERGOMETER_WIDTHS bool quick_leakages(const LeakageCurve& given, const double* __restrict die_c,
                                     const double* __restrict at_t0_w, double* __restrict leaking_w,
                                     size_t n) {
  const LeakageCurve curve = given;
  int64_t others = 0;
  for (size_t i = 0; i < n; ++i) {
    const double exponent = curve.exponent(die_c[i]);
    others += base::is_quick_exponent(exponent) ? 0 : 1;
    leaking_w[i] = at_t0_w[i] * base::quick_exponential(exponent);
  }
  return others == 0;
}

}  // namespace

double ClockLattice::floor(double clock_hz) const {
  if (clock_hz >= highest_hz) return highest_hz;
  if (clock_hz <= lowest_hz || step_hz <= 0) return lowest_hz;
  const auto steps = static_cast<int64_t>((clock_hz - lowest_hz) / step_hz + kForgiven);
  return lowest_hz + step_hz * static_cast<double>(steps);
}

double GpuPower::leakage_at(double die_c, const Silicon& silicon) const {
  const double at_t0_w = leakage_w * silicon.leakage;
  double leaking_w = 0;
  leakages_at({&die_c, 1}, {&at_t0_w, 1}, {&leaking_w, 1});
  return leaking_w;
}

void GpuPower::leakages_at(std::span<const double> die_c, std::span<const double> at_t0_w,
                           std::span<double> leaking_w) const {
  if (leakage_per_k == 0) {
    std::ranges::copy(at_t0_w, leaking_w.begin());
    return;
  }
  const LeakageCurve curve(*this);
  if (quick_leakages(curve, die_c.data(), at_t0_w.data(), leaking_w.data(), die_c.size())) return;
  for (size_t i = 0; i < die_c.size(); ++i)
    leaking_w[i] = at_t0_w[i] * base::exponential(curve.exponent(die_c[i]));
}

Result<GpuPower> gpu_power(const spec::Gpu& gpu) {
  Reader get(gpu);
  GpuPower power;
  power.clocks = {get("clock_min"), get("clock_max"), get("clock_step")};
  power.voltage = {get("power.voltage_min"), get("power.voltage_knee") * power.clocks.highest_hz,
                   power.clocks.highest_hz};
  power.constant_w = get("power.constant");
  power.constant_memory_w = get("power.constant_memory");
  power.leakage_w = get("power.leakage");
  power.leakage_c = get("power.leakage_temperature");
  power.leakage_per_k = get("power.leakage_per_k");
  power.active_w = get("power.active");
  power.excursion = get("power.excursion");
  power.held = get("power.cap_held", 1);
  power.burst = std::max(power.held, get("power.cap_burst", power.held));
  power.held_over_s = get("power.cap_window", 1);
  power.reading_period_s = get("power.reading_period", 0);
  if (power.reading_period_s > 0) {
    power.reading_instant_s = get("power.reading_instant");
    power.reading_average_s = get("power.reading_average");
  }
  power.cap_w = get("tdp");
  power.lowest_cap_w = get("power_cap_min", power.cap_w);
  power.highest_cap_w = get("power_cap_max", power.cap_w);
  power.idle_w = get("idle_power", 0);
  power.target_c = get("temperature_target", 0);
  power.slowdown_c = get("temperature_slowdown", 0);
  power.shutdown_c = get("temperature_shutdown", 0);
  power.memory_limit_c = get("temperature_memory", 0);
  if (!get.complete()) return tl::unexpected(get.error());
  return power;
}

Result<EnergyPerWork> energy_per_work(const spec::Gpu& gpu) {
  Reader get(gpu);
  EnergyPerWork energy;
  energy.tensor_fp16 = get("power.tensor_fp16");
  // A GPU without units of its own for a format runs it on the next wider ones.
  energy.tensor_fp32 = get("power.tensor_fp32", 2 * energy.tensor_fp16);
  energy.tensor_fp8 = get("power.tensor_fp8", energy.tensor_fp16);
  energy.tensor_fp4 = get("power.tensor_fp4", energy.tensor_fp8);
  energy.vector = get("power.vector");
  energy.cache = get("power.cache");
  energy.memory = get("power.memory");
  energy.link = get("power.link");
  energy.data_share = get("power.data_share");
  if (!get.complete()) return tl::unexpected(get.error());
  return energy;
}

}  // namespace ergometer::physics
