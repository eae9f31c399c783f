#include "import/kineto/kineto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/test_support.h"
#include "import/bytes/test_source.h"
#include "import/bytes/window.h"

namespace ergometer::importer {
namespace {

/// Text in pieces of a given size, as a pipe would bring it.
class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string text, size_t piece = 1 << 20)
      : text_(std::move(text)), piece_(piece) {}
  Result<size_t> read(char* to, size_t bytes) override {
    const size_t count = std::min({bytes, piece_, text_.size() - at_});
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  size_t piece_, at_ = 0;
};

run::RankTrace kineto_of(const std::string& text, size_t piece = 1 << 20) {
  TextSource source(text, piece);
  return base::value_of(read_kineto(source, "t.json"));
}

std::string kineto_error(const std::string& text) {
  TextSource source(text);
  return base::error_of(read_kineto(source, "t.json"));
}

TEST(Kineto, KernelsOfOneNameAreOfOneClassAndCopiesOfNone) {
  const std::string event = R"({"ph":"X","cat":"%","name":"$","tid":7,"ts":1,"dur":2})";
  std::string text = "[";
  for (const auto& [category, name] : {std::pair("kernel", "gemm"),
                                       {"kernel", "my_NcCl_kernel"},
                                       {"gpu_memcpy", "gemm"},
                                       {"kernel", "gemm"},
                                       {"gpu_memcpy", "my_NcCl_kernel"},
                                       {"kernel", "RCCL"},
                                       {"kernel", "my_NcCl_kernel"}}) {
    std::string one = event;
    one.replace(one.find('%'), 1, category).replace(one.find('$'), 1, name);
    text += (text.size() > 1 ? "," : "") + one;
  }
  std::vector<run::GpuClass> found;
  for (const run::GpuEvent& gpu : kineto_of(text + "]").events) found.push_back(gpu.kind);
  using enum run::GpuClass;
  EXPECT_EQ(found, (std::vector{kCompute, kCommunication, kMemory, kCompute, kMemory,
                                kCommunication, kCommunication}));
}

TEST(Kineto, ReadsAnEventWhateverTheOrderOfItsKeys) {
  const run::RankTrace trace = kineto_of(
      R"([{"ph":"X","cat":"kernel","name":"a","pid":2,"tid":7,"ts":1.5,"dur":2,"args":{"correlation":9}},
          {"args":{"correlation":8,"stream":3,"device":1},"dur":0.001,"cat":"gpu_memset","ts":"4","name":"b","ph":"X"},
          {"tid":"stream 12","name":"c","cat":"Memcpy","ph":"X","ts":5,"dur":1}])");
  ASSERT_EQ(trace.events.size(), 3u);
  EXPECT_EQ(trace.events[0].start_ns, 1500);
  EXPECT_EQ(trace.events[0].duration_ns, 2000);
  EXPECT_EQ(trace.events[0].correlation, 9);
  EXPECT_EQ(trace.events[0].device, 2);
  EXPECT_EQ(trace.events[0].stream, 7);
  EXPECT_EQ(trace.events[1].correlation, 8);
  EXPECT_EQ(trace.events[1].stream, 3);
  EXPECT_EQ(trace.events[1].device, 1);
  EXPECT_EQ(trace.events[1].duration_ns, 1);
  EXPECT_EQ(trace.events[1].kind, run::GpuClass::kMemory);
  EXPECT_EQ(trace.events[2].stream, 12);
  EXPECT_EQ(trace.events[2].kind, run::GpuClass::kMemory);
}

TEST(Kineto, TellsCommunicationByTheKernelsName) {
  const run::RankTrace trace = kineto_of(
      R"([{"ph":"X","cat":"kernel","name":"ncclDevKernel_X","ts":1,"dur":1},
          {"ph":"X","cat":"kernel","name":"rcclGenericKernel","ts":1,"dur":1},
          {"ph":"X","cat":"gpu_memcpy","name":"nccl copy","ts":1,"dur":1},
          {"ph":"X","cat":"kernel","name":"deep_ep::dispatch","ts":1,"dur":1}])");
  ASSERT_EQ(trace.events.size(), 4u);
  EXPECT_EQ(trace.events[0].kind, run::GpuClass::kCommunication);
  EXPECT_EQ(trace.events[1].kind, run::GpuClass::kCommunication);
  EXPECT_EQ(trace.events[2].kind, run::GpuClass::kMemory);
  EXPECT_EQ(trace.events[3].kind, run::GpuClass::kCompute);
}

