#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "optimize/balance.h"
#include "report/decision/memory_of.h"
#include "report/decision/optimize_output.h"
#include "report/format.h"
#include "report/summary/fit_text.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

using optimize::Objective;
using optimize::Optimized;
using optimize::Outcome;
using optimize::Row;

constexpr size_t kProposalsShown = 16, kCandidateWidth = 38;

std::string_view less_of(Objective objective) {
  switch (objective) {
    case Objective::kTime: return "time a step";
    case Objective::kEnergy: return "energy a step";
    case Objective::kPeakPower: return "peak power";
    case Objective::kTemperature: return "rise of the hottest GPU above the inlet";
  }
  return "";
}

std::string in_joules(double joules) { return base::format_si(joules, "J"); }
std::string power(double watts) { return base::format_si(watts, "W"); }
std::string celsius(double degrees) { return fmt::format("{:.1f} C", degrees); }

std::string interval_text(const optimize::Gain& gain) {
  return fmt::format("90 %: {:.1f} to {:.1f} %", gain.low_pct, gain.high_pct);
}

std::string line(std::string_view name, const std::string& before, const std::string& after,
                 const std::string& change) {
  return fmt::format("  {:<14}{:>12}{:>12}", name, before, after) +
         (change.empty() ? "\n" : fmt::format("{:>12}\n", change));
}

std::string change_pct(double before, double after) { return format_change(after / before - 1); }

bool surely_fits(const run::Memory& memory) {
  return run::fit_state(memory.fit_probability) == run::FitState::kFits;
}

/// Where the job or what was found may not fit, before what is gained: what does not run gains
/// nothing.
std::string fit_first(const Optimized& result, const TextStyle& style) {
  const run::Memory before = memory_of(result.unchanged), after = memory_of(result.chosen);
  if (surely_fits(before) && surely_fits(after)) return {};
  std::string text = unfit_text(before, style);
  if (text.empty()) text = "Memory\n  " + fit_line(before, style) + '\n';
  if (!result.keeps) text += "With what changes\n  " + fit_line(after, style) + '\n';
  return text + '\n';
}

std::string difference(const Optimized& result) {
  const Outcome &a = result.unchanged_mean, &b = result.chosen_mean;
  if (result.keeps)
    return fmt::format("  step {}, {} a step, peak {}, hottest GPU {}\n",
                       base::format_seconds(a.step_s), in_joules(a.energy_j), power(a.peak_w),
                       celsius(a.max_c));
  return line("", "unchanged", "changed", "") +
         line("step", base::format_seconds(a.step_s), base::format_seconds(b.step_s),
              change_pct(a.step_s, b.step_s)) +
         line("energy", in_joules(a.energy_j), in_joules(b.energy_j),
              change_pct(a.energy_j, b.energy_j)) +
         line("peak power", power(a.peak_w), power(b.peak_w), change_pct(a.peak_w, b.peak_w)) +
         line("hottest GPU", celsius(a.max_c), celsius(b.max_c),
              fmt::format("{:+.1f} K", b.max_c - a.max_c)) +
         line("memory", base::format_binary_bytes(a.memory_bytes),
              base::format_binary_bytes(b.memory_bytes),
              change_pct(a.memory_bytes, b.memory_bytes));
}

std::string setting_text(const optimize::GpuSetting& gpu) {
  std::string text;
  if (gpu.cap_w > 0) text += fmt::format(" {:.0f} W", gpu.cap_w);
  if (gpu.lock_mhz > 0) text += fmt::format(" {:.0f} MHz", gpu.lock_mhz);
  return text;
}

/// Host by host which GPU gets what.
std::string by_host(const std::vector<optimize::GpuSetting>& gpus,
                    const std::vector<std::string>& hosts) {
  std::map<int64_t, std::map<std::string, std::vector<int64_t>>> told;
  for (const optimize::GpuSetting& gpu : gpus) told[gpu.node][setting_text(gpu)].push_back(gpu.gpu);
  std::string text;
  for (const auto& [node, settings] : told) {
    std::vector<std::string> parts;
    for (const auto& [setting, indexes] : settings)
      parts.push_back(fmt::format("gpu {}{}", base::ranges_text(indexes), setting));
    text += "    " +
            wrap(fmt::format("{}: {}", hosts[static_cast<size_t>(node)], fmt::join(parts, "; ")),
                 kWidth - 4, 6) +
            '\n';
  }
  return text;
}

