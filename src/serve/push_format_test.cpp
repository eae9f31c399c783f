#include "serve/push_format.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "record/push/pusher.h"

namespace ergometer::serve {
namespace {

using run::Metric;

const std::string kHead =
    R"({"ergometer_push":1,"recorder":"a1","host":"node1","job":"4711","devices":[)"
    R"({"kind":"gpu","index":3,"name":"NVIDIA H100"},{"kind":"port","name":"mlx5_0"}]})"
    "\n";

std::string batch(const std::string& rows) {
  return R"({"sequence":7,"time_ns":5000,"monotonic_ns":10,"metrics":["power","sm_clock","new"],)"
         R"("rows":[)" +
         rows + "]}\n";
}

std::string problem(const std::string& text) { return base::error_of(PushReader().read(text)); }

TEST(PushFormat, ReadsHeadAndRows) {
  const auto push = PushReader().read(kHead + batch("[0,-1000,0,512.5,1,1980],[1,0,2,9,0,1.5]"));
  ASSERT_TRUE(push) << push.error().message;
  EXPECT_EQ(push->host, "node1");
  EXPECT_EQ(push->devices[0].index, 3);
  EXPECT_EQ(push->devices[1].kind, run::DeviceKind::kPort);
  EXPECT_EQ(push->devices[1].host, "node1");
  const PushBatch& read = push->batches.at(0);
  EXPECT_EQ(read.sequence, 7);
  ASSERT_EQ(read.readings.size(), 3u);  // "new" is no metric that is known here
  EXPECT_EQ(read.readings[0].sample.time_ns, 4000);
  EXPECT_EQ(read.readings[1].metric, Metric::kSmClock);
  EXPECT_EQ(read.readings[2].device, 1u);
  EXPECT_EQ(read.readings[2].sample.value, 1.5);
}

TEST(PushFormat, APredictionIsReadOrRefused) {
  const std::string prediction =
      R"({"job": "a.yaml", "gpus": 8, "quantities": [{"name": "step_time_s", "unit": "s", )"
      R"("value": 2, "low": 1.5, "high": 2.5}]})";
  const auto with = [&](const std::string& text) {
    std::string head = kHead;
    return head.insert(1, "\"prediction\":" + text + ",") + batch("[0,0,0,1]");
  };
  const auto push = PushReader().read(with(prediction));
  ASSERT_TRUE(push) << push.error().message;
  EXPECT_EQ(push->prediction, prediction);
  EXPECT_EQ(problem(with("7")), "line 1: prediction: is no JSON object");
  EXPECT_EQ(problem(with(R"({"job": "a"})")), "line 1: prediction: \"gpus\" is missing or wrong");
}

TEST(PushFormat, PassesOverWhatNoSensorReads) {
  const auto push = PushReader().read(kHead + batch("[0,0,0,-5,1,1e9]"));
  ASSERT_TRUE(push);
  EXPECT_TRUE(push->batches[0].readings.empty());
}

TEST(PushFormat, SaysWhatIsWrongInWhichLine) {
  EXPECT_EQ(problem(""), "line 1: is missing");
  EXPECT_EQ(problem(kHead + batch("") + batch("")),
            "line 3: \"sequence\": a higher number than the line before has is expected");
  EXPECT_EQ(problem(kHead + "{}"),
            "line 2: \"sequence\": a whole number from 1 to 4611686018427387904 is expected");
  EXPECT_NE(problem(kHead + batch("[2,0,0,1]")), "");      // no such device
  EXPECT_NE(problem(kHead + batch("[0,0,3,1]")), "");      // no such metric
  EXPECT_NE(problem(kHead + batch("[0,0,0]")), "");        // no value
  EXPECT_NE(problem(kHead + batch("[0,-6000,0,1]")), "");  // before 1970
}

TEST(PushFormat, ReadsWhatARecorderWrites) {
  record::Snapshot snapshot;
  run::Device gpu;
  gpu.index = 0;
  gpu.name = "a \"GPU\"";
  snapshot.add_device(gpu);
  record::PushWriter writer({{}, "node1", "job"}, "a1", 1);
  snapshot.set(0, Metric::kPower, {900, 512.25});
  snapshot.set(0, Metric::kSmClock, {950, 1980});
  const std::string first = writer.batch(snapshot.look(), {1000, 50, 0}, false);
  snapshot.set(0, Metric::kPower, {1900, 500});
  snapshot.add_step({7, 1.25, 1800, 6012});
  const std::string second =
      writer.batch(snapshot.look(), {2000, 1050, 0}, true, snapshot.steps_since(0).steps);
  const auto push = PushReader().read(writer.head(snapshot.look()) + first + second);
  ASSERT_TRUE(push) << push.error().message;
  EXPECT_EQ(push->devices[0].name, gpu.name);
  ASSERT_EQ(push->batches[0].readings.size(), 2u);
  EXPECT_EQ(push->batches[0].readings[0].sample.time_ns, 900);
  EXPECT_EQ(push->batches[0].readings[0].sample.value, 512.25);
  ASSERT_EQ(push->batches[1].readings.size(), 1u);  // the clock was sent before
  EXPECT_EQ(push->batches[1].readings[0].sample.value, 500);
  EXPECT_FALSE(push->batches[0].end);
  EXPECT_TRUE(push->batches[1].end);
  EXPECT_TRUE(push->batches[0].steps.empty());
  ASSERT_EQ(push->batches[1].steps.size(), 1u);
  const run::TrainingStep& step = push->batches[1].steps[0];
  EXPECT_EQ(step.number, 7);
  EXPECT_EQ(step.seconds, 1.25);
  EXPECT_EQ(step.end_ns, 1800);
  EXPECT_EQ(step.tokens_per_s_per_gpu, 6012);
}

/// A Run of two nodes that is played back stays two nodes; the node that plays it has none of the
/// GPUs.
TEST(PushFormat, DevicesOfOtherNodesKeepTheirHosts) {
  record::Snapshot snapshot;
  for (const char* host : {"node a", "node-b"}) {
    run::Device gpu;
    gpu.index = 0;
    gpu.host = host;
    snapshot.add_device(gpu);
  }
  snapshot.set(0, Metric::kPower, {900, 512.25});
  record::PushWriter writer({{}, "player", "job"}, "a1", 1);
  const std::string first = writer.batch(snapshot.look(), {1000, 50, 0}, false);
  const auto push = PushReader().read(writer.head(snapshot.look()) + first);
  ASSERT_TRUE(push) << push.error().message;
  EXPECT_EQ(push->host, "node-a");
  EXPECT_EQ(push->devices[0].host, "node-a");
  EXPECT_EQ(push->devices[1].host, "node-b");
  const std::string head =
      R"({"ergometer_push":1,"recorder":"a1","host":"node1","job":"4711","devices":[)"
      R"({"kind":"gpu","index":3,"host":"../x"}]})"
      "\n";
  EXPECT_EQ(
      problem(head + batch("[0,0,0,1]")),
      "line 1: \"host\": 1 to 64 letters, digits, '.', '-' and '_', no '.' first is expected");
}

TEST(PushFormat, RefusesStepsThatAreNone) {
  const auto with = [](const char* steps) {
    std::string text = kHead + batch("[0,0,0,1]");
    text.insert(text.rfind('}'), std::string(",\"steps\":") + steps);
    return problem(text);
  };
  EXPECT_EQ(with("[[1,2.5,0,0]]"), "");
  EXPECT_NE(with("7"), "");
  EXPECT_NE(with("[[1,2.5,0]]"), "");
  EXPECT_NE(with("[[-1,2.5,0,0]]"), "");
  EXPECT_NE(with("[[1,\"long\",0,0]]"), "");
}

TEST(PushFormat, JobsHaveNamesThatFilesMayHave) {
  EXPECT_EQ(record::push_job("my job/../x", "h", 0), "my-job-..-x");
  EXPECT_EQ(record::push_job("..", "h", 0), "-.");
  EXPECT_TRUE(record::push_job("", "node1", 0).starts_with("node1-1970") ||
              record::push_job("", "node1", 0).starts_with("node1-1969"));
}

}  // namespace
}  // namespace ergometer::serve