TEST(Kineto, ResolvesEscapesInNames) {
  const run::RankTrace trace = kineto_of(
      R"([{"ph":"X","cat":"kernel","name":"a\"\\\u00e9\ud83d\ude00\ud800z","ts":1,"dur":1}])");
  ASSERT_EQ(trace.names.size(), 1u);
  EXPECT_EQ(trace.names[0], "a\"\\\u00e9\U0001F600\uFFFDz");
}

TEST(Kineto, ReadsWhatStandsBesideTheEvents) {
  const run::RankTrace trace = kineto_of(
      R"({"traceEvents":[],"deviceProperties":[{"id":0,"name":"H100"},{"id":1}],
          "baseTimeNanoseconds":1711964646000000000,
          "distributedInfo":{"backend":"nccl","rank":5,"world_size":8,"pg_config":[{"ranks":[0,1]}]}})");
  EXPECT_EQ(trace.rank, 5);
  EXPECT_EQ(trace.world_size, 8);
  EXPECT_EQ(trace.base_time_ns, 1711964646000000000);
  EXPECT_EQ(trace.gpu, "H100");
}

TEST(Kineto, BelievesTheFilesNameWhereThereIsNoProcessGroup) {
  TextSource source(R"({"distributedInfo":{"rank":0},"traceEvents":[]})");
  EXPECT_EQ(read_kineto(source, "rank-3.json")->rank, 3);
  EXPECT_EQ(kineto_of(R"({"distributedInfo":{"rank":0},"traceEvents":[]})").rank, 0);
  EXPECT_EQ(kineto_of(R"({"traceEvents":[],"traceName":"./traces/rank2_iter1.json"})").rank, 2);
  EXPECT_EQ(kineto_of(R"({"traceEvents":[]})").rank, -1);
}

// What takes 20 us without putting anything on the GPU may be why that idles.
TEST(Kineto, KeepsLongCallsThatLaunchNothing) {
  const run::RankTrace trace = kineto_of(R"([
  {"ph":"X","cat":"cuda_runtime","name":"cudaFree","tid":6,"ts":50,"dur":20,"args":{"correlation":1}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","tid":6,"ts":1,"dur":19.9,"args":{"correlation":2}},
  {"ph":"X","cat":"kernel","name":"gemm","ts":5,"dur":6,"args":{"correlation":7,"stream":7}}])");
  ASSERT_EQ(trace.waits.size(), 1u);
  EXPECT_EQ(trace.names[trace.waits[0].name], "cudaFree");
  EXPECT_EQ(trace.waits[0].thread, 6);
  EXPECT_EQ(trace.waits[0].start_ns, 50000);
}

/// One kernel, launched by aten::mm within aten::linear, and an operator that launches nothing.
constexpr const char* kOperators = R"([
  {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":5,"tid":6,"ts":1,"dur":9,"args":{"External id":3,
   "Record function id":21,"Sequence number":40,"Fwd thread id":0,"Input Dims":[[4, 8], [16, 8], []],
   "Input type":["c10::BFloat16", "c10::BFloat16", ""],"Concrete Inputs":["", "", ""]}},
  {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":5,"tid":6,"ts":2,"dur":7,"args":{"External id":4,
   "Input Dims":[[
     4,
     8], [8,16]],"Input Strides":[[8, 1], [1, 8]]}},
  {"ph":"X","cat":"cpu_op","name":"aten::view","pid":5,"tid":6,"ts":1.5,"dur":0.1,"args":{"External id":5}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":6,"ts":3,"dur":1,
   "args":{"External id":4,"correlation":7}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":5,"tid":6,"ts":12,"dur":5,
   "args":{"External id":9,"correlation":8}},
  {"ph":"X","cat":"kernel","name":"gemm","ts":5,"dur":6,"args":{"correlation":7,"stream":7}},
  {"ph":"X","cat":"python_function","name":"train.py(3): step","pid":5,"tid":6,"ts":1,"dur":20},
  {"ph":"X","cat":"user_annotation","name":"## forward ##","pid":5,"tid":6,"ts":0.5,"dur":10,"args":{"External id":1}},
  {"ph":"X","cat":"gpu_user_annotation","name":"## forward ##","pid":0,"tid":7,"ts":5,"dur":6}])";