std::string changes(const Optimized& result, const std::vector<std::string>& hosts,
                    const TextStyle& style) {
  const optimize::Settings settings = optimize::settings_of(result);
  std::string text = heading(style, "What changes");
  for (const std::string& one : settings.lines) text += "  " + wrap(one, kWidth - 2, 4) + '\n';
  if (!hosts.empty()) text += by_host(settings.gpus, hosts);
  for (const std::string& argument : settings.megatron)
    text += "  " + wrap("Megatron-LM: " + argument, kWidth - 2, 4) + '\n';
  return text;
}

std::string robustness(const Optimized& result, const TextStyle& style) {
  const optimize::Robustness& robust = result.robustness;
  std::string text = heading(style, "If the hot GPUs are others");
  text += fmt::format("  it gains in {} of {} other draws of silicon, at least {:.1f} %\n",
                      robust.better, robust.draws, robust.worst_pct);
  if (robust.faults_moved_pct)
    text += fmt::format("  with the faults of these GPUs on others: {}\n",
                        format_change(*robust.faults_moved_pct / 100));
  return text;
}

/// The rows worth a look: what was taken, what others have tried, the best of the rest.
std::vector<const Row*> rows_to_show(const Optimized& result) {
  std::vector<const Row*> rest, shown;
  for (const Row& row : result.rows)
    if (!row.taken && !row.known && row.allowed) rest.push_back(&row);
  std::ranges::stable_sort(rest,
                           [](const Row* a, const Row* b) { return a->gain_pct > b->gain_pct; });
  const auto fixed =
      std::ranges::count_if(result.rows, [](const Row& row) { return row.taken || row.known; });
  const size_t room = kProposalsShown - std::min(kProposalsShown, static_cast<size_t>(fixed));
  rest.resize(std::min(rest.size(), room));
  for (const Row& row : result.rows)
    if (row.taken || row.known || base::contains(rest, &row)) shown.push_back(&row);
  return shown;
}

/// What else the job could be changed to, as far as plays tell.
std::string as_good(const Optimized& result, double noise_floor_pct) {
  if (result.as_good.empty()) return {};
  return "  " +
         wrap(fmt::format("within {:g} % of it, as good as plays can tell: {}", noise_floor_pct,
                          fmt::join(result.as_good, "; ")),
              kWidth - 2, 4) +
         '\n';
}

/// GPU by GPU where they are few; of many, those that waited longest.
std::string balanced_gpus(const Optimized& result, const std::vector<std::string>& hosts,
                          const TextStyle& style) {
  std::vector<optimize::BalancedGpu> gpus = result.balanced_gpus;
  const bool few = gpus.size() <= kProposalsShown;
  if (!few) {
    std::ranges::stable_sort(gpus, std::greater<>(), &optimize::BalancedGpu::lead_before_s);
    gpus.resize(kProposalsShown);
  }
  std::string text = heading(style, few ? "GPU by GPU" : "The GPUs that wait longest");
  text += fmt::format("  {:<14}{:>6}{:>12}{:>12}{:>12}{:>12}\n", "", "rank", "lead", "balanced",
                      "cap", "balanced");
  for (const optimize::BalancedGpu& gpu : gpus)
    text += fmt::format(
        "  {:<14}{:>6}{:>12}{:>12}{:>12}{:>12}\n",
        hosts.empty() ? fmt::format("node{}.gpu{}", gpu.node, gpu.gpu)
                      : fmt::format("{} gpu {}", hosts[static_cast<size_t>(gpu.node)], gpu.gpu),
        gpu.rank, base::format_seconds(gpu.lead_before_s), base::format_seconds(gpu.lead_s),
        power(gpu.cap_before_w), power(gpu.cap_w));
  text +=
      "  lead: how long it waits in a step for the slowest GPU that does the same\n"
      "  work, with the job's own silicon (--seed)\n";
  if (!result.keeps)
    text += "  --out FOLDER writes set_gpus.sh (nvidia-smi -pl by GPU) and restore_gpus.sh\n";
  return text;
}

/// What the list says of gains that two runs of the same job may differ by.
std::string small_gains(const Optimized& result, double noise_floor_pct) {
  const std::vector<const Row*> shown = rows_to_show(result);
  const auto is_small = [&](const Row* row) {
    return row != &result.rows.front() && std::abs(row->gain_pct) < noise_floor_pct;
  };
  if (std::ranges::none_of(shown, is_small)) return {};
  return fmt::format("  two runs of the same job differ by {:g} % (noise floor): less is no gain\n",
                     noise_floor_pct);
}

