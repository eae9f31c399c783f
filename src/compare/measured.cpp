#include "compare/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/collection.h"
#include "base/text.h"
#include "compare/verdict.h"

namespace ergometer::compare {
namespace {

constexpr const char* kStep = "step_time_s";
constexpr const char* kEnergy = "gpu_energy_j_per_step";
/// What sums of thousands of kernels leave is no cause; the residual has it.
constexpr double kRounding = 1e-12;

/// Causes of the two sides, filled one behind the other.
class Parts {
 public:
  explicit Parts(Comparison& result)
      : result_(result),
        step_s_(std::max(result.quantities.front().a, result.quantities.front().b)) {}

  /// `seconds` of the step's difference, all of it in one part of the breakdown.
  void add(const std::string& id, const std::string& title, const std::string& part, double seconds,
           std::vector<Difference> differences) {
    if (std::abs(seconds) <= kRounding * step_s_) return;
    Cause& cause = result_.causes.emplace_back();
    cause.id = id;
    cause.title = title;
    cause.detail = in_words(differences);
    cause.amount[kStep] = seconds;
    if (!part.empty()) cause.parts[part] = seconds;
    cause.differences = std::move(differences);
  }

 private:
  Comparison& result_;
  double step_s_;
};

double duration(const KernelClass& kernels) {
  return kernels.count > 0 ? kernels.seconds / kernels.count : 0;
}

Difference count_difference(const KernelClass& a, const KernelClass& b) {
  return {"kernels", fmt::format("{:.6g}", a.count), fmt::format("{:.6g}", b.count)};
}
Difference duration_difference(const KernelClass& a, const KernelClass& b) {
  return {"mean time", base::format_seconds(duration(a)), base::format_seconds(duration(b))};
}

/// A class that only one side has is all a matter of number: its duration is taken as that of the
/// side which has it.
void add_class(const std::string& name, const KernelClass& a, const KernelClass& b, Parts& parts) {
  const double da = a.count > 0 ? duration(a) : duration(b);
  const double db = b.count > 0 ? duration(b) : duration(a);
  parts.add(name + ".count", name + ": number of kernels", "compute",
            (b.count - a.count) * (da + db) / 2, {count_difference(a, b)});
  parts.add(name + ".duration", name + ": time of a kernel", "compute",
            (db - da) * (a.count + b.count) / 2, {duration_difference(a, b)});
}

const KernelClass& of(const std::map<std::string, KernelClass>& classes, const std::string& name) {
  static const KernelClass kNone;
  const auto it = classes.find(name);
  return it == classes.end() ? kNone : it->second;
}

std::set<std::string> names_of(const std::map<std::string, KernelClass>& a,
                               const std::map<std::string, KernelClass>& b) {
  std::set<std::string> names;
  for (const auto* classes : {&a, &b})
    for (const auto& [name, kernels] : *classes) names.insert(name);
  return names;
}

void add_compute(const Measured& a, const Measured& b, const Quantity& part, Parts& parts) {
  double explained = 0;
  for (const std::string& name : names_of(a.compute, b.compute)) {
    const KernelClass &x = of(a.compute, name), &y = of(b.compute, name);
    add_class(name, x, y, parts);
    explained += y.seconds - x.seconds;
  }
  parts.add("side_by_side", "kernels side by side", "compute", part.difference() - explained, {});
}

void add_idle(const Measured& a, const Measured& b, const Quantity& part, Parts& parts) {
  if (!a.idle_s || !b.idle_s) return parts.add("idle", "idle", "idle", part.difference(), {});
  constexpr std::array kCauses = {"idle: launched too late", "idle: launched in time, queued",
                                  "idle: launch not recorded"};
  constexpr std::array kIds = {"idle.launch", "idle.queued", "idle.unknown"};
  double explained = 0;
  for (size_t i = 0; i < kCauses.size(); ++i) {
    const double x = (*a.idle_s)[i], y = (*b.idle_s)[i];
    parts.add(kIds[i], kCauses[i], "idle", y - x,
              {{"a step", base::format_seconds(x), base::format_seconds(y)}});
    explained += y - x;
  }
  parts.add("idle.rest", "idle: at both ends of the step", "idle", part.difference() - explained,
            {});
}

/// Of a part of exposed communication, what is waiting for the last rank.
double waiting_in(const Measured& side, const std::string& part, double exposed_s) {
  return std::min(base::value_or(*side.waiting_s, part, 0.0), exposed_s);
}

void add_exposed(const Measured& a, const Measured& b, const Quantity& part, Parts& parts) {
  std::string title = part.name;
  std::ranges::replace(title, '_', ' ');
  double wait_a = 0, wait_b = 0;
  if (a.waiting_s && b.waiting_s) {
    wait_a = waiting_in(a, part.name, part.a);
    wait_b = waiting_in(b, part.name, part.b);
  }
  if (wait_a > 0 || wait_b > 0) {
    parts.add(part.name + ".waiting", title + ": waiting", part.name, wait_b - wait_a,
              {{"for the last rank, a step", base::format_seconds(wait_a),
                base::format_seconds(wait_b)}});
    title += ": the rest";
  }
  const double rest_a = part.a - wait_a, rest_b = part.b - wait_b;
  std::vector<Difference> differences = {
      {"a step", base::format_seconds(rest_a), base::format_seconds(rest_b)}};
  const KernelClass &x = of(a.collectives, part.name), &y = of(b.collectives, part.name);
  if (x.count > 0 || y.count > 0) {
    differences.push_back(count_difference(x, y));
    // Kernels hold the waiting, too.
    if (wait_a <= 0 && wait_b <= 0) differences.push_back(duration_difference(x, y));
  }
  parts.add(part.name, title, part.name, rest_b - rest_a, std::move(differences));
}

/// Energy is power times time: every second more costs the mean of both powers, and the change of
/// power is a cause of its own.
void add_energy(const Measured& a, const Measured& b, Comparison& result) {
  if (!a.gpus_w || !b.gpus_w) return;
  const double ta = a.performance.step_time_s, tb = b.performance.step_time_s;
  const double mean_w = (*a.gpus_w + *b.gpus_w) / 2;
  result.quantities.push_back({kEnergy, "J", *a.gpus_w * ta, *b.gpus_w * tb, a.gpu_energy_j,
                               b.gpu_energy_j, a.power_error, b.power_error});
  for (Cause& cause : result.causes) cause.amount[kEnergy] = cause.amount[kStep] * mean_w;
  if (*a.gpus_w == *b.gpus_w) return;
  Cause& power = result.causes.emplace_back();
  power.id = "power";
  power.title = "power of the GPUs";
  power.differences = {
      {"all GPUs", base::format_si(*a.gpus_w, "W"), base::format_si(*b.gpus_w, "W")}};
  power.detail = in_words(power.differences);
  power.amount = {{kStep, 0}, {kEnergy, (*b.gpus_w - *a.gpus_w) * (ta + tb) / 2}};
}

void add_residual(Comparison& result) {
  for (const Quantity& quantity : result.quantities) {
    double rest = quantity.difference();
    for (const Cause& cause : result.causes)
      if (const auto it = cause.amount.find(quantity.name); it != cause.amount.end())
        rest -= it->second;
    result.residual[quantity.name] = rest;
  }
  for (const Quantity& part : result.parts) {
    double rest = part.difference();
    for (const Cause& cause : result.causes)
      if (const auto it = cause.parts.find(part.name); it != cause.parts.end()) rest -= it->second;
    result.parts_residual[part.name] = rest;
  }
}

void add_facts(const Measured& a, const Measured& b, Comparison& result) {
  for (const Quantity& fact : a.facts)
    for (const Quantity& other : b.facts)
      if (other.name == fact.name)
        result.facts.push_back({fact.name, fact.unit, fact.a, other.a, fact.a_range, other.a_range,
                                fact.a_error, other.a_error});
}

void name_what_is_outside(Comparison& result) {
  for (const auto* list : {&result.quantities, &result.facts})
    for (const Quantity& it : *list)
      if (it.is_held_to_prediction() && !it.is_inside()) result.outside.push_back(it.name);
}

/// What the clocks alone would do to compute, were it all bound by them.
void note_clocks(Comparison& result) {
  for (const Quantity& fact : result.facts) {
    if (fact.name != "mean_clock_mhz" || fact.a <= 0 || fact.b <= 0 || fact.a == fact.b) continue;
    const double compute = result.parts.empty() ? 0 : result.parts.front().a;
    if (compute <= 0) continue;
    result.notes.push_back(fmt::format(
        "clocks: were all of A's compute bound by them, {:.0f} -> {:.0f} MHz alone would be {} a "
        "step",
        fact.a, fact.b,
        (fact.b < fact.a ? "+" : "-") +
            base::format_seconds(std::abs(compute * (fact.a / fact.b - 1)))));
  }
}

/// Nothing is known of the parts of one side's step at least.
bool without_traces(const Measured& a, const Measured& b) { return a.ranks == 0 || b.ranks == 0; }

void note_form(const Measured& a, const Measured& b, Comparison& result) {
  if (without_traces(a, b) && !a.steps_marked && !b.steps_marked)
    return static_cast<void>(result.notes.emplace_back(
        "both hold telemetry and no traces: the whole recording stands for a step"));
  for (const auto& [side, it] : {std::pair("A", &a), std::pair("B", &b)})
    if (it->ranks == 0)
      result.notes.push_back(
          fmt::format("{} holds no traces of GPU work: its step is the median of the second half "
                      "of its training log's, and parts of the step are not told apart{}",
                      side, it->gpus_w ? "" : "; its energy is left out"));
  if (a.gpus_w && b.gpus_w && a.gpus != b.gpus)
    result.notes.push_back(fmt::format("A's energy is of {} GPUs, B's of {}", a.gpus, b.gpus));
  if (without_traces(a, b)) return;
  for (const auto& [side, it] : {std::pair("A", &a), std::pair("B", &b)})
    if (!it->steps_marked)
      result.notes.push_back(
          fmt::format("{} marks no steps: its whole trace stands for one step", side));
  for (const auto& [side, it, other] : {std::tuple("A", &a, &b), std::tuple("B", &b, &a)})
    if (!it->waiting_s && other->waiting_s && !other->waiting_s->empty())
      result.notes.push_back(fmt::format(
          "no collective of {} was found on several ranks: what ranks wait in collectives for the "
          "last one is not told apart",
          side));
  if (a.ranks != b.ranks)
    result.notes.push_back(fmt::format("A has traces of {} ranks, B of {}: times are means of them",
                                       a.ranks, b.ranks));
}

}  // namespace

Result<Comparison> compare_measured(const Measured& a, const Measured& b) {
  for (const auto& [side, it, other] : {std::tuple("A", &a, &b), std::tuple("B", &b, &a)})
    if (it->ranks == 0 && !it->steps_marked && (other->ranks > 0 || other->steps_marked))
      return input_error(
          "{} holds neither traces of GPU work nor a training program's steps, and the other side "
          "does: what a step takes is known of one of them only",
          side);
  Comparison result;
  result.method = Method::kMeasured;
  const auto range = [](const run::Performance& p) {
    return Range{p.step_time_s_low, p.step_time_s_high};
  };
  result.quantities = {{kStep, "s", a.performance.step_time_s, b.performance.step_time_s,
                        range(a.performance), range(b.performance)}};
  result.parts = parts_of(a.performance.breakdown_s, b.performance.breakdown_s);
  Parts parts(result);
  if (without_traces(a, b)) {
    result.parts.clear();
    parts.add("time", a.steps_marked ? "time of a step" : "length of the recording", "",
              result.quantities.front().difference(), {});
  }
  for (const Quantity& part : result.parts) {
    if (part.name == "compute")
      add_compute(a, b, part, parts);
    else if (part.name == "idle")
      add_idle(a, b, part, parts);
    else
      add_exposed(a, b, part, parts);
  }
  add_energy(a, b, result);
  add_residual(result);
  add_facts(a, b, result);
  name_what_is_outside(result);
  rank_causes(result);
  note_clocks(result);
  note_form(a, b, result);
  result.verdict = verdict_of(result);
  return result;
}

}  // namespace ergometer::compare
