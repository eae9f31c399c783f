#include <string_view>

#include "base/text.h"
#include "record/bmc/redfish_client.h"
#include "record/bmc/redfish_document.h"
#include "record/files/call_timer.h"
#include "record/files/node_source.h"

// The node's controller over Redfish. Which documents hold readings is found once: of the chassis
// that stands in no other one, Power and Thermal, which are two requests and which nearly every
// controller has; where they are gone, what came in their place (PowerSubsystem, ThermalSubsystem,
// EnvironmentMetrics, Sensors).

namespace ergometer::record {
namespace {

constexpr size_t kMostDocuments = 32;  ///< a controller takes about a second for each

/// Where the readings stand.
class Discovery {
 public:
  explicit Discovery(RedfishClient& client) : client_(client) {}
  Result<std::vector<std::string>> documents();
  const std::string& chassis() const { return chassis_; }

 private:
  std::string get(const std::string& path);
  std::string follow(const std::string& document, std::string_view link);
  void add(const std::string& path);
  void add_power(const std::string& chassis);
  void add_heat(const std::string& chassis);
  void add_sensors(const std::string& chassis);

  RedfishClient& client_;
  std::string chassis_;
  std::vector<std::string> documents_;
};

/// Empty when there is none: what a controller announces and does not have is left out.
std::string Discovery::get(const std::string& path) {
  if (path.empty()) return "";
  return client_.get(path).value_or("");
}

std::string Discovery::follow(const std::string& document, std::string_view link) {
  return get(redfish_link(document, link));
}

void Discovery::add(const std::string& path) {
  if (!path.empty() && documents_.size() < kMostDocuments) documents_.push_back(path);
}

void Discovery::add_power(const std::string& chassis) {
  if (const std::string path = redfish_link(chassis, "Power"); !path.empty()) return add(path);
  const std::string environment = redfish_link(chassis, "EnvironmentMetrics");
  NodeReadings readings;
  (void)read_redfish(get(environment), readings);
  if (readings.total_w) return add(environment);
  const std::string supplies = follow(follow(chassis, "PowerSubsystem"), "PowerSupplies");
  for (const std::string& supply : redfish_members(supplies))
    add(redfish_link(get(supply), "Metrics"));
}

void Discovery::add_heat(const std::string& chassis) {
  if (const std::string path = redfish_link(chassis, "Thermal"); !path.empty()) return add(path);
  const std::string subsystem = follow(chassis, "ThermalSubsystem");
  const std::string metrics = redfish_link(subsystem, "ThermalMetrics");
  NodeReadings readings;
  (void)read_redfish(get(metrics), readings);
  if (readings.inlet_c.count > 0) {
    add(metrics);
  } else {
    add_sensors(chassis);
  }
  for (const std::string& fan : redfish_members(follow(subsystem, "Fans"))) add(fan);
}

/// Of the sensors, whose number may be in the hundreds, those that are named like air.
void Discovery::add_sensors(const std::string& chassis) {
  for (const std::string& path : redfish_members(follow(chassis, "Sensors"))) {
    const std::string name = base::lower(base::last_part(path, '/'));
    for (const std::string_view word : {"inlet", "intake", "ambient", "outlet", "exhaust"}) {
      if (name.find(word) == std::string::npos) continue;
      add(path);
      break;
    }
  }
}

Result<std::vector<std::string>> Discovery::documents() {
  ERGOMETER_ASSIGN(const std::string root, client_.get("/redfish/v1/"));
  const std::string chassis_list = redfish_link(root, "Chassis");
  if (chassis_list.empty()) return missing_error("/redfish/v1/ is no Redfish service with chassis");
  ERGOMETER_ASSIGN(const std::string list, client_.get(chassis_list));
  for (const std::string& path : redfish_members(list)) {
    const std::string chassis = get(path);
    if (chassis.empty() || is_contained(chassis)) continue;
    add_power(chassis);
    add_heat(chassis);
    chassis_ = path;
    if (!documents_.empty()) break;
  }
  return documents_;
}

class RedfishSource : public NodeSource {
 public:
  explicit RedfishSource(std::unique_ptr<RedfishClient> client)
      : NodeSource("redfish", "redfish"), client_(std::move(client)) {
    costs_.push_back({.call = "GET"});
  }
  bool slow() const override { return true; }
  void read(Batch& batch) override;

  Result<void> find(const SourceOptions& options);

 private:
  Result<void> ask(NodeReadings& readings);

  std::unique_ptr<RedfishClient> client_;
  std::vector<std::string> documents_;
};

Result<void> RedfishSource::ask(NodeReadings& readings) {
  for (const std::string& path : documents_) {
    CallTimer timer(costs_[0]);
    const auto document = client_->get(path);
    if (document && read_redfish(*document, readings)) continue;
    timer.failed();
    if (!document) return tl::unexpected(document.error());
    return missing_error("{}: the answer is no JSON object", path);
  }
  return {};
}

Result<void> RedfishSource::find(const SourceOptions& options) {
  Discovery discovery(*client_);
  ERGOMETER_ASSIGN(documents_, discovery.documents());
  NodeReadings readings;
  ERGOMETER_TRY(ask(readings));
  metrics_ = readings.metrics();
  if (metrics_.empty())
    return missing_error("{}: its chassis state no power, inlet, outlet or fan", options.redfish);
  ERGOMETER_TRY(keep_wanted(options));
  node_.uuid = discovery.chassis();
  return {};
}

void RedfishSource::read(Batch& batch) {
  NodeReadings readings;
  const int64_t asked_ns = now_ns();
  const auto answer = ask(readings);
  // All documents or none: the mean of some fans is not that of all.
  if (answer) readings.tell(metrics_, asked_ns, batch);
  note(answer ? "" : answer.error().message, batch);
}

}  // namespace

Opened open_redfish(const SourceOptions& options) {
  ERGOMETER_ASSIGN(std::unique_ptr<RedfishClient> client,
                   redfish_client({.url = options.redfish,
                                   .credentials = options.redfish_credentials,
                                   .certificate = options.redfish_certificate,
                                   .insecure = options.redfish_insecure}));
  auto source = std::make_unique<RedfishSource>(std::move(client));
  ERGOMETER_TRY(source->find(options));
  return source;
}

}  // namespace ergometer::record
