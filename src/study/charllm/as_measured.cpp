#include "study/charllm/as_measured.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "spec/settings/settings.h"
#include "study/expand.h"
#include "study/file/definition.h"

namespace ergometer::study {
namespace charllm {
namespace {

/// The first ten steps are not recorded.
constexpr const char* kMeasuredStep = "11";
/// Air that enters the nodes: ASHRAE recommends 18 to 27 C and allows up to 35 (class A2) or 40 C
/// (A3).
constexpr const char* kRoomsC[] = {"20", "30", "40"};
constexpr const char* kBoards[] = {"1", "2", "3"};

struct Condition {
  std::string boards, room_c;
  std::string name() const { return fmt::format("boards {}, {} C", boards, room_c); }
};

std::vector<Condition> all_conditions() {
  std::vector<Condition> all;
  for (const char* room : kRoomsC)
    for (const char* boards : kBoards) all.push_back({boards, room});
  return all;
}

/// "gpt3-175b_1_01000, boards 2, 30 C".
std::string id_under(const std::string& id, const Condition& condition) {
  return id + ", " + condition.name();
}

/// The study's own findings; those of others were measured in other ways.
std::vector<Found> own_findings(const run::Study& study, Asked* asked) {
  Findings findings(study, asked);
  for (const auto theme : {clock_findings, heat_findings, stage_findings, testbed_findings,
                           tuning_findings, adapter_findings})
    theme(findings);
  return findings.take();
}

/// The points of one condition under their plain names, and where they stand in the whole.
struct Part {
  run::Study study;
  std::vector<int64_t> at;
};

Part part_of(const run::Study& study, const Condition& condition) {
  Part part;
  const std::string ending = id_under("", condition);
  for (size_t i = 0; i < study.points.size(); ++i) {
    if (!study.points[i].id.ends_with(ending)) continue;
    part.study.points.push_back(study.points[i]);
    std::string& id = part.study.points.back().id;
    id.resize(id.size() - ending.size());
    part.at.push_back(static_cast<int64_t>(i));
  }
  return part;
}

/// Where each finding's number is largest, lowest and in the middle; without numbers the first is
/// the middle.
struct Order {
  size_t low = 0, middle = 0, high = 0;
};
Order order_of(const std::vector<Found>& found) {
  if (!found.front().measure) return {};
  std::vector<size_t> by_value(found.size());
  for (size_t i = 0; i < found.size(); ++i) by_value[i] = i;
  std::stable_sort(by_value.begin(), by_value.end(), [&](size_t a, size_t b) {
    return found[a].measure->value < found[b].measure->value;
  });
  return {by_value.front(), by_value[by_value.size() / 2], by_value.back()};
}

std::string numbers_text(const std::vector<Found>& found, const Order& order) {
  const auto text = [&](size_t i) {
    const double value = found[i].measure->value;
    return std::fabs(value) < 1000 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
  };
  return fmt::format("{}{} ({} to {})", text(order.middle), found.front().measure->unit,
                     text(order.low), text(order.high));
}

}  // namespace

run::StudyFinding spread_of(const std::vector<Found>& found,
                            const std::vector<std::string>& conditions) {
  const Order order = order_of(found);
  run::StudyFinding result = found[order.middle].finding;
  std::vector<std::string> agrees_under;
  size_t in_part = 0;
  result.points.clear();
  for (size_t i = 0; i < found.size(); ++i) {
    const run::StudyFinding& one = found[i].finding;
    if (one.agrees == run::Agreement::kYes) agrees_under.push_back(conditions[i]);
    in_part += one.agrees == run::Agreement::kInPart;
    result.points.insert(result.points.end(), one.points.begin(), one.points.end());
  }
  bool contained = !agrees_under.empty();
  if (const auto& measure = found.front().measure)
    contained = contained || (found[order.low].measure->value <= measure->reported_high &&
                              found[order.high].measure->value >= measure->reported_low);
  result.agrees = 2 * agrees_under.size() > found.size()    ? run::Agreement::kYes
                  : contained || 2 * in_part > found.size() ? run::Agreement::kInPart
                                                            : run::Agreement::kNo;
  const size_t yes = agrees_under.size();
  if (const std::string_view decides = deciding_measurement(result.id);
      yes < found.size() && !decides.empty())
    result.why = fmt::format("would be decided by: {}", decides);
  result.predicted = fmt::format(
      "{}as reported under {} of {} conditions{}; {}: {}",
      found.front().measure ? numbers_text(found, order) + ", " : "", yes, found.size(),
      yes == 0 || yes == found.size() ? "" : fmt::format(" ({})", fmt::join(agrees_under, "; ")),
      conditions[order.middle], result.predicted);
  return result;
}

}  // namespace charllm

Result<std::vector<Point>> as_measured_points() {
  ERGOMETER_ASSIGN(const Definition definition, read_definition("charllm"));
  ERGOMETER_ASSIGN(const Expansion expansion, expand(definition));
  charllm::Asked asked;
  charllm::own_findings({}, &asked);
  std::vector<Point> points;
  for (const charllm::Condition& condition : charllm::all_conditions())
    for (const Point& plain : expansion.points) {
      if (!asked.contains({plain.family, plain.id})) continue;
      Point point = plain;
      point.id = charllm::id_under(plain.id, condition);
      point.axes["seed"] = condition.boards;
      point.axes["room"] = condition.room_c + " C";
      const auto set = [&](const char* name, const std::string& value) {
        point.settings.set(spec::find_setting(name)->name, value, spec::Origin{"the study", {}});
      };
      set("measured_step", charllm::kMeasuredStep);
      set("seed", condition.boards);
      set("inlet_c", condition.room_c);
      points.push_back(std::move(point));
    }
  return points;
}

std::vector<run::StudyFinding> as_measured_findings(const run::Study& study) {
  std::vector<std::string> names;
  std::vector<std::vector<charllm::Found>> by_condition;
  for (const charllm::Condition& condition : charllm::all_conditions()) {
    const charllm::Part part = charllm::part_of(study, condition);
    names.push_back(condition.name());
    by_condition.push_back(charllm::own_findings(part.study, nullptr));
    for (charllm::Found& found : by_condition.back())
      for (int64_t& point : found.finding.points) point = part.at[static_cast<size_t>(point)];
  }
  std::vector<run::StudyFinding> all;
  for (const charllm::Found& first : by_condition.front()) {
    std::vector<charllm::Found> same;
    for (const auto& findings : by_condition)
      for (const charllm::Found& found : findings)
        if (found.finding.id == first.finding.id) same.push_back(found);
    if (same.size() == names.size()) all.push_back(charllm::spread_of(same, names));
  }
  return all;
}

}  // namespace ergometer::study