TEST(Kineto, KeepsOperatorsThatLaunchedAndThoseAround) {
  const run::RankTrace trace = kineto_of(kOperators);
  ASSERT_EQ(trace.operators.size(), 2u);
  const run::Operator &linear = trace.operators[0], &mm = trace.operators[1];
  EXPECT_EQ(trace.names[linear.name], "aten::linear");
  EXPECT_EQ(trace.names[linear.shapes], "[[4, 8], [16, 8], []]");
  EXPECT_EQ(trace.names[linear.dtypes], R"(["c10::BFloat16", "c10::BFloat16", ""])");
  EXPECT_EQ(linear.values, run::GpuEvent::kNone);  // its name needs none
  EXPECT_EQ(linear.external_id, 3);
  EXPECT_EQ(linear.record_function_id, 21);
  EXPECT_EQ(linear.sequence, 40);
  EXPECT_EQ(linear.forward_thread, -1);
  EXPECT_EQ(linear.thread, 6);
  EXPECT_EQ(linear.start_ns, 1000);
  EXPECT_EQ(linear.duration_ns, 9000);
  EXPECT_EQ(trace.names[mm.name], "aten::mm");
  EXPECT_EQ(trace.names[mm.shapes], "[[4, 8], [8, 16]]");  // on one line
  EXPECT_EQ(mm.sequence, -1);
  for (const std::string& name : trace.names) {
    EXPECT_NE(name, "aten::view");
    EXPECT_NE(name, "train.py(3): step");
  }
}

TEST(Kineto, KeepsRangesAndWaits) {
  const run::RankTrace trace = kineto_of(kOperators);
  ASSERT_EQ(trace.ranges.size(), 2u);
  EXPECT_EQ(trace.names[trace.ranges[0].name], "## forward ##");
  EXPECT_FALSE(trace.ranges[0].gpu);
  EXPECT_EQ(trace.ranges[0].thread, 6);
  EXPECT_TRUE(trace.ranges[1].gpu);
  EXPECT_EQ(trace.ranges[1].thread, 7);
  EXPECT_EQ(trace.ranges[1].start_ns, 5000);
  ASSERT_EQ(trace.launches.size(), 1u);
  EXPECT_EQ(trace.names[trace.launches[0].name], "cudaLaunchKernel");
  EXPECT_EQ(trace.launches[0].thread, 6);
  ASSERT_EQ(trace.waits.size(), 1u);
  EXPECT_EQ(trace.names[trace.waits[0].name], "cudaStreamSynchronize");
  EXPECT_EQ(trace.waits[0].duration_ns, 5000);
  EXPECT_EQ(dropped(trace, "not a GPU event"), 8);
}

// 2021: category Operator, "Input dims", and ranges among the operators.
TEST(Kineto, KeepsOperatorsOfTheOldestSchema) {
  const run::RankTrace trace = kineto_of(R"([
    {"ph":"X","cat":"Operator","name":"aten::mm","pid":5,"tid":"6","ts":1,"dur":9,
     "args":{"Input dims":[[4, 8], [8, 16]],"Input type":[],"External id":47}},
    {"ph":"X","cat":"Operator","name":"Optimizer.step#SGD.step","pid":5,"tid":"6","ts":0,"dur":20,"args":{}},
    {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":5,"tid":"6","ts":2,"dur":1,
     "args":{"external id":47,"correlation":7}},
    {"ph":"X","cat":"Kernel","name":"gemm","ts":5,"dur":6,"args":{"correlation":7,"stream":7}}])");
  ASSERT_EQ(trace.operators.size(), 1u);
  EXPECT_EQ(trace.names[trace.operators[0].shapes], "[[4, 8], [8, 16]]");
  EXPECT_EQ(trace.operators[0].dtypes, run::GpuEvent::kNone);
  EXPECT_EQ(trace.operators[0].external_id, 47);
  ASSERT_EQ(trace.ranges.size(), 1u);
  EXPECT_EQ(trace.names[trace.ranges[0].name], "Optimizer.step#SGD.step");
}

