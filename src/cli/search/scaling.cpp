#include "cli/search/scaling.h"

#include <algorithm>
#include <array>

#include "cli/console/stop_at_signal.h"
#include "cli/console/terminal.h"
#include "spec/job/measure_range.h"

namespace ergometer::cli {
namespace {

constexpr double kLeastKwh = 1e-3;  // a budget of nothing trains nothing

Result<std::optional<double>> amount(const Arguments& arguments, const char* name,
                                     double least = 0) {
  if (!arguments.has(name)) return std::nullopt;
  const spec::MeasureRange allowed{"", least, 1e18};
  const auto value = allowed.read(arguments.value(name));
  if (!value) return input_error("--{}: {}", name, value.error().message);
  return *value;
}

}  // namespace

std::vector<Flag> scaling_flags() {
  std::vector<Flag> flags;
  flags.push_back(option("scaling", "strong|weak", "scaling",
                         "the best layout on each of --gpus, and what more GPUs bring: strong: the "
                         "same batch; weak: --gbs is the fewest GPUs', and grows with them"));
  flags.back().choices = {"strong", "weak"};
  flags.push_back(option("price-gpu-hour", "X", "scaling",
                         "price of a GPU for an hour: tells the tokens' cost"));
  flags.push_back(option("price-kwh", "X", "scaling", "price of a kWh at the meter"));
  flags.push_back(option("energy-kwh", "X", "scaling",
                         "kWh at the meter to spend: tells how many tokens they train, in what "
                         "time"));
  return flags;
}

Result<std::optional<ScalingAsk>> scaling_ask(const Arguments& arguments,
                                              const search::SpaceOptions& space) {
  if (!arguments.has("scaling")) {
    for (const char* name : {"price-gpu-hour", "price-kwh", "energy-kwh"})
      if (arguments.has(name)) return input_error("--{}: goes with --scaling", name);
    return std::nullopt;
  }
  constexpr std::array kOfOneAnswer = {"shard", "out", "save", "pareto", "settings", "top"};
  for (const char* name : kOfOneAnswer)
    if (arguments.has(name))
      return input_error(
          "--scaling: has an answer for each number of GPUs, --{} is of one; search "
          "that number alone",
          name);
  if (space.gpus.size() < 2)
    return input_error("--scaling: needs several numbers of GPUs, like --gpus 64,128,256");
  ScalingAsk ask;
  ask.scaling =
      arguments.value("scaling") == "weak" ? search::Scaling::kWeak : search::Scaling::kStrong;
  ERGOMETER_ASSIGN(ask.gpu_hour, amount(arguments, "price-gpu-hour"));
  ERGOMETER_ASSIGN(ask.kwh, amount(arguments, "price-kwh"));
  ERGOMETER_ASSIGN(ask.energy_kwh, amount(arguments, "energy-kwh", kLeastKwh));
  return ask;
}

Result<int> run_scaling(const SearchPlan& plan, const ScalingAsk& ask, bool as_json,
                        const Console& console) {
  const StopAtSignal stop(console.hosted);
  search::SearchOptions options = plan.options;
  options.stop = &StopAtSignal::asked();
  options.top = 1;
  ERGOMETER_ASSIGN(const search::ScalingResult result,
                   search::scale(plan.settings.given, plan.space, options, ask.scaling));
  const ScalingAnswer answer{result, ask};
  console.answer(as_json ? scaling_json(answer)
                         : scaling_text(answer, terminal_style(console.out)));
  if (!result.complete) return StopAtSignal::status();
  const bool any =
      std::ranges::any_of(result.sizes, [](auto& size) { return size.best.has_value(); });
  return any ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace ergometer::cli