/// A long name has a line of its own: what tells candidates apart stands at names' ends.
std::string candidate_row(const Row& row) {
  std::string name = row.name, text = row.taken ? "* " : "  ";
  if (name.size() > kCandidateWidth)
    text += base::cut_to(std::exchange(name, ""), kWidth - 2) + "\n  ";
  text += fmt::format("{:<{}}{:>10}{:>10}{:>9}{:>8}\n", name, kCandidateWidth,
                      base::format_seconds(row.step_s), in_joules(row.energy_j), celsius(row.max_c),
                      format_change(row.gain_pct / 100));
  if (!row.allowed) text += fmt::format("    not allowed: {}\n", row.refusal);
  return text;
}

std::string on_the_way(const Optimized& result, double noise_floor_pct, const TextStyle& style) {
  std::string text = heading(style, fmt::format("On the way: {} of {} candidates",
                                                rows_to_show(result).size(), result.rows.size()));
  text += fmt::format("  {:<{}}{:>10}{:>10}{:>9}{:>8}\n", "", kCandidateWidth, "step", "energy",
                      "hottest", "gain");
  for (const Row* row : rows_to_show(result)) text += candidate_row(*row);
  if (result.balanced_to)
    return text + "  * stayed at; with the job's own silicon. Every draw is balanced anew\n";
  return text +
         "  * taken by the search; means over three draws of silicon and the job's own.\n"
         "  How much longer a step takes is against the unchanged job at the same\n"
         "  conditions, in the mean and with the job's own silicon\n" +
         small_gains(result, noise_floor_pct);
}

std::string frontier(const Optimized& result, const TextStyle& style) {
  if (!result.no_frontier.empty())
    return heading(style, "Time and energy of the pipeline") +
           fmt::format("  no frontier: {}\n", result.no_frontier);
  if (result.frontier.empty()) return "";
  std::string text = heading(style, "Time and energy of the pipeline");
  text += fmt::format("  {:>10}{:>10}{:>14}{:>10}  {}\n", "passes", "GPUs", "played: step", "GPUs",
                      "clocks of the stages, MHz");
  for (const optimize::FrontierRow& row : result.frontier) {
    std::vector<std::string> clocks;
    for (const double hz : row.clocks.lock_hz) clocks.push_back(fmt::format("{:.0f}", hz / 1e6));
    text += fmt::format(
        "  {:>10}{:>10}{:>14}{:>10}  {}\n", base::format_seconds(row.clocks.point.time_s),
        in_joules(row.clocks.point.energy_j), base::format_seconds(row.played_step_s),
        in_joules(row.played_gpu_energy_j), fmt::join(clocks, " "));
  }
  return text +
         "  The first two columns: every pass at a clock of its own, the least energy\n"
         "  for that time. The next two: one locked clock a stage, with heat and silicon.\n";
}

std::string_view kind_text(optimize::WorkKind kind) {
  switch (kind) {
    case optimize::WorkKind::kCompute: return "kernels that compute";
    case optimize::WorkKind::kMemory: return "kernels that memory bounds";
    case optimize::WorkKind::kCommunication: return "exposed communication";
    case optimize::WorkKind::kWaiting: return "waiting";
  }
  return "";
}

std::string in_megahertz(double hz) { return fmt::format("{:.0f}", hz / optimize::kMegahertz); }

std::string work_kinds(const optimize::OperatorClocks& clocks, const std::string& change) {
  std::string text = fmt::format("  {:<26}{:>10}{:>8}{:>9}{:>9}{:>7}{:>9}\n", "", "time", "runs",
                                 "longest", "reached", "free", change);
  for (size_t kind = 0; kind < optimize::kWorkKinds; ++kind) {
    const optimize::WorkKindRow& row = clocks.kinds[kind];
    if (row.time_s <= 0) continue;
    text += fmt::format(
        "  {:<26}{:>10}{:>8.0f}{:>9}{:>9}{:>7}{:>9}\n",
        kind_text(static_cast<optimize::WorkKind>(kind)), base::format_seconds(row.time_s),
        row.runs, base::format_seconds(row.longest_s), format_share(row.reached),
        in_megahertz(row.free_hz), row.reached > 0 ? in_megahertz(row.own_hz) : "-");
  }
  if (clocks.change_s > 0)
    text += fmt::format("  {:<62}{:>7}{:>9}\n", "what no change reaches", "-",
                        in_megahertz(clocks.other_hz));
  return text;
}