TEST(Kineto, ReadsOperatorsWhateverTheKeysOrder) {
  const run::RankTrace trace = kineto_of(R"([
    {"args":{"Concrete Inputs":["", "", "[2, 2]"],"Input Dims":[[1], [1], []],"External id":4},"dur":7,"ts":2,
     "tid":6,"name":"aten::conv2d","cat":"cpu_op","ph":"X"},
    {"args":{"External id":4,"correlation":7},"ph":"X","cat":"cuda_runtime","name":"l","tid":6,"ts":3,"dur":1},
    {"ph":"X","cat":"kernel","name":"k","ts":5,"dur":6,"args":{"correlation":7}}])");
  ASSERT_EQ(trace.operators.size(), 1u);
  EXPECT_EQ(trace.names[trace.operators[0].values], R"(["", "", "[2, 2]"])");
  EXPECT_EQ(trace.names[trace.operators[0].shapes], "[[1], [1], []]");
}

TEST(Kineto, FindsTheCollectiveBehindAKernelThroughItsLaunch) {
  const run::RankTrace trace = kineto_of(
      R"([{"ph":"X","cat":"kernel","name":"ncclDevKernel_Generic","ts":9,"dur":1,"args":{"correlation":7}},
          {"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","ts":2,"dur":1,"args":{"correlation":7,"External id":4}},
          {"ph":"X","cat":"cpu_op","name":"record_param_comms","ts":1,"dur":3,"args":{"External id":4,
           "Collective name":"_reduce_scatter_base","In msg nelems":64,"dtype":"BFloat16","Group size":8,
           "Process Group Name":"2"}}])");
  ASSERT_EQ(trace.events.size(), 1u);
  ASSERT_NE(trace.events[0].collective, run::GpuEvent::kNone);
  const run::Collective& collective = trace.collectives[trace.events[0].collective];
  EXPECT_EQ(collective.name, "_reduce_scatter_base");
  EXPECT_EQ(collective.in_elements, 64);
  EXPECT_EQ(collective.out_elements, -1);
  EXPECT_EQ(collective.group_size, 8);
  EXPECT_EQ(collective.group, "2");
  ASSERT_EQ(trace.launches.size(), 1u);
  EXPECT_EQ(trace.launches[0].start_ns, 2000);
}

TEST(Kineto, TakesStepMarksOfTheCpuOnly) {
  const run::RankTrace trace = kineto_of(
      R"([{"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","ts":20,"dur":9},
          {"ph":"X","cat":"Operator","name":"ProfilerStep#4","ts":10,"dur":9},
          {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#4","ts":12,"dur":1}])");
  ASSERT_EQ(trace.steps.size(), 2u);
  EXPECT_EQ(trace.steps[0].number, 4);
  EXPECT_EQ(trace.steps[1].end_ns, 29000);
}

// Two threads mark step 4 together, and a later profile marks it again.
TEST(Kineto, OneStepMarkedTwiceIsOne) {
  const run::RankTrace trace = kineto_of(
      R"([{"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","tid":1,"ts":10,"dur":9},
          {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","tid":2,"ts":11,"dur":9},
          {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","tid":1,"ts":30,"dur":9}])");
  ASSERT_EQ(trace.steps.size(), 2u);
  EXPECT_EQ(trace.steps[0].end_ns, 20000);
  EXPECT_EQ(trace.steps[1].start_ns, 30000);
}

/// Many windows' worth of events whose arguments hold what looks like the end of an event.
std::string long_trace(int events) {
  std::string text = R"({"traceEvents": [)";
  for (int i = 0; i < events; ++i) {
    if (i > 0) text += ",\n  ";
    text += R"({"ph":"X","cat":")";
    text += i % 3 == 0 ? "kernel" : "cpu_op";
    text += R"(","name":"k","ts":)" + std::to_string(i) + R"(.5,"dur":0.25,"args":{"list":[)";
    for (int j = 0; j < i % 50; ++j) text += R"({"x":{"y":"}, {"}}, )";
    text += R"({"a":"\\\"}, {\"ph"}],"stream":7}})";
  }
  return text + R"(], "deviceProperties": [{"name": "A"}, {"name": "B"}], "x": [{}, {}]})";
}

TEST(Kineto, ReadsEveryEventOnceWhereverWindowsCut) {
  constexpr int kEvents = 30000;
  const std::string text = long_trace(kEvents);
  ASSERT_GT(text.size(), 16 * Window::kFirstBytes);
  for (const size_t piece : {size_t{1} << 20, size_t{4099}}) {
    const run::RankTrace trace = kineto_of(text, piece);
    ASSERT_EQ(trace.events.size(), kEvents / 3u);
    EXPECT_EQ(dropped(trace, "not a GPU event"), 2 * kEvents / 3);
    EXPECT_EQ(trace.dropped.size(), 1u);
    EXPECT_EQ(trace.gpu, "A");
    EXPECT_FALSE(trace.truncated);
    for (size_t i = 0; i < trace.events.size(); ++i)
      ASSERT_EQ(trace.events[i].start_ns, static_cast<int64_t>(i) * 3000 + 500);
  }
}

