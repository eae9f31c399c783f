#include "study/neighbours/ladder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/text.h"
#include "physics/gpu_power.h"
#include "physics/heat.h"
#include "spec/settings/setting_values.h"

namespace ergometer::study {
namespace {

using spec::SettingInfo;
using spec::SettingKind;

constexpr size_t kMostVaried = 5;
constexpr int kMostDoublings = 4;
/// Ranges of so many whole numbers are tried whole: zero has four.
constexpr double kShortRange = 8;

using Pair = std::pair<std::string_view, std::string_view>;
/// What people say for settings without a short name.
constexpr std::array kWordsFor =
    std::to_array<Pair>({{"cap", "power_cap"}, {"clock", "lock_clock"}, {"inlet", "inlet_c"}});
/// They follow from the others, or say what another setting says.
constexpr std::array kFollow = std::to_array<std::string_view>(
    {"data_parallel_size", "gradient_accumulation_steps", "bf16", "fp16", "fp8", "fp4", "steady"});

bool is_one_of(const auto& one, const auto& all) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool has_ladder(const SettingInfo& setting) {
  using enum SettingKind;
  if (setting.kind == kMeasure)
    return std::any_of(kWordsFor.begin(), kWordsFor.end(),
                       [&](const Pair& it) { return it.second == setting.name; });
  const bool kind = setting.kind == kInteger || setting.kind == kSwitch || setting.kind == kChoice;
  return kind && setting.text != nullptr && !is_one_of(setting.name, kFollow);
}

const SettingInfo* setting_called(const std::string& word) {
  for (const auto& [called, name] : kWordsFor)
    if (word == called) return spec::find_setting(name);
  return spec::find_setting(word);
}

tl::unexpected<base::Error> no_setting(const std::string& word) {
  const SettingInfo* meant = spec::setting_also_called(word);
  auto guess = meant != nullptr ? std::optional(meant->name) : spec::nearest_setting(word);
  return input_error(
      "--what-if: found '{}', allowed: settings with commas between, as in tp,pp,mbs,cap{}", word,
      base::did_you_mean(guess));
}

/// Halves and doubles of a whole number.
std::vector<double> doublings(double own, const SettingInfo& setting) {
  std::vector<double> values;
  for (double value = own; values.size() < kMostDoublings && std::fmod(value, 2) == 0 && value > 1;)
    values.insert(values.begin(), value /= 2);
  if (own > 0) values.push_back(own);
  double value = std::max(own * 2, 1.0);
  for (int i = 0; i < kMostDoublings && value <= setting.max; ++i, value *= 2)
    values.push_back(value);
  return values;
}

std::vector<double> whole_numbers(double own, const SettingInfo& setting) {
  std::vector<double> values;
  if (setting.max - setting.min >= kShortRange) {
    values = doublings(own, setting);
  } else {
    for (double value = setting.min; value <= setting.max; ++value) values.push_back(value);
  }
  return values;
}

/// Multiples of a step from `least` on, below `own` by half a step or more, and above up to `most`.
std::vector<double> steps(double step, double least, double own, double most) {
  std::vector<double> values;
  for (double value = std::ceil(least / step) * step; value <= most; value += step)
    if (std::abs(value - own) >= step / 2) values.push_back(value);
  return values;
}

/// A job's own value in the setting's unit, and what else to try.
struct Numbers {
  double own = 0;
  std::vector<double> others;
};

Result<Numbers> power_caps(const spec::Job& job) {
  ERGOMETER_ASSIGN(const physics::GpuPower gpu, physics::gpu_power(job.cluster.node.gpu));
  const double own = job.conditions.power_cap_w > 0 ? job.conditions.power_cap_w : gpu.cap_w;
  const double step = std::max(50.0, std::round(gpu.cap_w / 8 / 50) * 50);
  return Numbers{own, steps(step, gpu.lowest_cap_w, own, gpu.cap_w)};
}

Result<Numbers> locked_clocks(const spec::Job& job) {
  constexpr double kMegahertz = 1e6, kStep = 150;
  ERGOMETER_ASSIGN(const physics::GpuPower gpu, physics::gpu_power(job.cluster.node.gpu));
  const double highest = gpu.clocks.highest_hz / kMegahertz,
               locked = job.conditions.lock_clock_hz / kMegahertz;
  const double own = locked > 0 ? locked : highest;
  return Numbers{own, steps(kStep, highest / 2, own, highest)};
}

Result<Numbers> inlets(const spec::Job& job) {
  constexpr double kStep = 5, kMostSteps = 4;
  ERGOMETER_ASSIGN(const physics::CoolingParameters cooling,
                   physics::cooling_parameters(job.cluster.node, job.conditions.cooling));
  const double own = job.conditions.has_inlet ? job.conditions.inlet_c : cooling.inlet_c;
  Numbers numbers{own, {}};
  for (double i = -kMostSteps; i <= kMostSteps; ++i)
    if (i != 0) numbers.others.push_back(own + i * kStep);
  return numbers;
}

Result<Numbers> measures(const SettingInfo& setting, const spec::Job& job) {
  if (setting.name == "power_cap") return power_caps(job);
  return setting.name == "lock_clock" ? locked_clocks(job) : inlets(job);
}

Result<Numbers> numbers_of(const SettingInfo& setting, const spec::Job& job) {
  if (setting.kind == SettingKind::kMeasure) return measures(setting, job);
  const double own = base::parse_number(spec::setting_value(setting.name, job)).value_or(0);
  return Numbers{own, whole_numbers(own, setting)};
}

Result<Ladder> ladder_of_numbers(const SettingInfo& setting, const spec::Job& job) {
  ERGOMETER_ASSIGN(Numbers numbers, numbers_of(setting, job));
  std::vector<double>& all = numbers.others;
  all.push_back(numbers.own);
  base::sort_unique(all);
  Ladder ladder{&setting, {}, 0};
  for (const double value : all) {
    if (value == numbers.own) ladder.own = ladder.values.size();
    ladder.values.push_back(base::shortest(value));
  }
  return ladder;
}

Ladder ladder_of_words(const SettingInfo& setting, const spec::Job& job) {
  const bool is_switch = setting.kind == SettingKind::kSwitch;
  Ladder ladder{&setting, base::split(is_switch ? "off|on" : setting.choices, '|'), 0};
  const auto own =
      std::find(ladder.values.begin(), ladder.values.end(), spec::setting_value(setting.name, job));
  ladder.own = static_cast<size_t>(own - ladder.values.begin());
  return ladder;
}

}  // namespace

Result<Ladder> ladder(const SettingInfo& setting, const spec::Job& job) {
  const bool words = setting.kind == SettingKind::kSwitch || setting.kind == SettingKind::kChoice;
  Ladder made;
  if (words) {
    made = ladder_of_words(setting, job);
  } else {
    ERGOMETER_ASSIGN(made, ladder_of_numbers(setting, job));
  }
  if (made.values.size() < 2 || made.own >= made.values.size())
    return input_error("--what-if: {} has no other value to try", made.word());
  return made;
}

Result<std::vector<const SettingInfo*>> settings_to_vary(const std::string& list) {
  std::vector<const SettingInfo*> settings;
  for (const std::string& word : base::split(list, ',')) {
    const SettingInfo* setting = setting_called(word);
    if (setting == nullptr) return no_setting(word);
    if (!has_ladder(*setting))
      return input_error(
          "--what-if: found '{}', which {}; allowed: sizes, switches, choices, cap, clock and "
          "inlet",
          word,
          is_one_of(setting->name, kFollow) ? "follows from others" : "has no ladder of values");
    if (is_one_of(setting, settings)) return input_error("--what-if: {} stands there twice", word);
    settings.push_back(setting);
  }
  if (settings.empty() || settings.size() > kMostVaried)
    return input_error("--what-if: found {} settings, allowed: 1 to {}", settings.size(),
                       kMostVaried);
  return settings;
}

}  // namespace ergometer::study
