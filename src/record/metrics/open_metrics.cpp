#include "record/metrics/open_metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <optional>
#include <set>

#include "base/version.h"
#include "record/files/kept_file.h"
#include "record/metrics/metric_names.h"
#include "record/usage.h"
#include "run/event_reasons.h"

namespace ergometer::record {
namespace {

using run::ExportedName;
using run::Metric;
using Latest = Snapshot::Latest;

constexpr double kSecondsPerNs = 1e-9;

void append_escaped(std::string& to, std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      to += "\\n";
    } else {
      if (c == '\\' || c == '"') to += '\\';
      to += c;
    }
  }
}

/// `gpu="0",host="node1"`; what is empty is left out, as Prometheus makes no difference.
class Labels {
 public:
  Labels& add(std::string_view name, std::string_view value) {
    if (value.empty()) return *this;
    if (!text_.empty()) text_ += ',';
    text_.append(name).append("=\"");
    append_escaped(text_, value);
    text_ += '"';
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Writes families one after the other.
class Exposition {
 public:
  explicit Exposition(bool open_metrics) : open_metrics_(open_metrics) {}

  /// The family of the samples that follow; it appears with the first of them. `name` without
  /// "_total". Families of other exporters have a name as it is and no unit.
  void family(std::string name, bool counter, std::string_view unit, std::string_view help);
  void foreign_family(std::string_view name, bool counter, std::string_view help);
  void sample(const std::string& labels, double value);
  std::string finish();

 private:
  void header();

  bool open_metrics_;
  std::string text_, family_, suffix_;
  bool counter_ = false, pending_ = false;
  std::string_view unit_, help_;
  std::set<std::string> seen_;  ///< labels within the family: each only once
};

void Exposition::family(std::string name, bool counter, std::string_view unit,
                        std::string_view help) {
  family_ = std::move(name);
  suffix_ = counter ? "_total" : "";
  counter_ = counter;
  unit_ = unit;
  help_ = help;
  pending_ = true;
  seen_.clear();
}

void Exposition::foreign_family(std::string_view name, bool counter, std::string_view help) {
  family(std::string(name), counter, "", help);
  suffix_.clear();
}

void Exposition::header() {
  const std::string name = open_metrics_ ? family_ : family_ + suffix_;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help_, name,
                 counter_ ? "counter" : "gauge");
  if (open_metrics_ && !unit_.empty())
    fmt::format_to(std::back_inserter(text_), "# UNIT {} {}\n", name, unit_);
}

void Exposition::sample(const std::string& labels, double value) {
  if (!std::isfinite(value) || !seen_.insert(labels).second) return;
  if (std::exchange(pending_, false)) header();
  text_.append(family_).append(suffix_);
  if (!labels.empty()) text_.append("{").append(labels).append("}");
  fmt::format_to(std::back_inserter(text_), " {}\n", value);
}

std::string Exposition::finish() {
  if (open_metrics_) text_ += "# EOF\n";
  return std::move(text_);
}

std::string own_label_text(const run::Device& device) {
  Labels labels;
  for (const auto& [name, value] : own_labels(device)) labels.add(name, value);
  return labels.take();
}

std::string dcgm_labels(const run::Device& device) {
  const std::string index = index_of(device);
  return Labels()
      .add("gpu", index)
      .add("UUID", device.uuid)
      .add("pci_bus_id", device.pci_bus_id)
      .add("device", index.empty() ? "" : "nvidia" + index)
      .add("modelName", device.name)
      .add("Hostname", device.host)
      .take();
}

/// Readings that are not too old, under either set of names.
class Readings {
 public:
  Readings(const std::vector<Latest>& latest, const MetricsOptions& options, int64_t now_ns)
      : latest_(latest), options_(options), oldest_ns_(now_ns - options.stale_after_ns) {
    for (const Latest& device : latest) {
      own_labels_.push_back(own_label_text(device.device));
      dcgm_labels_.push_back(dcgm_labels(device.device));
    }
  }
  void write(Exposition& to) const;

 private:
  std::optional<double> value(const Latest& device, Metric metric) const;
  std::optional<double> dcgm_value(const Latest& device, Metric metric) const;
  void write_dcgm(Metric metric, const ExportedName& name, Exposition& to) const;
  void write_own(run::DeviceKind kind, Metric metric, Exposition& to) const;

