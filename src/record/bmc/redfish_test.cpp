#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <thread>

#include "record/bmc/program.h"
#include "record/bmc/redfish_client.h"
#include "record/bmc/redfish_document.h"
#include "record/test_support.h"

namespace ergometer::record {
namespace {

using run::Metric;

// Documents in the form of DMTF's mock-ups (DSP2043), shortened.
constexpr const char* kPower = R"({"@odata.type": "#Power.v1_7_1.Power",
  "PowerControl": [{"PowerConsumedWatts": 8000}, {"PowerConsumedWatts": 700}],
  "PowerSupplies": [{"PowerInputWatts": 4100, "Status": {"State": "Enabled"}},
                    {"PowerInputWatts": 0, "Status": {"State": "Absent"}}]})";
constexpr const char* kThermal = R"({"@odata.type": "#Thermal.v1_7_1.Thermal",
  "Temperatures": [{"PhysicalContext": "Intake", "ReadingCelsius": 24},
                   {"PhysicalContext": "Exhaust", "ReadingCelsius": 45},
                   {"PhysicalContext": "Intake", "ReadingCelsius": null},
                   {"PhysicalContext": "CPU", "ReadingCelsius": 70}],
  "Fans": [{"Reading": 9000, "ReadingUnits": "RPM"}, {"Reading": 60, "ReadingUnits": "Percent"}]})";

TEST(RedfishDocument, PowerAndThermal) {
  NodeReadings readings;
  EXPECT_TRUE(read_redfish(kPower, readings));
  EXPECT_TRUE(read_redfish(kThermal, readings));
  EXPECT_EQ(readings.value(Metric::kPower), 8000);
  EXPECT_EQ(readings.value(Metric::kInletTemperature), 24);
  EXPECT_EQ(readings.value(Metric::kOutletTemperature), 45);
  EXPECT_EQ(readings.value(Metric::kFanSpeed), 9000);
  EXPECT_EQ(readings.value(Metric::kFan), 60);
}

TEST(RedfishDocument, WithoutATotalTheSuppliesThatAreThere) {
  NodeReadings readings;
  read_redfish(R"({"@odata.type": "#Power.v1_7_1.Power", "PowerSupplies": [
      {"PowerInputWatts": 4100}, {"PowerInputWatts": 4000}, {"Status": {"State": "Absent"}}]})",
               readings);
  EXPECT_EQ(readings.value(Metric::kPower), 8100);
}

TEST(RedfishDocument, WhatCameInTheirPlace) {
  NodeReadings readings;
  read_redfish(R"({"@odata.type": "#EnvironmentMetrics.v1_3_0.EnvironmentMetrics",
                   "PowerWatts": {"Reading": 7500}})",
               readings);
  read_redfish(R"({"@odata.type": "#ThermalMetrics.v1_0_1.ThermalMetrics",
                   "TemperatureSummaryCelsius": {"Intake": {"Reading": 22.5}}})",
               readings);
  read_redfish(R"({"@odata.type": "#Fan.v1_3_0.Fan",
                   "SpeedPercent": {"Reading": 45, "SpeedRPM": 7000}})",
               readings);
  read_redfish(R"({"@odata.type": "#Sensor.v1_7_0.Sensor", "ReadingType": "Temperature",
                   "PhysicalContext": "Exhaust", "Reading": 40})",
               readings);
  EXPECT_EQ(readings.value(Metric::kPower), 7500);
  EXPECT_EQ(readings.value(Metric::kInletTemperature), 22.5);
  EXPECT_EQ(readings.value(Metric::kOutletTemperature), 40);
  EXPECT_EQ(readings.value(Metric::kFan), 45);
  EXPECT_EQ(readings.value(Metric::kFanSpeed), 7000);
}

TEST(RedfishDocument, NothingOfItIsNeeded) {
  NodeReadings readings;
  EXPECT_FALSE(read_redfish("", readings));
  EXPECT_FALSE(read_redfish("[1]", readings));
  EXPECT_TRUE(read_redfish(R"({"@odata.type": "#Power.v1", "PowerControl": [{}],
                               "PowerSupplies": {"a": 3}})",
                           readings));
  EXPECT_TRUE(readings.metrics().empty());
  EXPECT_EQ(redfish_members(R"({"Members": [{"@odata.id": "/a"}, {}, 3]})"),
            (std::vector<std::string>{"/a"}));
}

