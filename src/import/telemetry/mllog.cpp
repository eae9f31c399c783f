#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>

#include "base/text.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

namespace dom = simdjson::dom;
constexpr std::string_view kMark = ":::MLLOG";

/// One record of a log.
struct LoggedEvent {
  std::string_view key;
  int64_t time_ns = 0;
  dom::element value;
  dom::element metadata;
  bool has_value = false, has_metadata = false;
};

/// The name of the phase that a key begins or ends.
struct PhaseKey {
  std::string_view start, stop, name;
};
constexpr std::array kPhases = std::to_array<PhaseKey>({
    {"init_start", "init_stop", "init"},
    {"run_start", "run_stop", "run"},
    {"block_start", "block_stop", "block"},
    {"epoch_start", "epoch_stop", "epoch"},
    {"eval_start", "eval_stop", "evaluation"},
});

class MlLogReader {
 public:
  explicit MlLogReader(LogBuilder& log) : log_(log) {}
  Result<void> read(std::string_view text);

 private:
  bool parse(std::string_view json, LoggedEvent& event);
  Result<void> take(const LoggedEvent& event, int64_t line);
  void take_phase(const LoggedEvent& event);
  void take_job(const LoggedEvent& event);
  Result<void> take_power(const LoggedEvent& event, int64_t line);
  size_t node();
  std::string text_of(const dom::element& from, std::string_view key) const;

  LogBuilder& log_;
  dom::parser parser_;
  std::string json_;
  run::TrainingLog training_;
  double efficiency_ = 0;
  std::string measured_;
  bool any_readings_ = false;
};

bool MlLogReader::parse(std::string_view json, LoggedEvent& event) {
  json_.assign(json);
  json_.append(simdjson::SIMDJSON_PADDING, ' ');
  dom::element all;
  if (parser_.parse(json_.data(), json.size(), false).get(all) != simdjson::SUCCESS) return false;
  if (all["key"].get(event.key) != simdjson::SUCCESS) return false;
  int64_t ms = 0;
  double real = 0;
  constexpr int64_t kNsPerMs = 1'000'000;
  constexpr double kMostMs = 4e12;
  if (all["time_ms"].get(ms) == simdjson::SUCCESS && ms >= 0 && static_cast<double>(ms) < kMostMs) {
    event.time_ns = ms * kNsPerMs;
  } else if (all["time_ms"].get(real) == simdjson::SUCCESS && real >= 0 && real < kMostMs) {
    event.time_ns = std::llround(real * 1e6);
  } else {
    return false;
  }
  event.has_value = all["value"].get(event.value) == simdjson::SUCCESS;
  event.has_metadata = all["metadata"].get(event.metadata) == simdjson::SUCCESS;
  return true;
}

std::string MlLogReader::text_of(const dom::element& from, std::string_view key) const {
  std::string_view text;
  if (from[key].get(text) != simdjson::SUCCESS) return "";
  return std::string(text);
}

size_t MlLogReader::node() {
  const std::string name(stem_of(log_.file()));
  const std::string folder(folder_of(log_.file()));
  const size_t number = log_.device_number(run::DeviceKind::kNode, folder, name);
  run::Device& device = log_.device_at(number);
  device.name = name;
  device.job = base::last_part(folder, '/');
  return number;
}

Result<void> MlLogReader::take_power(const LoggedEvent& event, int64_t line) {
  double watts = 0;
  const bool is_number = event.has_value && event.value.get(watts) == simdjson::SUCCESS;
  if (!is_number)
    return input_error("{}:{}: {}: found '{}', allowed: a number of watts", log_.file(), line,
                       event.key, event.has_value ? simdjson::minify(event.value) : "nothing");
  if (event.key == "conversion_eff") {
    efficiency_ = watts;
    if (event.has_metadata) measured_ = text_of(event.metadata, "measurement_type");
    return {};
  }
  if (event.key == "power_reading") {
    any_readings_ = true;
    log_.add(node(), run::Metric::kPower, event.time_ns, watts);
    return {};
  }
  const std::string id = event.has_metadata ? text_of(event.metadata, "switch_id") : "";
  const std::string folder(folder_of(log_.file()));
  run::Device& device =
      log_.device(run::DeviceKind::kSwitch, folder, fmt::format("{} {}", stem_of(log_.file()), id));
  device.name = id.empty() ? std::string(stem_of(log_.file())) : id;
  device.job = base::last_part(folder, '/');
  device.stated_power_w = watts;
  return {};
}

