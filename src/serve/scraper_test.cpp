#include "serve/scraper.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace ergometer::serve {
namespace {

Result<std::vector<ScrapeTarget>> targets_of(const std::string& text) {
  const std::string path = testing::TempDir() + "targets";
  std::ofstream(path) << text;
  auto read = read_scrape_targets(path);
  std::remove(path.c_str());
  return read;
}

std::string error_of(const std::string& text) {
  const auto read = targets_of(text);
  return read ? "" : read.error().message.substr(testing::TempDir().size());
}

TEST(ScrapeTargets, ALineEach) {
  const auto read =
      targets_of("# of the cluster\nnode1:9400\nhttps://node2:9443/gpu llama  # big\n\n");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->at(0).url, "http://node1:9400/metrics");
  EXPECT_EQ(read->at(0).host, "node1");
  EXPECT_EQ(read->at(0).job, "scraped");
  EXPECT_EQ(read->at(1).url, "https://node2:9443/gpu");
  EXPECT_EQ(read->at(1).job, "llama");
}

TEST(ScrapeTargets, WhatIsWrongIsNamed) {
  EXPECT_EQ(error_of("node1:9400 a b"),
            "targets:1: found 'node1:9400 a b', allowed: HOST:PORT or a URL, and a job");
  EXPECT_EQ(error_of("\nnode1"), "targets:2: found 'node1', allowed: HOST:PORT or a URL");
  EXPECT_EQ(error_of(":9400"), "targets:1: found ':9400', allowed: HOST:PORT or a URL");
  EXPECT_EQ(error_of("http:///metrics"),
            "targets:1: found 'http:///metrics', allowed: HOST:PORT or a URL");
  EXPECT_EQ(error_of("node1:1 a/b"),
            "targets:1: found job 'a/b', allowed: 1 to 64 letters, digits and .-_");
  EXPECT_EQ(
      error_of("http://me:SECRET@node1:9400 a b"),
      "targets:1: found an address with '@', allowed: HOST:PORT or a URL, without a user or a "
      "secret");
  for (const char* port : {"-5", "0", "65536", "99999999999"})
    EXPECT_EQ(error_of(std::string("node1:") + port),
              std::string("targets:1: found 'node1:") + port + "', allowed: a port of 1 to 65535");
  EXPECT_EQ(error_of("# nobody\n"), "targets: names nobody to ask; a line is HOST:PORT");
}

TEST(Scraper, APageIsAPush) {
  const ScrapeTarget target{"http://10.0.0.7:9400/metrics", "10.0.0.7", "llama"};
  const auto push =
      push_of_page(target,
                   "# TYPE ergometer_gpu_power_watts gauge\n"
                   "ergometer_gpu_power_watts{gpu=\"0\",uuid=\"GPU-0\",host=\"node1\"} 512.5\n"
                   "ergometer_gpu_clock_event_reason{gpu=\"0\",uuid=\"GPU-0\",host=\"node1\","
                   "reason=\"sw_power_cap\"} 1\n"
                   "ergometer_gpu_clock_event_reason{gpu=\"0\",uuid=\"GPU-0\",host=\"node1\","
                   "reason=\"gpu_idle\"} 0\n"
                   "ergometer_step_seconds 0.25\nergometer_step_number 7\n",
                   5'000'000'000);
  ASSERT_TRUE(push) << push.error().message;
  EXPECT_EQ(push->recorder, "scraped-10.0.0.7-9400-metrics");
  EXPECT_EQ(push->host, "node1");
  EXPECT_EQ(push->job, "llama");
  ASSERT_EQ(push->devices.size(), 1U);
  const PushBatch& batch = push->batches.at(0);
  EXPECT_EQ(batch.sequence, 5000);
  EXPECT_EQ(batch.lost_behind(1), 0);
  ASSERT_EQ(batch.readings.size(), 2U);
  EXPECT_EQ(batch.readings[0].sample.value, 512.5);
  EXPECT_EQ(batch.readings[0].sample.time_ns, 5'000'000'000);
  EXPECT_EQ(batch.readings[1].metric, run::Metric::kEventReasons);
  EXPECT_EQ(batch.readings[1].sample.value, 4);
  ASSERT_EQ(batch.steps.size(), 1U);
  EXPECT_EQ(batch.steps[0].number, 7);
}

TEST(Scraper, APageHoldsWhatAPushMay) {
  const ScrapeTarget target{"http://n:1/metrics", "n", "j"};
  const auto page = [&](size_t devices, size_t length) {
    std::string text;
    for (size_t i = 0; i < devices; ++i)
      text += "DCGM_FI_DEV_GPU_TEMP{gpu=\"" + std::to_string(i) + "\",modelName=\"" +
              std::string(length, 'x') + "\"} 61\n";
    const auto push = push_of_page(target, text, 1'000'000'000);
    return push ? std::to_string(push->devices.size()) : push.error().message;
  };
  EXPECT_EQ(page(512, 128), "512");
  EXPECT_EQ(page(513, 1), "http://n:1/metrics: found 513 devices, allowed: 512");
  EXPECT_EQ(page(1, 129), "http://n:1/metrics: found 129 bytes of a device's name, allowed: 128");
}

/// DCGM's exporter says no host that is a name of ours.
TEST(Scraper, AnotherExporter) {
  const auto push =
      push_of_page({"http://node2:9400/metrics", "node2", "j"},
                   "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",UUID=\"GPU-1\"} 61\n", 1'000'000'000);
  ASSERT_TRUE(push);
  EXPECT_EQ(push->host, "node2");
  EXPECT_EQ(push->devices.at(0).host, "node2");
  EXPECT_FALSE(push_of_page({"http://n:1/metrics", "n", "j"}, "<html>\n", 1));
}

}  // namespace
}  // namespace ergometer::serve