std::string clocked_steps(const optimize::OperatorClocks& clocks, const std::string& change) {
  std::string text = fmt::format("  {:<46}{:>10}{:>10}\n", "", "step", "GPUs");
  const auto add = [&](const std::string& name, const optimize::ClockedStep& step,
                       const std::string& change_of_energy) {
    text += fmt::format("  {:<46}{:>10}{:>10}{:>9}", name, base::format_seconds(step.step_s),
                        in_joules(step.gpu_energy_j), change_of_energy);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  const auto against = [&](const optimize::ClockedStep& step) {
    return change_pct(clocks.governed.gpu_energy_j, step.gpu_energy_j);
  };
  add("as they are", clocks.governed, "");
  add(fmt::format("one locked clock, {} MHz", in_megahertz(clocks.lock_hz)), clocks.locked,
      against(clocks.locked));
  add("by operator, changes take no time", clocks.free, against(clocks.free));
  add(fmt::format("by operator, changes take {}", change), clocks.changed, against(clocks.changed));
  return text;
}

/// What clocks by operator would bring beyond one locked clock, and whether that pays.
std::string operator_clocks(const optimize::OperatorClocks& clocks, double noise_floor_pct,
                            const TextStyle& style) {
  const std::string change = base::format_seconds(clocks.change_s);
  const double gain_pct = 100 * clocks.gain();
  const double free_pct = 100 * (1 - clocks.free.gpu_energy_j / clocks.locked.gpu_energy_j);
  const std::string verdict = fmt::format(
      "Clocks by operator {}: they take {:.1f} % less than one locked clock where a change takes "
      "{}, and {:.1f} % less if it took no time. MHz; reached: the share of a kind's time that is "
      "left of its runs once a change is there.",
      gain_pct > noise_floor_pct ? "pay" : "do not pay", gain_pct, change, free_pct);
  return heading(style, "Clocks by operator") + work_kinds(clocks, change) +
         clocked_steps(clocks, change) + paragraph(verdict);
}

}  // namespace

std::string plan_text(const Optimized& result, const optimize::Options& options,
                      const std::vector<std::string>& hosts, const TextStyle& style) {
  const spec::Job& job = result.unchanged;
  const std::string aim =
      result.balanced_to ? fmt::format("balanced to the {}", optimize::to_word(*result.balanced_to))
                         : fmt::format("objective: {}", optimize::to_word(options.objective));
  std::string text = fmt::format("{} on {} x {} ({}), {}\n\n", job.model.name, job.gpus,
                                 job.cluster.node.gpu.name, job.cluster.name, aim);
  text += fit_first(result, style);
  text += heading(style, wrap(verdict_text(result, options), kWidth, 2)) + difference(result);
  text += fmt::format("  means over {} draws of silicon; noise floor {:g} %\n", options.judges,
                      options.noise_floor_pct);
  text += as_good(result, options.noise_floor_pct);
  if (!result.keeps)
    text += '\n' + changes(result, hosts, style) + '\n' + robustness(result, style);
  if (result.balanced_to) text += '\n' + balanced_gpus(result, hosts, style);
  return text;
}

std::string verdict_text(const Optimized& result, const optimize::Options& options) {
  const std::string_view what = less_of(options.objective);
  if (!result.keeps)
    return fmt::format("{:.1f} % less {} ({})", result.gain.value_pct, what,
                       interval_text(result.gain));
  if (result.best_name.empty() || result.gain.value_pct <= 0)
    return fmt::format("Keep what you have: no candidate needs less {}", what);
  return fmt::format(
      "Keep what you have: the best candidate needs {:.1f} % less {}, which is not certain ({})",
      result.gain.value_pct, what, interval_text(result.gain));
}

std::string optimize_text(const Optimized& result, const optimize::Options& options,
                          const std::vector<std::string>& hosts, const TextStyle& style) {
  std::string text = plan_text(result, options, hosts, style);
  text += '\n' + on_the_way(result, options.noise_floor_pct, style);
  if (const std::string clocks = frontier(result, style); !clocks.empty()) text += '\n' + clocks;
  if (result.operator_clocks)
    text += '\n' + operator_clocks(*result.operator_clocks, options.noise_floor_pct, style);
  return text;
}

}  // namespace ergometer::report
