#include "report/timeline/trace.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/test_support.h"
#include "report/summary/example_run.h"
#include "report/timeline/kineto_trace.h"

namespace ergometer::report {
namespace {

using Json = nlohmann::json;

std::string trace_text(const run::Run& run) {
  const base::TestFolder temporary;
  EXPECT_TRUE(write_trace(run, temporary.path("trace.json")));
  return temporary.bytes("trace.json");
}

std::vector<Json> events(const Json& trace, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase && event.value("cat", "") != "parent") found.push_back(event);
  }
  return found;
}

TEST(Trace, KernelsAreCompleteEventsInMicrosecondsWithTheirNanoseconds) {
  const std::string text = trace_text(example_run());
  EXPECT_NE(text.find(R"("ts":3.500,"dur":1.001)"), std::string::npos);
  const auto kernels = events(Json::parse(text), "X");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].at("name"), "qkv");
  EXPECT_EQ(kernels[0].at("pid"), 0);
  EXPECT_EQ(kernels[0].at("tid"), 0);
  EXPECT_EQ(kernels[0].at("args"),
            Json::parse(R"({"micro_batch":0,"chunk":0,"layer":3,"flops":1e12,"bytes":2e6})"));
}

TEST(Trace, EveryRankIsAProcessAndEveryStreamANamedTrack) {
  run::Run run = example_run();
  run::Rank other;
  other.rank = 2;
  other.node = 1;
  run.ranks.push_back(other);
  std::vector<std::string> names;
  for (const Json& event : events(Json::parse(trace_text(run)), "M")) {
    if (event.at("args").contains("name")) names.push_back(event.at("args").at("name"));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"rank 0, stage 0, node 0", "compute", "pipeline forward",
                                      "rank 2, stage 1, node 1", "pipeline forward"}));
}

TEST(Trace, AnArrowLeadsFromASendToItsReceiveOnTheNextStage) {
  // tp 2: rank 0 of stage 0 sends to rank 2 of stage 1.
  const Json trace = Json::parse(trace_text(example_run()));
  const auto starts = events(trace, "s"), ends = events(trace, "f");
  ASSERT_EQ(starts.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(starts[0].at("pid"), 0);
  EXPECT_EQ(ends[0].at("pid"), 2);
  EXPECT_EQ(starts[0].at("id"), ends[0].at("id"));
  EXPECT_EQ(starts[0].at("ts"), 3.5);
  EXPECT_EQ(ends[0].at("ts"), 4.599);
}

TEST(Trace, AnArrowToAReceivePostedEarlyDoesNotLeadBackInTime) {
  run::Run run = example_run();
  run.kernels[2].start_ns = 1000;  // ends with the send, at 4501
  run.kernels[2].duration_ns = 3501;
  const Json trace = Json::parse(trace_text(run));
  EXPECT_EQ(events(trace, "s").at(0).at("ts"), 3.5);
  EXPECT_EQ(events(trace, "f").at(0).at("ts"), 4.5);
}

TEST(Trace, AReceiveFromAnotherMicroBatchHasNoArrow) {
  run::Run run = example_run();
  run.kernels[2].micro_batch = 1;
  EXPECT_TRUE(events(Json::parse(trace_text(run)), "s").empty());
}

TEST(Trace, TheInterleavedRingWrapsToTheNextChunk) {
  // The last stage's forward output of chunk 0 is the first stage's input of chunk 1.
  run::Run run = example_run();
  run.kernels = {{2, 5, "send_forward", "send_recv", 100, 10, 0, 0, -1, 0, 0, 8e6},
                 {0, 5, "recv_forward", "send_recv", 200, 10, 0, 1, -1, 0, 0, 8e6}};
  const Json trace = Json::parse(trace_text(run));
  ASSERT_EQ(events(trace, "s").size(), 1u);
  EXPECT_EQ(events(trace, "s")[0].at("pid"), 2);
}

/// A kernel runs from 1 to 2 us and one after a wait for others at 3 us; before 0 to 1 us and 4 to
/// 6 us nothing ran and nobody waited: there the host was late.
TEST(KinetoTrace, LaunchesAreLateWhereTheHostIs) {
  run::Run run = example_run();
  const auto kernel = [](const char* category, int64_t from_ns, int64_t to_ns) {
    run::Kernel one;
    one.name = std::string(category) + " [op]";
    one.category = category;
    one.start_ns = from_ns;
    one.duration_ns = to_ns - from_ns;
    return one;
  };
  const std::vector<run::Kernel> kernels = {kernel("gemm", 1000, 2000), kernel("wait", 2000, 3000),
                                            kernel("gemm", 3000, 4000), kernel("gemm", 6000, 7000),
                                            kernel("gemm", 7000, 8000)};
  const base::TestFolder temporary;
  const auto source = [&](const std::function<void(const run::Kernel&)>& take) {
    for (const run::Kernel& one : kernels) take(one);
  };
  ASSERT_TRUE(write_kineto(run, source, temporary.path("kineto.json")));
  const Json trace = Json::parse(temporary.bytes("kineto.json"));
  std::map<int64_t, double> called;
  for (const Json& event : trace.at("traceEvents"))
    if (event.value("cat", "") == "cuda_runtime")
      called[event.at("args").at("correlation").get<int64_t>()] = event.at("ts").get<double>();
  EXPECT_EQ(called, (std::map<int64_t, double>{{1, 1.0}, {2, 1.002}, {3, 6.0}, {4, 6.002}}));
}

TEST(Trace, AnEmptyRunIsAValidTrace) {
  EXPECT_TRUE(Json::parse(trace_text({})).at("traceEvents").empty());
}

/// What is traced comes from the source alone, whatever the Run holds.
TEST(Trace, KernelsMayComeOneByOne) {
  const run::Run whole = example_run();
  run::Run without = whole;
  without.kernels.clear();
  const base::TestFolder temporary;
  const KernelSource each = [&](const auto& use) {
    for (run::Kernel kernel : whole.kernels) use(kernel);  // each is gone after its use
  };
  ASSERT_TRUE(write_trace(without, each, temporary.path("trace.json")));
  EXPECT_EQ(temporary.bytes("trace.json"), trace_text(whole));
}

}  // namespace
}  // namespace ergometer::report
