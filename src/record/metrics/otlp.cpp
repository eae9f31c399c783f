#include "record/metrics/otlp.h"

#include <functional>

#include "base/json_writer.h"
#include "base/version.h"
#include "record/metrics/metric_names.h"
#include "run/event_reasons.h"

namespace ergometer::record {
namespace {

using base::JsonWriter;
using run::Metric;

constexpr int kCumulative = 2;  ///< AGGREGATION_TEMPORALITY_CUMULATIVE

/// Writes the metrics of one request. A metric appears with its first point, as one without any
/// says nothing.
class OtlpMetrics {
 public:
  explicit OtlpMetrics(JsonWriter& json) : json_(json) {}

  struct About {
    std::string name;
    std::string_view unit, help;
    bool counter = false;
  };
  using Point = std::function<void(const DeviceLabels&, int64_t time_ns, double value)>;
  /// `points` calls what it is given for every point of the metric.
  void metric(const About& about, const std::function<void(const Point&)>& points);

 private:
  void begin(const About& about);
  void point(const DeviceLabels& labels, int64_t time_ns, double value);
  JsonWriter& json_;
};

void write_attribute(JsonWriter& json, std::string_view key, std::string_view value) {
  json.begin_object().member("key", key).key("value").begin_object();
  json.member("stringValue", value).end_object().end_object();
}

void OtlpMetrics::begin(const About& about) {
  json_.begin_object().member("name", about.name).member("description", about.help);
  if (!about.unit.empty()) json_.member("unit", about.unit);
  json_.key(about.counter ? "sum" : "gauge").begin_object();
  if (about.counter)
    json_.member("aggregationTemporality", kCumulative).member("isMonotonic", true);
  json_.key("dataPoints").begin_array();
}

void OtlpMetrics::metric(const About& about, const std::function<void(const Point&)>& points) {
  bool any = false;
  points([&](const DeviceLabels& labels, int64_t time_ns, double value) {
    if (!std::exchange(any, true)) begin(about);
    point(labels, time_ns, value);
  });
  if (any) json_.end_array().end_object().end_object();
}

/// 64-bit whole numbers are text in OTLP's JSON.
void OtlpMetrics::point(const DeviceLabels& labels, int64_t time_ns, double value) {
  json_.begin_object().member("timeUnixNano", std::to_string(time_ns)).member("asDouble", value);
  json_.key("attributes").begin_array();
  for (const auto& [name, text] : labels) write_attribute(json_, name, text);
  json_.end_array().end_object();
}

void put_reading(const Snapshot::Latest& device, Metric metric, int64_t oldest_ns,
                 const OtlpMetrics::Point& point) {
  const auto& sample = device.of(metric);
  const int64_t time_ns = device.set_ns[static_cast<size_t>(metric)];
  if (!sample || time_ns < oldest_ns) return;
  DeviceLabels labels = own_labels(device.device);
  if (metric != Metric::kEventReasons)
    return point(labels, time_ns, sample->value * run::own_name(metric).scale);
  labels.emplace_back("reason", "");
  for (const run::EventReasonName& reason : run::kEventReasons) {
    labels.back().second = reason.name;
    point(labels, time_ns, (static_cast<int64_t>(sample->value) & reason.bit) != 0 ? 1 : 0);
  }
}

void put_readings(const std::vector<Snapshot::Latest>& latest, int64_t oldest_ns,
                  OtlpMetrics& metrics) {
  using run::DeviceKind;
  for (const DeviceKind kind : {DeviceKind::kGpu, DeviceKind::kNode, DeviceKind::kSwitch,
                                DeviceKind::kMeter, DeviceKind::kCpu, DeviceKind::kPort})
    for (size_t m = 0; m < static_cast<size_t>(Metric::kCount); ++m) {
      const auto metric = static_cast<Metric>(m);
      const run::OtlpName name = run::otlp_name(kind, metric);
      metrics.metric(
          {name.name, name.unit, run::own_name(metric).help, run::metric_info(metric).counter},
          [&](const OtlpMetrics::Point& point) {
            for (const Snapshot::Latest& device : latest)
              if (device.device.kind == kind) put_reading(device, metric, oldest_ns, point);
          });
    }
}

/// A point a step, at the time of its end.
void put_steps(const std::vector<run::TrainingStep>& steps, OtlpMetrics& metrics) {
  const auto each = [&](const OtlpMetrics::About& about, double (*of)(const run::TrainingStep&)) {
    metrics.metric(about, [&](const OtlpMetrics::Point& point) {
      for (const run::TrainingStep& step : steps)
        if (of(step) >= 0) point({}, step.end_ns, of(step));
    });
  };
  each({"ergometer.step", "s", "How long a training step took, by the program's log."},
       [](const run::TrainingStep& step) { return step.seconds; });
  each({"ergometer.step.number", "", "Number of the training step."},
       [](const run::TrainingStep& step) { return static_cast<double>(step.number); });
  each({"ergometer.step.tokens_per_second_per_gpu", "", "Tokens a second and GPU in the step."},
       [](const run::TrainingStep& step) {
         return step.tokens_per_s_per_gpu > 0 ? step.tokens_per_s_per_gpu : -1;
       });
}

}  // namespace

std::string otlp_metrics(const std::vector<Snapshot::Latest>& latest,
                         const std::vector<run::TrainingStep>& steps, const OtlpResource& resource,
                         int64_t oldest_ns) {
  JsonWriter json;
  json.begin_object(base::kOneLine).key("resourceMetrics").begin_array().begin_object();
  json.key("resource").begin_object().key("attributes").begin_array();
  write_attribute(json, "service.name", "ergometer");
  write_attribute(json, "host.name", resource.host);
  if (!resource.job.empty()) write_attribute(json, "ergometer.job", resource.job);
  json.end_array().end_object();
  json.key("scopeMetrics").begin_array().begin_object();
  json.key("scope").begin_object().member("name", "ergometer").member("version", base::version());
  json.end_object().key("metrics").begin_array();
  OtlpMetrics metrics(json);
  put_readings(latest, oldest_ns, metrics);
  put_steps(steps, metrics);
  json.end_array().end_object().end_array();
  json.end_object().end_array().end_object();
  return json.take();
}

}  // namespace ergometer::record