  const std::vector<Latest>& latest_;
  const MetricsOptions& options_;
  int64_t oldest_ns_;
  std::vector<std::string> own_labels_, dcgm_labels_;  ///< by device
};

std::optional<double> Readings::value(const Latest& device, Metric metric) const {
  const auto& sample = device.of(metric);
  if (!sample || device.set_ns[static_cast<size_t>(metric)] < oldest_ns_) return std::nullopt;
  return sample->value;
}

/// Boards ask for POWER_USAGE: a GPU that states its power in another way alone shows that.
std::optional<double> Readings::dcgm_value(const Latest& device, Metric metric) const {
  auto found = value(device, metric);
  if (metric != Metric::kPower || found) return found;
  found = value(device, Metric::kAveragePower);
  return found ? found : value(device, Metric::kInstantPower);
}

void Readings::write_dcgm(Metric metric, const ExportedName& name, Exposition& to) const {
  to.foreign_family(name.name, run::metric_info(metric).counter, name.help);
  for (size_t i = 0; i < latest_.size(); ++i) {
    if (latest_[i].device.kind != run::DeviceKind::kGpu) continue;
    if (const auto reading = dcgm_value(latest_[i], metric))
      to.sample(dcgm_labels_[i], *reading * name.scale);
  }
}

void Readings::write_own(run::DeviceKind kind, Metric metric, Exposition& to) const {
  const ExportedName& name = own_name(metric);
  to.family(own_family(kind, metric), run::metric_info(metric).counter, name.unit, name.help);
  for (size_t i = 0; i < latest_.size(); ++i) {
    if (latest_[i].device.kind != kind) continue;
    const auto reading = value(latest_[i], metric);
    if (!reading) continue;
    if (metric != Metric::kEventReasons) {
      to.sample(own_labels_[i], *reading * name.scale);
      continue;
    }
    for (const run::EventReasonName& reason : run::kEventReasons)
      to.sample(fmt::format("{},reason=\"{}\"", own_labels_[i], reason.name),
                (static_cast<int64_t>(*reading) & reason.bit) != 0 ? 1 : 0);
  }
}

void Readings::write(Exposition& to) const {
  using run::DeviceKind;
  for (const DeviceKind kind : {DeviceKind::kGpu, DeviceKind::kNode, DeviceKind::kSwitch,
                                DeviceKind::kMeter, DeviceKind::kCpu, DeviceKind::kPort}) {
    const bool dcgm = kind == DeviceKind::kGpu && options_.names == NameSet::kDcgm;
    for (size_t i = 0; i < static_cast<size_t>(Metric::kCount); ++i) {
      const auto metric = static_cast<Metric>(i);
      const ExportedName* const name = dcgm ? dcgm_name(metric) : nullptr;
      if (name != nullptr) {
        write_dcgm(metric, *name, to);
      } else {
        write_own(kind, metric, to);
      }
    }
  }
}

void write_step(const run::TrainingStep& step, Exposition& to) {
  to.family(std::string(run::kStepSeconds), false, "seconds",
            "How long the latest training step took, by the program's log.");
  to.sample("", step.seconds);
  to.family(std::string(run::kStepNumber), false, "", "Number of the latest training step.");
  to.sample("", static_cast<double>(step.number));
  to.family(std::string(run::kStepRate), false, "",
            "Tokens a second and GPU in that step, by the log.");
  if (step.tokens_per_s_per_gpu > 0) to.sample("", step.tokens_per_s_per_gpu);
}

double cpu_seconds() {
  rusage used = {};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void write_calls(const RecorderHealth& health, Exposition& to) {
  struct Column {
    const char* name;
    bool counter;
    const char* unit;
    const char* help;
    double (*value)(const CallCost&);
  };
  constexpr Column kColumns[] = {
      {"ergometer_recorder_calls", true, "", "Calls to drivers, libraries and files.",
       [](const CallCost& c) { return static_cast<double>(c.count); }},
      {"ergometer_recorder_failed_calls", true, "", "Calls that gave nothing.",
       [](const CallCost& c) { return static_cast<double>(c.failed); }},
      {"ergometer_recorder_call_seconds", true, "seconds", "Time spent in them.",
       [](const CallCost& c) { return static_cast<double>(c.total_ns) * kSecondsPerNs; }},
      {"ergometer_recorder_longest_call_seconds", false, "seconds", "The longest one of them.",
       [](const CallCost& c) { return static_cast<double>(c.longest_ns) * kSecondsPerNs; }},
  };
  for (const Column& column : kColumns) {
    to.family(column.name, column.counter, column.unit, column.help);
    for (const RecorderHealth::Calls& source : health.sources)
      for (const CallCost& cost : source.calls)
        to.sample(Labels().add("source", source.source).add("call", cost.call).take(),
                  column.value(cost));
  }
}

void write_health(const RecorderHealth& health, Exposition& to) {
  to.family("ergometer_recorder_ticks", true, "", "Times at which the sensors were looked at.");
  to.sample("", static_cast<double>(health.ticks));
  to.family("ergometer_recorder_missed_ticks", true, "", "Times that passed without a look.");
  to.sample("", static_cast<double>(health.missed_ticks));
  write_calls(health, to);
  to.family("process_cpu_seconds", true, "seconds", "Processor time that the recorder used.");
  to.sample("", cpu_seconds());
  to.family("process_resident_memory_bytes", false, "bytes", "Memory that the recorder holds.");
  to.sample("", static_cast<double>(resident_bytes()));
  to.family("ergometer_build_info", false, "", "The version as a label.");
  to.sample(Labels().add("version", base::version()).take(), 1);
}

}  // namespace

MetricsPage metrics_page(const std::vector<Latest>& latest, const RecorderHealth& health,
                         const MetricsOptions& options, int64_t now_ns, std::string_view accept,
                         const std::optional<run::TrainingStep>& step) {
  const bool open_metrics = options.names == NameSet::kErgometer &&
                            accept.find("application/openmetrics-text") != std::string_view::npos;
  Exposition text(open_metrics);
  Readings(latest, options, now_ns).write(text);
  if (step) write_step(*step, text);
  write_health(health, text);
  return {open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                       : "text/plain; version=0.0.4; charset=utf-8",
          text.finish()};
}

}  // namespace ergometer::record