void MlLogReader::take_phase(const LoggedEvent& event) {
  auto& phases = training_.phases;
  for (const PhaseKey& key : kPhases) {
    if (event.key == key.start) {
      phases.push_back({std::string(key.name), event.time_ns, -1});
    } else if (event.key == key.stop) {
      for (auto phase = phases.rbegin(); phase != phases.rend(); ++phase) {
        if (phase->name != key.name || phase->end_ns >= 0) continue;
        phase->end_ns = event.time_ns;
        return;
      }
    }
  }
}

void MlLogReader::take_job(const LoggedEvent& event) {
  if (!event.has_value) return;
  std::string_view text;
  double value = 0;
  if (event.key == "submission_benchmark" && event.value.get(text) == simdjson::SUCCESS)
    training_.benchmark = text;
  if (event.key == "submission_platform" && event.value.get(text) == simdjson::SUCCESS)
    training_.platform = text;
  if (event.key == "global_batch_size" && event.value.get(value) == simdjson::SUCCESS)
    training_.global_batch = value;
  if (event.key == "tracked_stats" && event.value["throughput"].get(value) == simdjson::SUCCESS)
    training_.samples_per_s.push_back(value);
}

Result<void> MlLogReader::take(const LoggedEvent& event, int64_t line) {
  if (event.key == "power_reading" || event.key == "interconnect_power_est" ||
      event.key == "conversion_eff")
    return take_power(event, line);
  take_phase(event);
  take_job(event);
  return {};
}

Result<void> MlLogReader::read(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    const size_t mark = lines.line().find(kMark);
    if (mark == std::string_view::npos) continue;
    const std::string_view json = trim(lines.line().substr(mark + kMark.size()));
    LoggedEvent event;
    if (parse(json, event)) {
      ERGOMETER_TRY(take(event, lines.number()));
    } else {
      log_.drop("an MLLOG line that is no JSON object with key and time_ms");
    }
  }
  if (any_readings_ && measured_ == "DC" && efficiency_ > 0 && efficiency_ <= 1) {
    log_.device_at(node()).conversion_efficiency = efficiency_;
    log_.note("{}: DC readings, divided by the stated efficiency {}", log_.file(), efficiency_);
  } else if (any_readings_ && efficiency_ > 0) {
    log_.note("{}: conversion_eff {} is stated and not applied: the readings are {}", log_.file(),
              efficiency_, measured_.empty() ? "AC" : measured_);
  }
  auto& phases = training_.phases;
  int64_t open = 0;
  for (size_t i = phases.size(); i-- > 0;) {
    if (phases[i].end_ns >= phases[i].start_ns) continue;
    phases.erase(phases.begin() + static_cast<std::ptrdiff_t>(i));
    ++open;
  }
  log_.drop("a phase that does not end", open);
  if (phases.empty()) return {};
  training_.file = log_.file();
  training_.job = stem_of(log_.file());
  log_.log().training.push_back(std::move(training_));
  return {};
}

}  // namespace

bool is_mllog(std::string_view text) {
  return text.find(fmt::format("{} {{", kMark)) != std::string_view::npos;
}

Result<void> read_mllog(std::string_view text, LogBuilder& log) {
  log.note_twin(text);
  return MlLogReader(log).read(text);
}

}  // namespace ergometer::importer