/// A controller with one chassis and a GPU board within it.
class FakeController {
 public:
  explicit FakeController(httplib::Server& server) : server_(server) {
    page("/redfish/v1/", R"({"Chassis": {"@odata.id": "/redfish/v1/Chassis"}})");
    page("/redfish/v1/Chassis", R"({"Members": [{"@odata.id": "/redfish/v1/Chassis/HGX"},
                                                {"@odata.id": "/redfish/v1/Chassis/1"}]})");
    page("/redfish/v1/Chassis/HGX", R"({"Links": {"ContainedBy": {"@odata.id": "/x"}},
                                        "Power": {"@odata.id": "/redfish/v1/Chassis/HGX/Power"}})");
    server_.Post("/redfish/v1/SessionService/Sessions",
                 [this](const httplib::Request& request, httplib::Response& response) {
                   if (!sessions) return void(response.status = 404);
                   if (request.body.find("secret") == std::string::npos)
                     return void(response.status = 401);
                   ++logins;
                   response.status = 201;
                   response.set_header("X-Auth-Token", "token" + std::to_string(logins));
                   response.set_header("Location", "/redfish/v1/SessionService/Sessions/7");
                 });
    server_.Delete("/redfish/v1/SessionService/Sessions/7",
                   [this](const httplib::Request&, httplib::Response&) { ++logouts; });
    port = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~FakeController() {
    server_.stop();
    thread_.join();
  }
  FakeController(const FakeController&) = delete;
  FakeController& operator=(const FakeController&) = delete;

  void page(const std::string& path, const std::string& body) {
    server_.Get(path, [this, body](const httplib::Request& request, httplib::Response& response) {
      const std::string token = "token" + std::to_string(logins.load());
      const bool basic = request.get_header_value("Authorization") == "Basic cm9vdDpzZWNyZXQ=";
      if (!basic && request.get_header_value("X-Auth-Token") != token)
        return void(response.status = 401);
      if (failing) return void(response.status = 503);
      response.set_content(body, "application/json");
    });
  }
  void old_chassis() {
    page("/redfish/v1/Chassis/1", R"({"Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"},
                                      "Thermal": {"@odata.id": "/redfish/v1/Chassis/1/Thermal"}})");
    page("/redfish/v1/Chassis/1/Power", kPower);
    page("/redfish/v1/Chassis/1/Thermal", kThermal);
  }

  int port = 0;
  std::atomic<bool> sessions{true}, failing{false};
  std::atomic<int> logins{0}, logouts{0};

 private:
  httplib::Server& server_;
  std::thread thread_;
};

class Redfish : public ::testing::Test {
 protected:
  SourceOptions options(const std::string& scheme, int port) {
    tree_.write("bmc", "root:secret\n");
    std::filesystem::permissions(tree_.path("bmc"), std::filesystem::perms::owner_read);
    SourceOptions options = tree_.options();
    options.redfish = scheme + "://127.0.0.1:" + std::to_string(port) + "/";
    options.redfish_credentials = tree_.path("bmc");
    return options;
  }
  FakeTree tree_;
};

TEST_F(Redfish, PowerAndThermalOfTheChassisThatHoldsTheOthers) {
  httplib::Server server;
  FakeController controller(server);
  controller.old_chassis();
  {
    const auto source = open_redfish(options("http", controller.port));
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_TRUE((*source)->slow());
    EXPECT_EQ(look(**source), (Look{{{0, Metric::kPower}, 8000},
                                    {{0, Metric::kInletTemperature}, 24},
                                    {{0, Metric::kOutletTemperature}, 45},
                                    {{0, Metric::kFanSpeed}, 9000},
                                    {{0, Metric::kFan}, 60}}));
    EXPECT_EQ(controller.logins, 1);
  }
  EXPECT_EQ(controller.logouts, 1);
}

TEST_F(Redfish, WithoutPowerAndThermal) {
  httplib::Server server;
  FakeController controller(server);
  const std::string chassis = "/redfish/v1/Chassis/1";
  controller.page(chassis, R"({"PowerSubsystem": {"@odata.id": "/redfish/v1/Chassis/1/PS"},
                               "ThermalSubsystem": {"@odata.id": "/redfish/v1/Chassis/1/TS"},
                               "Sensors": {"@odata.id": "/redfish/v1/Chassis/1/Sensors"}})");
  controller.page(chassis + "/PS", R"({"PowerSupplies": {"@odata.id": "/redfish/v1/Supplies"}})");
  controller.page("/redfish/v1/Supplies", R"({"Members": [{"@odata.id": "/redfish/v1/S0"}]})");
  controller.page("/redfish/v1/S0", R"({"Metrics": {"@odata.id": "/redfish/v1/S0/Metrics"}})");
  controller.page("/redfish/v1/S0/Metrics",
                  R"({"@odata.type": "#PowerSupplyMetrics.v1_1_0.PowerSupplyMetrics",
                      "InputPowerWatts": {"Reading": 3000}})");
  controller.page(chassis + "/TS", R"({"Fans": {"@odata.id": "/redfish/v1/Fans"}})");
  controller.page("/redfish/v1/Fans", R"({"Members": [{"@odata.id": "/redfish/v1/F0"}]})");
  controller.page("/redfish/v1/F0", R"({"@odata.type": "#Fan.v1_3_0.Fan",
                                        "SpeedPercent": {"Reading": 45, "SpeedRPM": 7000}})");
  controller.page(chassis + "/Sensors", R"({"Members": [{"@odata.id": "/redfish/v1/Inlet_Temp"},
                                                        {"@odata.id": "/redfish/v1/CPU_Temp"}]})");
  controller.page("/redfish/v1/Inlet_Temp",
                  R"({"@odata.type": "#Sensor.v1_7_0.Sensor", "ReadingType": "Temperature",
                      "PhysicalContext": "Intake", "Reading": 21})");
  const auto source = open_redfish(options("http", controller.port));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(look(**source), (Look{{{0, Metric::kPower}, 3000},
                                  {{0, Metric::kInletTemperature}, 21},
                                  {{0, Metric::kFanSpeed}, 7000},
                                  {{0, Metric::kFan}, 45}}));
}

