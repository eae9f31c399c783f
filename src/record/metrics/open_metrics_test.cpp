#include "record/metrics/open_metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "import/telemetry/telemetry.h"
#include "record/files/make_device.h"
#include "record/metrics/metric_names.h"

namespace ergometer::record {
namespace {

using run::DeviceKind;
using run::Metric;

run::Device gpu(int64_t index) {
  run::Device device =
      make_device(DeviceKind::kGpu, "NVIDIA H200", index, fmt::format("GPU-{}", index));
  device.host = "node1";
  device.pci_bus_id = "00000000:17:00.0";
  return device;
}

std::vector<Snapshot::Latest> two_gpus() {
  Snapshot snapshot;
  for (const int64_t index : {0, 1}) {
    const size_t device = snapshot.add_device(gpu(index));
    const double offset = static_cast<double>(index);
    snapshot.set(device, Metric::kPower, {1, 612.5 + offset});
    snapshot.set(device, Metric::kEnergy, {1, 1234.5});
    snapshot.set(device, Metric::kSmClock, {1, 1980});
  }
  return snapshot.look();
}

/// The lines up to the recorder's own.
std::string readings(const std::string& body) {
  return body.substr(0, body.find("# HELP ergometer_recorder_ticks"));
}

TEST(MetricsPage, OpenMetricsInBaseUnits) {
  const auto page = metrics_page(two_gpus(), {}, {}, now_ns(),
                                 "application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1");
  EXPECT_EQ(page.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(
      readings(page.body),
      R"(# HELP ergometer_gpu_power_watts Power as the driver states it, a mean over time or the latest value by architecture; of a node at its plug.
# TYPE ergometer_gpu_power_watts gauge
# UNIT ergometer_gpu_power_watts watts
ergometer_gpu_power_watts{gpu="0",uuid="GPU-0",model="NVIDIA H200",host="node1"} 612.5
ergometer_gpu_power_watts{gpu="1",uuid="GPU-1",model="NVIDIA H200",host="node1"} 613.5
# HELP ergometer_gpu_energy_joules Energy used, by the device's own counter.
# TYPE ergometer_gpu_energy_joules counter
# UNIT ergometer_gpu_energy_joules joules
ergometer_gpu_energy_joules_total{gpu="0",uuid="GPU-0",model="NVIDIA H200",host="node1"} 1234.5
ergometer_gpu_energy_joules_total{gpu="1",uuid="GPU-1",model="NVIDIA H200",host="node1"} 1234.5
# HELP ergometer_gpu_sm_clock_hertz Clock of the streaming multiprocessors, of AMD the compute units.
# TYPE ergometer_gpu_sm_clock_hertz gauge
# UNIT ergometer_gpu_sm_clock_hertz hertz
ergometer_gpu_sm_clock_hertz{gpu="0",uuid="GPU-0",model="NVIDIA H200",host="node1"} 1980000000
ergometer_gpu_sm_clock_hertz{gpu="1",uuid="GPU-1",model="NVIDIA H200",host="node1"} 1980000000
)");
  EXPECT_TRUE(page.body.ends_with("\n# EOF\n"));
}

TEST(MetricsPage, TheTextFormatNamesCountersWhole) {
  const auto page = metrics_page(two_gpus(), {}, {}, now_ns(), "*/*");
  EXPECT_EQ(page.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(page.body.find("# TYPE ergometer_gpu_energy_joules_total counter\n"),
            std::string::npos);
  EXPECT_EQ(page.body.find("# UNIT"), std::string::npos);
  EXPECT_EQ(page.body.find("# EOF"), std::string::npos);
}

TEST(MetricsPage, TheLatestStep) {
  const run::TrainingStep step{7, 1.25, 0, 0};
  const auto page = metrics_page({}, {}, {}, now_ns(), "", step);
  EXPECT_NE(page.body.find("\nergometer_step_seconds 1.25\n"), std::string::npos) << page.body;
  EXPECT_NE(page.body.find("\nergometer_step_number 7\n"), std::string::npos);
  EXPECT_EQ(page.body.find("tokens"), std::string::npos);
}

TEST(MetricsPage, DcgmsNamesAndUnits) {
  const auto page = metrics_page(two_gpus(), {}, {.names = NameSet::kDcgm}, now_ns(),
                                 "application/openmetrics-text");
  EXPECT_EQ(page.content_type, "text/plain; version=0.0.4; charset=utf-8");
  const std::string labels =
      R"({gpu="0",UUID="GPU-0",pci_bus_id="00000000:17:00.0",device="nvidia0",)"
      R"(modelName="NVIDIA H200",Hostname="node1"})";
  for (const char* line : {"DCGM_FI_DEV_POWER_USAGE{} 612.5\n", "DCGM_FI_DEV_SM_CLOCK{} 1980\n",
                           "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{} 1234500\n"}) {
    std::string whole = line;
    whole.replace(whole.find("{}"), 2, labels);
    EXPECT_NE(page.body.find(whole), std::string::npos) << whole << page.body;
  }
}

/// Whoever reads such pages of DCGM's finds the same numbers.
TEST(MetricsPage, DcgmsNamesReadBack) {
  Snapshot snapshot;
  const size_t device = snapshot.add_device(gpu(0));
  std::vector<Metric> told;
  for (size_t i = 0; i < static_cast<size_t>(Metric::kCount); ++i) {
    const auto metric = static_cast<Metric>(i);
    if (dcgm_name(metric) == nullptr || metric == Metric::kPcieReplays || metric == Metric::kXid)
      continue;
    told.push_back(metric);
    snapshot.set(device, metric, {1, 50.0 + static_cast<double>(i)});
  }
  const auto page = metrics_page(snapshot.look(), {}, {.names = NameSet::kDcgm}, now_ns(), "");
  std::string timed;  // as the importer reads lines with a time
  for (size_t at = 0; at < page.body.size();) {
    const size_t end = page.body.find('\n', at);
    const std::string line = page.body.substr(at, end - at);
    timed += line + (line.starts_with('#') ? "\n" : " 1700000000000\n");
    at = end + 1;
  }
  const auto log = importer::parse_telemetry(timed, "page.prom", {});
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(log->devices.size(), 1U);
  for (const Metric metric : told) {
    const run::Series* const series = log->devices[0].find(metric);
    ASSERT_NE(series, nullptr) << run::metric_info(metric).name;
    EXPECT_DOUBLE_EQ(series->samples[0].value, 50.0 + static_cast<double>(metric));
  }
}

TEST(MetricsPage, PowerUsageIsThereHoweverTheGpuStatesIt) {
  Snapshot snapshot;
  const size_t device = snapshot.add_device(gpu(0));
  const auto power_usage = [&] {
    const auto page = metrics_page(snapshot.look(), {}, {.names = NameSet::kDcgm}, now_ns(), "");
    const size_t at = page.body.find("\nDCGM_FI_DEV_POWER_USAGE{");
    const size_t value = page.body.find("} ", at) + 2;
    return at == std::string::npos ? ""
                                   : page.body.substr(value, page.body.find('\n', value) - value);
  };
  EXPECT_EQ(power_usage(), "");
  snapshot.set(device, Metric::kInstantPower, {1, 100});
  EXPECT_EQ(power_usage(), "100");
  snapshot.set(device, Metric::kAveragePower, {1, 200});
  EXPECT_EQ(power_usage(), "200");
  snapshot.set(device, Metric::kPower, {1, 300});
  EXPECT_EQ(power_usage(), "300");
}

TEST(MetricsPage, AReadingThatCameLongAgoIsLeftOut) {
  const auto latest = two_gpus();
  const MetricsOptions options{.stale_after_ns = 1'000'000'000};
  EXPECT_NE(readings(metrics_page(latest, {}, options, now_ns(), "").body), "");
  EXPECT_EQ(readings(metrics_page(latest, {}, options, now_ns() + 2'000'000'000, "").body), "");
}

TEST(MetricsPage, LabelsAreEscapedAndSamplesUnique) {
  Snapshot snapshot;
  for (int i = 0; i < 2; ++i) {
    run::Device device = make_device(DeviceKind::kPort, "a\"b\\c\nd");
    snapshot.set(snapshot.add_device(device), Metric::kNetSent, {1, 5});
  }
  EXPECT_EQ(readings(metrics_page(snapshot.look(), {}, {}, now_ns(), "").body),
            "# HELP ergometer_port_transmit_bytes_total Bytes sent.\n"
            "# TYPE ergometer_port_transmit_bytes_total counter\n"
            "ergometer_port_transmit_bytes_total{port=\"a\\\"b\\\\c\\nd\"} 5\n");
}

TEST(MetricsPage, ReasonsAreASampleEach) {
  Snapshot snapshot;
  snapshot.set(snapshot.add_device(gpu(0)), Metric::kEventReasons, {1, 0x24});
  const std::string body = metrics_page(snapshot.look(), {}, {}, now_ns(), "").body;
  EXPECT_NE(body.find("reason=\"sw_power_cap\"} 1\n"), std::string::npos);
  EXPECT_NE(body.find("reason=\"sw_thermal_slowdown\"} 1\n"), std::string::npos);
  EXPECT_NE(body.find("reason=\"gpu_idle\"} 0\n"), std::string::npos);
}

TEST(MetricsPage, TheRecordersOwn) {
  RecorderHealth health{.ticks = 100, .missed_ticks = 2, .sources = {}};
  health.sources.push_back({"nvml",
                            {{.call = "nvmlDeviceGetPowerUsage",
                              .count = 800,
                              .total_ns = 1'500'000'000,
                              .longest_ns = 4'000'000,
                              .failed = 3}}});
  const std::string body =
      metrics_page({}, health, {}, now_ns(), "", run::TrainingStep{1, 2, 0, 3}).body;
  const std::string labels = "{source=\"nvml\",call=\"nvmlDeviceGetPowerUsage\"}";
  for (const std::string& line : {std::string("ergometer_recorder_ticks_total 100\n"),
                                  std::string("ergometer_recorder_missed_ticks_total 2\n"),
                                  "ergometer_recorder_calls_total" + labels + " 800\n",
                                  "ergometer_recorder_failed_calls_total" + labels + " 3\n",
                                  "ergometer_recorder_call_seconds_total" + labels + " 1.5\n",
                                  "ergometer_recorder_longest_call_seconds" + labels + " 0.004\n"})
    EXPECT_NE(body.find('\n' + line), std::string::npos) << line << body;
}

// docs/metrics.md lists every metric; what it should hold is made here.

std::string own_rows() {
  std::string text;
  for (size_t i = 0; i < static_cast<size_t>(Metric::kCount); ++i) {
    const auto metric = static_cast<Metric>(i);
    const run::ExportedName& own = own_name(metric);
    const run::ExportedName* const dcgm = dcgm_name(metric);
    const bool counter = run::metric_info(metric).counter;
    const std::string other = dcgm == nullptr ? ""
                                              : fmt::format("`{}` ({})", dcgm->name,
                                                            dcgm->unit.empty() ? "1" : dcgm->unit);
    text +=
        fmt::format("| `{}{}` | {} | {} | {} | {} |\n", own.name, counter ? "_total" : "",
                    run::metric_info(metric).name, counter ? "counter" : "gauge", own.help, other);
  }
  return text;
}

TEST(MetricsDocument, ListsEveryMetric) {
  std::ifstream in(ERGOMETER_SOURCE_DIR "/docs/metrics.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find(own_rows()), std::string::npos) << "docs/metrics.md should hold these rows:\n"
                                                      << own_rows();
}

TEST(MetricsDocument, ListsTheRecordersOwn) {
  std::ifstream in(ERGOMETER_SOURCE_DIR "/docs/metrics.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  RecorderHealth health;
  health.sources.push_back({"proc", {{.call = "read load"}}});
  const std::string body = metrics_page({}, health, {}, now_ns(), "").body;
  constexpr std::string_view kType = "# TYPE ";
  for (size_t at = body.find(kType); at != std::string::npos; at = body.find(kType, at + 1)) {
    const size_t name = at + kType.size();
    const std::string family = body.substr(name, body.find(' ', name) - name);
    EXPECT_NE(text.find("| `" + family + "` |"), std::string::npos) << family;
  }
}

}  // namespace
}  // namespace ergometer::record
