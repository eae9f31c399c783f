#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/decision/loop_output.h"
#include "report/format.h"

namespace ergometer::report {
namespace {

using campaign::Loop;
using campaign::LoopPool;

std::string loop_fact(std::string_view name, const std::string& text) {
  constexpr size_t kNames = 12;
  return base::hanging(fmt::format("{:<{}}", name, kNames), text, kWidth);
}

std::string share_of_iteration(double seconds, const Loop& loop) {
  return fmt::format("{:.1f} %", 100 * seconds / loop.iteration_s);
}

std::string what_loops(const Loop& loop) {
  const campaign::LoopProgram& program = loop.program;
  const spec::Job& job = loop.phases.front().job;
  return base::wrap(
             fmt::format("{}: {} prompts of {} tokens, {} answers each of {:.0f} tokens in the "
                         "mean, {} the longest, on {} x {} ({})",
                         program.name, program.prompts, program.prompt_length, program.samples,
                         loop.mean_response, loop.longest_response, loop.gpus(),
                         job.cluster.node.gpu.name, job.cluster.name),
             kWidth, 0) +
         '\n';
}

/// Who waits, and for what.
std::string waiting(const Loop& loop) {
  std::string text =
      loop_fact("Waits", fmt::format("rollout: {} with less than half of its answers left ({})",
                                     base::format_seconds(loop.tail_s),
                                     share_of_iteration(loop.tail_s, loop)));
  if (const double tools_s = loop.program.seconds_of_tools(); tools_s > 0)
    text += loop_fact(
        "", fmt::format("rollout: at most {} for tools ({})", base::format_seconds(tools_s),
                        share_of_iteration(tools_s, loop)));
  if (loop.pools.size() == 1) return text;
  for (const LoopPool& pool : loop.pools) {
    const double waits_s = std::max(0.0, loop.iteration_s - pool.busy_s);
    text += loop_fact(
        "", fmt::format("pool {}, {} GPUs: {} ({})", pool.name, pool.gpus,
                        base::format_seconds(waits_s), share_of_iteration(waits_s, loop)));
  }
  return text;
}

std::string loop_facts(const Loop& loop) {
  std::string text =
      loop_fact("Iteration",
                fmt::format("{} ({} to {}, 90 %)", base::format_seconds(loop.iteration_s),
                            base::format_seconds(loop.low_s), base::format_seconds(loop.high_s)));
  if (loop.pools.size() > 1)
    text += loop_fact("Latency", fmt::format("{} from a batch's first prompt to the next weights; "
                                             "rollouts may be {} behind",
                                             base::format_seconds(loop.latency_s),
                                             counted(loop.program.staleness, "update")));
  text += loop_fact(
      "Tokens/s", fmt::format("{} ({} per GPU), prompts and answers",
                              base::format_count(std::llround(loop.tokens_per_s())),
                              base::format_count(std::llround(loop.tokens_per_s() /
                                                              static_cast<double>(loop.gpus())))));
  text += loop_fact("GPU-hours", fmt::format("{:.3g} an iteration", loop.gpu_hours()));
  text += loop_fact(
      "Energy", loop.has_power ? base::format_si(loop.energy_j, "J") + " an iteration, at the plug"
                               : "nothing is known of these GPUs' power");
  return text + waiting(loop);
}

std::string too_full(const campaign::PlayedLoopPhase& phase) {
  const bool alone = phase.peak_bytes > phase.capacity_bytes;
  return fmt::format("does not fit into {}{}", base::format_binary_bytes(phase.capacity_bytes),
                     alone ? " even alone: divide it further"
                           : ": offload what others leave, or give it GPUs of its own");
}

std::string phases_table(const Loop& loop, const TextStyle& style) {
  std::string text = heading(style, "Phases");
  text += fmt::format("  {:<14}{:<9}{:>5}{:>7}{:>10}{:>8}{:>12}{:>12}\n", "", "pool", "GPUs",
                      "steps", "time", "share", "memory", "beside it");
  for (const campaign::PlayedLoopPhase& phase : loop.phases) {
    text += fmt::format(
        "  {:<14}{:<9}{:>5}{:>7}{:>10}{:>8}{:>12}{:>12}\n", phase.name, phase.pool, phase.job.gpus,
        phase.steps, base::format_seconds(phase.seconds), share_of_iteration(phase.seconds, loop),
        base::format_binary_bytes(phase.peak_bytes), base::format_binary_bytes(phase.beside_bytes));
    if (!phase.fits()) text += "    " + base::wrap(too_full(phase), kWidth - 4, 4) + '\n';
  }
  return text +
         "  memory: the phase's own peak; beside it: weights, gradients and optimizer states\n"
         "  that other phases leave on its GPUs\n";
}

std::string switches_table(const Loop& loop, const TextStyle& style) {
  if (loop.switches.empty()) return "";
  std::string text = '\n' + heading(style, "Between phases");
  text += fmt::format("  {:<44}{:>11}{:>11}{:>8}\n", "", "a GPU", "time", "share");
  for (const campaign::LoopSwitch& one : loop.switches)
    text += fmt::format("  {:<44}{:>11}{:>11}{:>8}\n", one.what, base::format_si(one.bytes, "B"),
                        base::format_seconds(one.seconds), share_of_iteration(one.seconds, loop));
  return text;
}

}  // namespace

std::string loop_text(const Loop& loop, const TextStyle& style) {
  return what_loops(loop) + '\n' + loop_facts(loop) + '\n' + phases_table(loop, style) +
         switches_table(loop, style);
}

}  // namespace ergometer::report