TEST_F(Redfish, LogsInAgainWhenItsSessionEnded) {
  httplib::Server server;
  FakeController controller(server);
  controller.old_chassis();
  const auto source = open_redfish(options("http", controller.port));
  ASSERT_TRUE(source);
  ++controller.logins;  // the token of before no longer counts
  EXPECT_EQ(look(**source).size(), 5U);
  EXPECT_EQ(controller.logins, 3);
}

TEST_F(Redfish, BasicAuthenticationWithoutASessionService) {
  httplib::Server server;
  FakeController controller(server);
  controller.old_chassis();
  controller.sessions = false;
  EXPECT_TRUE(open_redfish(options("http", controller.port)));
}

TEST_F(Redfish, ThatStopsAnsweringIsNotedOnce) {
  httplib::Server server;
  FakeController controller(server);
  controller.old_chassis();
  const auto source = open_redfish(options("http", controller.port));
  ASSERT_TRUE(source);
  controller.failing = true;
  Batch batch;
  (*source)->read(batch);
  (*source)->read(batch);
  controller.failing = false;
  (*source)->read(batch);
  EXPECT_EQ(batch.readings.size(), 5U);
  ASSERT_EQ(batch.notes.size(), 2U);
  EXPECT_NE(batch.notes[0].find("HTTP status 503"), std::string::npos);
  EXPECT_EQ(batch.notes[1], "redfish: answers again");
}

TEST_F(Redfish, AWrongPasswordAndNobodyThere) {
  int port = 0;
  {
    httplib::Server server;
    FakeController controller(server);
    port = controller.port;
    SourceOptions wrong = options("http", controller.port);
    tree_.write("wrong", "root:other");
    std::filesystem::permissions(tree_.path("wrong"), std::filesystem::perms::owner_read);
    wrong.redfish_credentials = tree_.path("wrong");
    const auto source = open_redfish(wrong);
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().kind, base::ErrorKind::kMissing);
    EXPECT_NE(source.error().message.find("user 'root' is not let in"), std::string::npos);
  }
  const auto source = open_redfish(options("http", port));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, base::ErrorKind::kMissing);
}

TEST_F(Redfish, ASelfSignedCertificateIsTrustedByNameOnly) {
  ASSERT_TRUE(run_program({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                           tree_.path("key"), "-out", tree_.path("certificate"), "-days", "2",
                           "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"},
                          60));
  httplib::SSLServer server(tree_.path("certificate").c_str(), tree_.path("key").c_str());
  FakeController controller(server);
  controller.old_chassis();
  SourceOptions asked = options("https", controller.port);
  const auto refused = open_redfish(asked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kMissing);
  EXPECT_NE(refused.error().message.find("signed by nobody"), std::string::npos);
  asked.redfish_certificate = tree_.path("certificate");
  EXPECT_TRUE(open_redfish(asked));
  asked.redfish_certificate.clear();
  asked.redfish_insecure = true;
  EXPECT_TRUE(open_redfish(asked));
}

TEST_F(Redfish, WhatCannotBeUsedIsAnInputError) {
  const auto kind = [](const RedfishOptions& options) {
    const auto client = redfish_client(options);
    return client ? base::ErrorKind::kNo : client.error().kind;
  };
  for (const char* url : {"bmc", "https://", "ftp://bmc", "https://user:word@bmc", "http://bmc"})
    EXPECT_EQ(kind({.url = url, .credentials = "", .certificate = ""}), base::ErrorKind::kInput)
        << url;
  tree_.write("open", "root:secret");
  tree_.write("bare", "secret");
  std::filesystem::permissions(tree_.path("bare"), std::filesystem::perms::owner_read);
  for (const char* file : {"open", "bare", "none"})
    EXPECT_EQ(kind({.url = "https://bmc", .credentials = tree_.path(file), .certificate = ""}),
              base::ErrorKind::kInput)
        << file;
}

}  // namespace
}  // namespace ergometer::record