TEST(Kineto, ReadsAnEventLargerThanAWindow) {
  const std::string filler(3 * Window::kFirstBytes, 'x');
  const run::RankTrace trace =
      kineto_of(R"([{"ph":"X","cat":"kernel","name":"a","ts":1,"dur":1,"args":{"x":")" + filler +
                R"("}},{"ph":"X","cat":"kernel","name":"b","ts":2,"dur":1}])");
  EXPECT_EQ(trace.events.size(), 2u);
  EXPECT_TRUE(trace.dropped.empty());
}

TEST(Kineto, StepsOverAnEventThatIsTooLarge) {
  const std::string filler(Window::kMostBytes, 'x');
  const run::RankTrace trace =
      kineto_of(R"([{"ph":"X","cat":"kernel","name":"a","ts":1,"dur":1,"args":{"x":")" + filler +
                R"("}},{"ph":"X","cat":"kernel","name":"b","ts":2,"dur":1}])");
  EXPECT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(dropped(trace, "larger than 16 MiB"), 1);
}

TEST(Kineto, KeepsWhatIsWellFormedBesideWhatIsNot) {
  const run::RankTrace trace = kineto_of(
      R"([{"ph":"X","cat":"kernel","name":"a","ts":1,"dur":1},
          {"ph":"X","cat":"kernel" "name":"missing comma","ts":1,"dur":1},
          {"ph":"X","cat":"kernel","name":"b","ts":NaN,"dur":1},
          {"ph":"X","cat":"kernel","name":"c","ts":3,"dur":Infinity},
          {"ph":"X","cat":"kernel","name":"d","ts":4,"dur":1}])");
  EXPECT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(dropped(trace, "malformed JSON"), 1);
  EXPECT_EQ(dropped(trace, "GPU event whose ts is no number in range"), 1);
  EXPECT_EQ(dropped(trace, "GPU event whose dur is no number in range"), 1);
}

TEST(Kineto, ReadsNamesThatAreNotUtf8OrHoldControlCharacters) {
  const run::RankTrace trace = kineto_of(
      "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"caf\xe9\",\"ts\":1,\"dur\":1},\n"
      "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\tb\",\"ts\":1,\"dur\":1}]");
  ASSERT_EQ(trace.names.size(), 2u);
  EXPECT_EQ(trace.names[0], "caf?");
  EXPECT_EQ(trace.names[1], "a b");
}

TEST(Kineto, GivesWhatATruncatedFileHolds) {
  const std::string whole =
      R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"a","ts":1,"dur":1},{"ph":"X","cat":"kernel","name":"b","ts":2,"dur":1}]})";
  for (size_t bytes = 16; bytes < whole.size(); ++bytes) {
    const run::RankTrace trace = kineto_of(whole.substr(0, bytes));
    EXPECT_TRUE(trace.truncated) << bytes;
    EXPECT_LE(trace.events.size(), 2u);
  }
  EXPECT_FALSE(kineto_of(whole).truncated);
  EXPECT_EQ(kineto_of(whole.substr(0, whole.size() - 10)).events.size(), 1u);
}

TEST(Kineto, SaysWhatIsNoTrace) {
  EXPECT_EQ(kineto_error("{}"), "t.json: is JSON, but not a trace: it has no list \"traceEvents\"");
  EXPECT_EQ(kineto_error(R"({"traceEvents": 5})"),
            "t.json: is JSON, but not a trace: it has no list \"traceEvents\"");
  EXPECT_EQ(kineto_error(R"({"schema":"1.0.2","nodes":[]})"),
            "t.json: is a PyTorch execution trace, not a Kineto trace: it has no \"traceEvents\"");
  EXPECT_EQ(kineto_error("[1, 2]"),
            "t.json: is a list, but not of trace events: none of its entries has a \"ph\"");
  EXPECT_EQ(kineto_error("  "), "t.json: is empty");
  EXPECT_EQ(kineto_error("{\"a\""), "t.json: ends after 4 bytes, before any \"traceEvents\"");
  EXPECT_EQ(kineto_error("[]"), "");
}

}  // namespace
}  // namespace ergometer::importer
