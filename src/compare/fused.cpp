#include "compare/fused.h"

#include <fmt/format.h>

#include <string_view>

#include "base/text.h"
#include "run/row_columns.h"

namespace ergometer::compare {
namespace {

/// The step where nothing that runs side by side slows each other down.
Result<double> unshared_step_s(const spec::Job& job) {
  ERGOMETER_ASSIGN(const engine::Simulation from,
                   engine::simulate_in_full(job, {.intervals = false, .whole_step = true}));
  const engine::Stretch alone;
  return engine::sweep({.job = job,
                        .plan = from.plan,
                        .costs = from.played_at.costs,
                        .clocks_hz = from.played_at.clocks_hz,
                        .sampled_ranks = {},
                        .stretch = alone})
      .step_s;
}

void find_grown(const run::Breakdown& fused, const run::Breakdown& apart, FusedGain& gain) {
  run::kBreakdownColumns.for_each([&](std::string_view name, auto member) {
    const double more_s = fused.*member - apart.*member;
    if (more_s <= gain.grown_s) return;
    gain.grown = name;
    gain.grown_s = more_s;
  });
}

}  // namespace

Result<FusedGain> fused_gain(const spec::Job& job, const spec::Job& unfused,
                             const run::Run& fused) {
  spec::Job parts = job;
  parts.training.fuse.clear();
  ERGOMETER_ASSIGN(const run::Run apart, engine::simulate(parts, {.intervals = false}));
  FusedGain gain;
  gain.fused_s = fused.performance.step_time_s;
  gain.apart_s = apart.performance.step_time_s;
  if (unfused.training.overlap_tp) {
    ERGOMETER_ASSIGN(const run::Run overlapped, engine::simulate(unfused, {.intervals = false}));
    gain.overlapped_s = overlapped.performance.step_time_s;
  }
  if (!gain.loses()) return gain;
  find_grown(fused.performance.breakdown_s, apart.performance.breakdown_s, gain);
  ERGOMETER_ASSIGN(gain.fused_unshared_s, unshared_step_s(job));
  ERGOMETER_ASSIGN(gain.apart_unshared_s, unshared_step_s(parts));
  return gain;
}

std::string to_text(const FusedGain& gain) {
  std::string text =
      fmt::format("--fuse: {} a step instead of {}", base::format_seconds(gain.fused_s),
                  base::format_seconds(gain.apart_s));
  if (gain.overlapped_s > 0)
    text += fmt::format(
        " apart; the software's own --tp-comm-overlap, which it takes the place of, makes {}",
        base::format_seconds(gain.overlapped_s));
  if (!gain.loses()) return text;
  text += fmt::format(", although no fused kernel is longer than its parts: {} grows by {}",
                      gain.grown, base::format_seconds(gain.grown_s));
  if (gain.fused_unshared_s <= gain.apart_unshared_s)
    text += fmt::format(
        ", as transfers meet others on the links at other times; alone on them, {} instead of {}",
        base::format_seconds(gain.fused_unshared_s), base::format_seconds(gain.apart_unshared_s));
  return text;
}

}  // namespace ergometer::compare
