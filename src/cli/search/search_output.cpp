#include "cli/search/search_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "cli/search/search_words.h"
#include "launch/launchable.h"
#include "launch/megatron.h"
#include "launch/nemo.h"
#include "launch/torchtitan.h"
#include "report/format.h"
#include "report/summary/job_json.h"
#include "report/summary/job_view.h"
#include "search/simplest.h"
#include "spec/job/job_words.h"

namespace ergometer::cli {
namespace {

using base::hanging;
using report::TextStyle;
using search::Played;
using search::SearchResult;

Named named_in(const SearchAnswer& answer) {
  const spec::Job& first = answer.space.bases().front().megatron;
  Named named;
  named.nodes = answer.space.has_unlike_nodes();
  const auto compare = [&](const spec::Job& job) {
    named.gpus |= job.gpus != first.gpus;
    named.precision |= job.training.precision != first.training.precision;
    named.clock |= job.conditions.lock_clock_hz != first.conditions.lock_clock_hz;
  };
  for (const search::Space::Base& base : answer.space.bases()) compare(base.megatron);
  if (answer.own && answer.own->played) compare(answer.own->played->job);
  return named;
}

void append(const std::vector<std::string>& cells, Row& row) {
  row.cells.insert(row.cells.end(), cells.begin(), cells.end());
}

std::string best_table(const SearchAnswer& answer, const TextStyle& style) {
  const SearchResult& result = answer.result;
  const Named named = named_in(answer);
  const bool power =
      std::ranges::any_of(result.best, [](const Played& played) { return played.run.has_power; });
  std::vector<Row> rows = {{{"rank", "layout", "recompute", "sharding", "overlap", "step",
                             "90 % interval", "MFU", "memory", "fits"}}};
  append(named_titles(named), rows[0]);
  if (power) append({"GPU power", "energy"}, rows[0]);
  for (size_t i = 0; i < result.best.size(); ++i) {
    const Played& it = result.best[i];
    const run::Performance& p = it.run.performance;
    Row row{{fmt::format("{}", i + 1), layout_word(it.job), recompute_word(it.job),
             sharding_word(it.job), overlap_word(it.job), base::format_seconds(p.step_time_s),
             fmt::format("{} to {}", base::format_seconds(p.step_time_s_low),
                         base::format_seconds(p.step_time_s_high)),
             fmt::format("{:.1f} %", 100 * p.mfu),
             base::format_binary_bytes(it.run.memory.peak_bytes),
             report::format_probability(it.run.memory.fit_probability)}};
    append(named_cells(named, it.job), row);
    if (power && it.run.has_power)
      append({fmt::format("{:.0f} W", it.run.power.mean_w_per_gpu),
              base::format_si(it.run.power.energy_j_per_step, "J")},
             row);
    rows.push_back(std::move(row));
  }
  return table(rows, 4, style);
}

/// What is minimised where that is not the step time.
std::string_view objective_word(search::Objective objective) {
  using enum search::Objective;
  switch (objective) {
    case kTime: return "";
    case kEnergy: return " energy";
    case kEnergyDelay: return " energy x time";
    case kCost: return " GPU time";
    case kTokensPerJoule: return " joules a token";
    case kMemory: return " memory";
  }
  return "";
}

/// "-3.1 % energy": of `other` against `best`.
std::string change_word(const SearchAnswer& answer, const Played& best, const Played& other) {
  const search::Objective objective = answer.options.objective;
  const double change =
      search::played_value(objective, other) / search::played_value(objective, best) - 1;
  return report::format_change(change) + std::string(objective_word(objective));
}

/// "+3.1 %: 120 ms more in idle (bubble and waiting), 30 ms less in all-gather".
std::string loss_line(const SearchAnswer& answer, const Played& other) {
  const Played& best = answer.result.best.front();
  const auto a = parts_of(best.run.performance), b = parts_of(other.run.performance);
  std::vector<std::pair<double, std::string_view>> changes;
  for (size_t i = 0; i < a.size(); ++i) changes.emplace_back(b[i].second - a[i].second, a[i].first);
  std::ranges::sort(
      changes, [](const auto& x, const auto& y) { return std::abs(x.first) > std::abs(y.first); });
  const double step_s = best.run.performance.step_time_s;
  std::string text = change_word(answer, best, other);
  if (answer.options.objective != search::Objective::kTime)
    text += fmt::format(", {} time",
                        report::format_change(other.run.performance.step_time_s / step_s - 1));
  constexpr double kWorthSaying = 1e-3;
  const char* separator = ": ";
  for (size_t i = 0; i < 3; ++i) {
    if (std::abs(changes[i].first) < kWorthSaying * step_s) break;
    text += fmt::format("{}{} {} {}", separator, base::format_seconds(std::abs(changes[i].first)),
                        changes[i].first > 0 ? "more" : "less", changes[i].second);
    separator = ", ";
  }
  return text;
}

/// Alternatives to the winner's settings, knob by knob, nearest in the objective first.
std::string knob_lines(const SearchAnswer& answer, size_t width) {
  std::vector<std::string> names;
  for (const search::Turned& turned : answer.knobs.turned)
    if (!base::contains(names, turned.knob)) names.push_back(turned.knob);
  const search::Found& first = answer.result.best.front().found;
  const auto value = [&](const search::Estimate& estimate) {
    search::Found turned = first;
    turned.estimate = estimate;
    return search::value_of(answer.options.objective, turned);
  };
  const double base = value(answer.knobs.winner);
  struct Line {
    double loss = 0;
    std::string name, text;
  };
  std::vector<Line> lines;
  for (const std::string& name : names) {
    std::vector<const search::Turned*> all;
    for (const search::Turned& turned : answer.knobs.turned)
      if (turned.knob == name) all.push_back(&turned);
    std::ranges::sort(all, [&](const auto* a, const auto* b) {
      return a->fits != b->fits ? a->fits : value(a->estimate) < value(b->estimate);
    });
    Line line{INFINITY, name, ""};
    constexpr size_t kMost = 4;
    for (size_t i = 0; i < std::min(kMost, all.size()); ++i) {
      const double loss = value(all[i]->estimate) / base - 1;
      if (all[i]->fits) line.loss = std::min(line.loss, loss);
      const search::Estimate& e = all[i]->estimate;
      const search::Limits& limits = answer.options.limits;
      std::string_view beyond;
      if (all[i]->fits && !limits.allow(e.step_s, e.gpu_w, e.max_gpu_c)) beyond = " over a limit";
      // The search, which plays what is estimated to be better, did not take it.
      else if (all[i]->fits && limits.any() && loss < -search::kMargin)
        beyond = " probably over a limit";
      line.text += fmt::format("{}{} {}{}", i > 0 ? ", " : "", all[i]->value,
                               all[i]->fits ? report::format_change(loss) : "does not fit", beyond);
    }
    lines.push_back(std::move(line));
  }
  std::ranges::stable_sort(lines, std::ranges::greater{}, &Line::loss);
  std::string text;
  for (const Line& line : lines)
    text += hanging(fmt::format("  {:<34}", line.name), line.text, width);
  return text;
}

/// "the least of any layout is 92.1 GiB of 79.1 GiB: tp 8 ...".
std::string nearest_text(const SearchAnswer& answer) {
  if (!answer.result.nearest) return "no layout has options to try";
  const search::NearestMiss& nearest = *answer.result.nearest;
  return fmt::format("the least of any layout is {} of {}: {}",
                     base::format_binary_bytes(nearest.needed),
                     base::format_binary_bytes(nearest.capacity),
                     whole_word(answer.space.job(nearest.candidate), named_in(answer)));
}

/// Which limits bind, and what each costs.
std::string limit_lines(const SearchAnswer& answer, size_t width) {
  const SearchResult& result = answer.result;
  std::string text;
  for (const search::LimitAnswer& limit : result.limits) {
    const auto& [option, unit] = kLimitWords[limit.limit];
    const std::string head =
        fmt::format("  --{} {:g}  ", option, answer.options.limits.most[limit.limit]);
    std::string told;
    if (limit.without) {
      const Played& better = *limit.without;
      const std::string change = result.best.empty()
                                     ? std::string()
                                     : ", " + change_word(answer, result.best.front(), better);
      told = fmt::format("binds: without it {} takes {}{}, at {:.4g} {}",
                         whole_word(better.job, named_in(answer)),
                         base::format_seconds(better.run.performance.step_time_s), change,
                         search::Limits::of(better.run)[limit.limit], unit);
      if (limit.capped)
        told += fmt::format("; with --power-cap {:g} instead it takes {}, at {:.4g} {}",
                            limit.capped->job.conditions.power_cap_w,
                            base::format_seconds(limit.capped->run.performance.step_time_s),
                            search::Limits::of(limit.capped->run)[limit.limit], unit);
    } else if (result.best.empty()) {
      told = "not the only one that rules everything out";
    } else {
      told = fmt::format("does not bind by itself: the first has {:.4g} {}",
                         search::Limits::of(result.best.front().run)[limit.limit], unit);
    }
    text += hanging(head, told, width);
  }
  return text;
}

std::string what_if_lines(const SearchAnswer& answer, size_t width) {
  std::string text;
  for (const search::WhatIf& it : answer.what_if) {
    std::string told = it.impossible.empty() ? "nothing better" : it.impossible;
    if (it.impossible.empty() && it.better)
      told = fmt::format("{}, {}: {}", base::format_seconds(it.better->run.performance.step_time_s),
                         change_word(answer, answer.result.best.front(), *it.better),
                         whole_word(it.better->job, named_in(answer)));
    text += hanging(fmt::format("  {:<30}", it.more), told, width);
  }
  return text;
}

std::string own_text(const SearchAnswer& answer, size_t width) {
  if (!answer.own) return {};
  if (!answer.own->played)
    return fmt::format("\nThe job file's own layout cannot be played: {}\n", answer.own->refused);
  const Played& own = *answer.own->played;
  const std::string told = fmt::format("{}: {}{}", whole_word(own.job, named_in(answer)),
                                       base::format_seconds(own.run.performance.step_time_s),
                                       own.run.memory.fits ? "" : ", but does not fit");
  return "\nThe job file's own layout\n" + hanging("  ", told, width) +
         hanging("  ", loss_line(answer, own) + " against the first", width);
}

std::string front_table(const SearchAnswer& answer, const TextStyle& style) {
  std::vector<Row> rows = {{{"", "layout", "recompute", "sharding", "overlap", "step", "energy",
                             "GPU power", "memory"}}};
  Named named = named_in(answer);
  named.gpus = true;
  append(named_titles(named), rows[0]);
  constexpr size_t kMost = 20;
  const size_t all = answer.result.front.size();
  for (size_t i = 0; i < std::min(kMost, all); ++i) {
    const search::Found& found = answer.result.front[i];
    const spec::Job job = answer.space.job(found.candidate);
    Row row{{fmt::format("{}", i + 1), layout_word(job), recompute_word(job), sharding_word(job),
             overlap_word(job), base::format_seconds(found.estimate.step_s),
             base::format_si(found.estimate.energy_j, "J"),
             fmt::format("{:.0f} W", found.estimate.gpu_w),
             base::format_binary_bytes(found.estimate.memory_bytes)}};
    append(named_cells(named, job), row);
    rows.push_back(std::move(row));
  }
  const std::string more =
      all > kMost ? fmt::format("and {} more, all in --json\n", all - kMost) : "";
  return table(rows, 4, style) + more;
}

/// Behind a "#" in every line, so that what stands beside it can be copied whole.
std::string comment(const std::string& text, size_t width) {
  std::string out;
  for (const std::string& line : base::wrapped_lines(text, width - 2)) out += "# " + line + '\n';
  return out;
}

/// What of these settings `launch` would not write, and what to do about it.
std::string refusal_line(const spec::Job& job, launch::Framework framework, size_t width) {
  const auto checked = launch::check_layout(framework, job);
  if (checked) return {};
  return comment(fmt::format("{}: --launchable {} searches what it runs", checked.error().message,
                             launch::to_word(framework)),
                 width);
}

/// A locked clock is none of a framework's settings.
std::string clock_line(const spec::Job& job, size_t width) {
  const double mhz = job.conditions.lock_clock_hz / 1e6;
  if (mhz <= 0) return {};
  return comment(job.cluster.node.gpu.vendor == "AMD"
                     ? fmt::format("at a locked clock: rocm-smi --setperfdeterminism {:.0f}", mhz)
                     : fmt::format("at a locked clock: nvidia-smi -lgc {0:.0f},{0:.0f}", mhz),
                 width);
}

std::string framework_text(const spec::Job& job, launch::Framework framework, size_t width) {
  std::vector<std::string> notes;
  if (framework == launch::Framework::kMegatron)
    return "\nMegatron-LM's arguments for the first\n" +
           launch::megatron_text(launch::megatron_layout(job)) +
           refusal_line(job, framework, width);
  const bool nemo = framework == launch::Framework::kNemo;
  const auto text = nemo ? launch::nemo_yaml(job, kTrialSteps, notes)
                         : launch::torchtitan_toml(job, kTrialSteps, notes);
  std::string answer =
      fmt::format("\n{} for the first\n{}", nemo ? "NeMo's YAML" : "torchtitan's TOML",
                  text ? *text : std::string());
  if (text)
    for (const std::string& note : notes) answer += comment(note, width);
  if (text && !notes.empty()) return answer;
  const std::string refusal = refusal_line(job, framework, width);
  return answer + (text || !refusal.empty() ? refusal : text.error().message + '\n');
}

std::string settings_text(const spec::Job& job, launch::Framework framework, size_t width) {
  return framework_text(job, framework, width) + clock_line(job, width);
}

/// Errors are one line a reason, for whatever reads them.
constexpr size_t kErrorWidth = 1000;

/// "  45  12 do not divide ...": what rules out how many ways to divide the GPUs.
std::string ruled_out_lines(const search::WhyNone& none, size_t width) {
  std::string text;
  for (const search::RuledOut& reason : none.ruled_out)
    text +=
        hanging(fmt::format("{:>7}  ", base::format_count(reason.divisions)), reason.why, width);
  return text;
}

std::string none_lines(const SearchAnswer& answer, size_t width) {
  if (!answer.none) return {};
  const search::WhyNone& none = *answer.none;
  std::string text =
      fmt::format("\nWays to divide the GPUs (tp, cp, pp{}): {}, each counted once\n",
                  answer.space.bases().front().megatron.model.experts.count > 0 ? ", ep, etp" : "",
                  base::format_count(none.divisions));
  if (none.legal > 0)
    text += hanging(fmt::format("{:>7}  ", base::format_count(none.legal)),
                    "memory: " + nearest_text(answer), width);
  return text + ruled_out_lines(none, width);
}

/// Why the first is not the best one by a little, and whether it has memory to spare.
std::string simplest_text(const SearchAnswer& answer, size_t width) {
  constexpr std::string_view kUnder = "           ";
  const SearchResult& result = answer.result;
  const Played& first = result.best.front();
  const bool risk = search::is_at_risk(first);
  std::string text;
  if (result.tied > 1)
    text += hanging(kUnder,
                    fmt::format("simplest of {} that the prediction cannot tell apart: fewest "
                                "switches on{}",
                                base::format_count(result.tied), risk ? "" : ", memory to spare"),
                    width);
  if (risk)
    return text + hanging(kUnder,
                          fmt::format("at risk: it fits with {}, and none was found that surely "
                                      "fits and takes at most {:.0f} % more{}",
                                      report::format_probability(first.run.memory.fit_probability),
                                      100 * search::kWorthSurety,
                                      objective_word(answer.options.objective)),
                          width);
  const auto faster = std::ranges::find_if(result.best, [&](const Played& it) {
    return search::is_at_risk(it) && search::played_value(answer.options.objective, it) <
                                         search::played_value(answer.options.objective, first);
  });
  if (faster == result.best.end()) return text;
  return text +
         hanging(kUnder,
                 fmt::format("surely fits; number {} ({}) fits with {} alone",
                             faster - result.best.begin() + 1, change_word(answer, first, *faster),
                             report::format_probability(faster->run.memory.fit_probability)),
                 width);
}

/// Rows that stand for others.
std::string alike_text(const SearchAnswer& answer) {
  std::string text;
  for (size_t i = 0; i < answer.result.best.size(); ++i)
    if (const int64_t alike = answer.result.best[i].alike; alike > 0)
      text += fmt::format("{}{} for {} more", text.empty() ? "" : ", ", i + 1, alike);
  return text.empty() ? text : "Equal in time and memory, shown once  " + text + '\n';
}

/// "1, 3: recipe nemo (...)": whose defaults hold; of which ranks, where not of all.
std::string recipe_lines(const SearchAnswer& answer, size_t width) {
  std::vector<std::pair<std::string, std::string>> ranks_of;
  for (size_t i = 0; i < answer.result.best.size(); ++i) {
    const std::string words =
        report::recipe_words(report::view_job(report::job_json(answer.result.best[i].job)));
    auto known = std::ranges::find(ranks_of, words, &std::pair<std::string, std::string>::first);
    if (known == ranks_of.end()) known = ranks_of.insert(ranks_of.end(), {words, ""});
    known->second += fmt::format("{}{}", known->second.empty() ? "" : ", ", i + 1);
  }
  std::string text;
  for (const auto& [words, ranks] : ranks_of)
    text += hanging("", ranks_of.size() == 1 ? words : fmt::format("{}: {}", ranks, words), width);
  return text;
}

/// What all rows have in common, in the words of a summary.
std::string common_lines(const SearchAnswer& answer, size_t width) {
  const spec::Job& job = answer.result.best.front().job;
  std::string text = fmt::format("global batch {}, sequence {}", job.training.global_batch,
                                 job.training.seq_length);
  if (!named_in(answer).precision)
    text += fmt::format(", {}", spec::to_word(job.training.precision));
  return text + '\n' + recipe_lines(answer, width);
}

std::string count_line(const SearchAnswer& answer) {
  const SearchResult& r = answer.result;
  const double most = answer.space.asked_options().max_memory_bytes;
  return fmt::format("{} layouts, {} candidates, {} fit{}{}\n", base::format_count(r.layouts),
                     base::format_count(r.candidates), base::format_count(r.feasible),
                     most > 0 ? " into " + base::format_binary_bytes(most) : "",
                     r.complete ? "" : "; interrupted: the best so far");
}

/// How a search on unlike nodes came to what it shows.
std::string unlike_text(const SearchAnswer& answer, size_t width) {
  if (!answer.space.has_unlike_nodes()) return {};
  return hanging("Nodes  ",
                 letters_word(answer.space.bases().front().megatron.cluster) +
                     "; every candidate was played by the engine: all layouts and placements, "
                     "of the best of them one setting after the other",
                 width);
}

}  // namespace

std::string no_layout_text(const search::WhyNone& none) {
  std::string text =
      fmt::format("search: no layout is legal; ways to divide the GPUs: {}\n{}",
                  base::format_count(none.divisions), ruled_out_lines(none, kErrorWidth));
  text.pop_back();
  return text;
}

std::string search_text(const SearchAnswer& answer, const TextStyle& style) {
  const size_t width = style.width;
  const SearchResult& result = answer.result;
  std::string text = count_line(answer) + unlike_text(answer, width);
  if (result.best.empty())
    return text +
           (!result.complete         ? "Nothing was found before the interruption.\n"
            : result.candidates == 0 ? "No candidate is legal: what is fixed rules out all.\n"
            : result.feasible == 0   ? "Nothing fits.\n"
                                     : "Nothing that fits is within the limits.\n") +
           limit_lines(answer, width) + none_lines(answer, width);
  text += '\n' + common_lines(answer, width) + '\n' + best_table(answer, style);
  text += '\n' + hanging("The first  ", result.best.front().run.limiter, width);
  text += simplest_text(answer, width) + alike_text(answer) + own_text(answer, width);
  const auto title = [&](std::string_view words) { return '\n' + report::heading(style, words); };
  if (!result.limits.empty()) text += title("Limits") + limit_lines(answer, width);
  if (result.best.size() > 1) text += title("What the others lose");
  for (size_t i = 1; i < result.best.size(); ++i)
    text += hanging(fmt::format("{:>4}  ", i + 1), loss_line(answer, result.best[i]), width);
  if (!answer.knobs.turned.empty())
    text += title("One setting of the first changed (estimates)") + knob_lines(answer, width);
  if (!answer.what_if.empty())
    text += title("What more would bring") + what_if_lines(answer, width);
  if (!result.front.empty())
    text +=
        title("No candidate is better in all objectives (estimates)") + front_table(answer, style);
  return text + settings_text(result.best.front().job, answer.framework, width);
}

}  // namespace ergometer::cli
