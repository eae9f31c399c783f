#include "cli/record/record_live.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/console/command.h"
#include "run/event_reasons.h"

namespace ergometer::cli {
namespace {

using Latest = record::Snapshot::Latest;
using run::DeviceKind;
using run::Metric;

/// The first of the metrics that the device has.
std::string value(const Latest& latest, std::initializer_list<Metric> metrics, const char* unit) {
  for (const Metric metric : metrics)
    if (const auto& sample = latest.of(metric))
      return fmt::format("{:.0f} {}", sample->value, unit);
  return "-";
}

std::string reasons(const Latest& latest) {
  const auto& sample = latest.of(Metric::kEventReasons);
  if (!sample) return "-";
  std::string text;
  for (const run::EventReasonName& reason : run::kEventReasons)
    if ((static_cast<int64_t>(sample->value) & reason.bit) != 0)
      text += (text.empty() ? "" : " ") + std::string(reason.name);
  return text;
}

std::string label(const run::Device& device) {
  const std::string number = device.index >= 0 ? fmt::format(" {}", device.index) : "";
  return run::kind_name(device.kind) + number;
}

std::string live_step(const std::optional<run::TrainingStep>& step) {
  if (!step) return {};
  std::string line = fmt::format("step {}  {}", step->number, base::format_seconds(step->seconds));
  if (step->tokens_per_s_per_gpu > 0)
    line += fmt::format("  {:.0f} tokens/s a GPU", step->tokens_per_s_per_gpu);
  return line + '\n';
}

std::string row(const Latest& l) {
  constexpr size_t kWidth = 79;  // a line that the terminal breaks would not be wiped away
  const std::string line = fmt::format(
      "{:<8}{:>9}{:>8}{:>10}{:>8}  {}", label(l.device),
      value(l, {Metric::kInstantPower, Metric::kPower, Metric::kAveragePower}, "W"),
      value(l, {Metric::kGpuTemperature, Metric::kHotspotTemperature, Metric::kInletTemperature},
            "C"),
      value(l, {Metric::kSmClock}, "MHz"),
      value(l, {Metric::kGpuUtilization, Metric::kCpuUtilization}, "%"), reasons(l));
  return line.substr(0, kWidth) + '\n';
}

}  // namespace

std::string live_table(const std::vector<Latest>& latest) {
  constexpr size_t kMostRows = 32;
  const bool gpus = std::ranges::any_of(
      latest, [](const Latest& l) { return l.device.kind == DeviceKind::kGpu; });
  std::string out = fmt::format("{:<8}{:>9}{:>8}{:>10}{:>8}  {}\n", "", "power", "temp", "clock",
                                "busy", "clock event reasons");
  size_t rows = 0;
  for (const Latest& l : latest) {
    const bool shown =
        gpus ? l.device.kind == DeviceKind::kGpu
             : l.device.kind == DeviceKind::kNode || l.device.kind == DeviceKind::kCpu;
    if (shown && ++rows <= kMostRows) out += row(l);
  }
  if (rows > kMostRows) out += fmt::format("... and {} more\n", rows - kMostRows);
  return out;
}

void LiveTable::go_up() {
  // To the first of its lines, and everything from there on away.
  if (lines_ > 0) say(stream_, fmt::format("\x1b[{}A\x1b[J", lines_));
  lines_ = 0;
}

void LiveTable::draw(const std::string& below) {
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ < std::chrono::seconds(1)) return;
  drawn_ = now;
  const std::string table =
      live_table(snapshot_.look()) + live_step(snapshot_.step_now(record::now_ns())) + below;
  go_up();
  say(stream_, table);
  std::fflush(stream_);
  lines_ = static_cast<size_t>(std::ranges::count(table, '\n'));
}

void LiveTable::finish() {
  go_up();
  std::fflush(stream_);
}

}  // namespace ergometer::cli
