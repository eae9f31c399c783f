#include "import/rocprof/rocprof.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_support.h"
#include "import/bytes/test_source.h"
#include "import/import.h"

namespace ergometer::importer {
namespace {

const std::string kRocprofData = ERGOMETER_SOURCE_DIR "/tests/data/rocprofv3/";

std::vector<run::RankTrace> rocprof_of(const std::string& text) {
  TextSource source(text);
  EXPECT_TRUE(is_rocprof(text.substr(0, 512)));
  auto traces = read_rocprof(source, "job.json");
  EXPECT_TRUE(traces) << base::error_of(traces);
  return traces ? *std::move(traces) : std::vector<run::RankTrace>{};
}

std::string result(const std::string& processes) {
  return R"({"rocprofiler-sdk-tool": [)" + processes + "]}";
}

std::string dispatch(int64_t start, int64_t end, int correlation, int agent = 1, int kernel = 8) {
  return R"({"size": 184, "kind": 2, "operation": 2, "thread_id": 70, "correlation_id": {"internal": )" +
         std::to_string(correlation) + R"(, "external": 0}, "start_timestamp": )" +
         std::to_string(start) + R"(, "end_timestamp": )" + std::to_string(end) +
         R"(, "dispatch_info": {"agent_id": {"handle": )" + std::to_string(agent) +
         R"(}, "queue_id": {"handle": 16}, "kernel_id": )" + std::to_string(kernel) +
         R"(, "grid_size": {"x": 1}}, "stream_id": {"handle": 3}})";
}

std::string call(int kind, int operation, int64_t start, int64_t end, int correlation) {
  return R"({"kind": )" + std::to_string(kind) + R"(, "operation": )" + std::to_string(operation) +
         R"(, "thread_id": 70, "correlation_id": {"internal": )" + std::to_string(correlation) +
         R"(}, "start_timestamp": )" + std::to_string(start) + R"(, "end_timestamp": )" +
         std::to_string(end) + "}";
}

const std::string kAgents =
    R"("agents": [{"id": {"handle": 9}, "type": 1, "name": "CPU"},
      {"id": {"handle": 1}, "type": 2, "logical_node_type_id": 0, "name": "gfx942", "product_name": "MI300X"},
      {"id": {"handle": 2}, "type": 2, "logical_node_type_id": 1, "name": "gfx942", "product_name": "MI300X"}])";
const std::string kNames =
    R"("kernel_symbols": [{"kernel_id": 8, "kernel_name": "k.kd", "formatted_kernel_name": "gemm"},
      {"kernel_id": 5, "kernel_name": "ncclDevKernel_Generic_1"}],
     "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
       {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel"]},
       {"kind": "KERNEL_DISPATCH", "operations": []},
       {"kind": "RCCL_API", "operations": ["ncclAllReduce"]},
       {"kind": "MARKER_CORE_RANGE_API", "operations": ["roctxMarkA", "roctxThreadRangeA"]},
       {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"]}],
      "marker_api": [{"key": 41, "value": "iteration 3"}]})";

TEST(Rocprof, ReadsARealResult) {
  const auto traces = read_recorded({kRocprofData + "mi350x.json.gz"}, {}, 1);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->traces.ranks.size(), 1U);
  const run::RankTrace& trace = traces->traces.ranks[0];
  EXPECT_EQ(trace.events.size(), 153U);
  EXPECT_EQ(trace.gpu, "AMD Instinct MI350X");
  EXPECT_EQ(trace.events[0].start_ns, 63857982592000);
  EXPECT_EQ(trace.events[0].end_ns(), 63857982594840);
  EXPECT_EQ(trace.names[trace.events[0].name], "__amd_rocclr_copyBuffer");
  const auto communication = std::count_if(
      trace.events.begin(), trace.events.end(),
      [](const run::GpuEvent& event) { return event.kind == run::GpuClass::kCommunication; });
  EXPECT_EQ(communication, 3);
}

TEST(Rocprof, NamesMayComeBehindTheRecords) {
  for (const bool behind : {false, true}) {
    const std::string records =
        R"("buffer_records": {"kernel_dispatch": [)" + dispatch(1000, 1500, 31) + "]}";
    const auto traces = rocprof_of(result(
        "{" +
        (behind ? records + "," + kAgents + "," + kNames : kAgents + "," + kNames + "," + records) +
        "}"));
    ASSERT_EQ(traces.size(), 1U);
    EXPECT_EQ(traces[0].names, std::vector<std::string>{"gemm"});
    EXPECT_EQ(traces[0].gpu, "MI300X");
    EXPECT_EQ(traces[0].events[0].duration_ns, 500);
    EXPECT_EQ(traces[0].events[0].stream, 3);
  }
}

TEST(Rocprof, LaunchesCollectivesAndSteps) {
  const auto traces =
      rocprof_of(result("{" + kAgents + "," + kNames + R"(, "buffer_records": {
    "hip_api": [)" + call(1, 0, 510, 520, 31) +
                        "," + call(1, 0, 600, 620, 32) + "," + call(1, 0, 700, 710, 33) +
                        R"(],
    "rccl_api": [)" + call(3, 0, 500, 530, 30) +
                        R"(],
    "marker_api": [)" + call(4, 1, 400, 900, 41) +
                        "," + call(4, 0, 450, 450, 42) + R"(],
    "hsa_api": [)" + call(0, 0, 1, 2, 3) +
                        R"(],
    "kernel_dispatch": [)" +
                        dispatch(1000, 1500, 31, 1, 5) + "," + dispatch(1600, 1700, 32) + "]}}"));
  ASSERT_EQ(traces.size(), 1U);
  const run::RankTrace& trace = traces[0];
  EXPECT_EQ(trace.launches.size(), 2U);
  ASSERT_NE(run::launch_of(trace, trace.events[1]), nullptr);
  EXPECT_EQ(run::launch_of(trace, trace.events[1])->start_ns, 600);
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.events[0].collective, 0U);
  EXPECT_EQ(trace.collectives[0].name, "allreduce");
  EXPECT_EQ(trace.collectives[0].in_elements, -1);
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps[0].number, 3);
  EXPECT_EQ(dropped(trace, "hsa_api: not a GPU event"), 1);
  EXPECT_EQ(dropped(trace, "roctxMarkA: not a range"), 1);
}

TEST(Rocprof, CopiesBelongToTheirGpu) {
  const std::string copy =
      R"({"kind": 5, "operation": 1, "correlation_id": {"internal": 7}, "start_timestamp": 10,
        "end_timestamp": 30, "src_agent_id": {"handle": 1}, "dst_agent_id": {"handle": 9}})";
  const auto traces = rocprof_of(result("{" + kAgents + "," + kNames +
                                        R"(, "buffer_records": {"memory_copy": [)" + copy + "]}}"));
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].events[0].device, 0);
  EXPECT_EQ(traces[0].events[0].kind, run::GpuClass::kMemory);
  EXPECT_EQ(traces[0].names[0], "Memcpy HtoD (Host -> Device)");
}

TEST(Rocprof, SeveralGpusAndProcesses) {
  const auto process = [&](int pid) {
    return R"({"metadata": {"pid": )" + std::to_string(pid) + "}," + kAgents + "," + kNames +
           R"(, "buffer_records": {"kernel_dispatch": [)" + dispatch(1, 2, 1, 1) + "," +
           dispatch(3, 5, 2, 2) + "]}}";
  };
  const auto traces = rocprof_of(result(process(7) + "," + process(8)));
  ASSERT_EQ(traces.size(), 4U);
  EXPECT_EQ(traces[1].file, "job.json (process 7, GPU 1)");
  EXPECT_EQ(traces[2].file, "job.json (process 8, GPU 0)");
}

TEST(Rocprof, RecordsThatLackWhatTheyNeedAreCounted) {
  const auto traces =
      rocprof_of(result(R"({"buffer_records": {"kernel_dispatch": [)" + dispatch(0, 0, 1) + "," +
                        dispatch(20, 10, 2) + "," +
                        R"({"start_timestamp": 1.5, "end_timestamp": 2}, {"a": 1 2}, 7,)" +
                        R"({"start_timestamp": 1, "end_timestamp": 2}]}})"));
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].events.size(), 0U);
  EXPECT_EQ(dropped(traces[0], "kernel whose start is not known (0)"), 1);
  EXPECT_EQ(dropped(traces[0], "kernel that ends before it starts"), 1);
  EXPECT_EQ(dropped(traces[0], "kernel whose start is no whole number in range"), 1);
}

TEST(Rocprof, ExactWhereDoublesAreNot) {
  const auto traces =
      rocprof_of(result(R"({"buffer_records": {"kernel_dispatch": [)" +
                        dispatch(1750000000000000001, 1750000000000000004, 1) + "]}}"));
  ASSERT_EQ(traces[0].events.size(), 1U);
  EXPECT_EQ(traces[0].events[0].start_ns, 1750000000000000001);
  EXPECT_EQ(traces[0].events[0].duration_ns, 3);
  EXPECT_EQ(traces[0].names[0], "kernel 8 without a symbol");
}

TEST(Rocprof, AFileCutOffGivesWhatItHolds) {
  const std::string whole =
      result("{" + kAgents + "," + kNames + R"(, "buffer_records": {"kernel_dispatch": [)" +
             dispatch(1, 2, 1) + "," + dispatch(3, 4, 2) + "]}}");
  for (size_t size = 30; size < whole.size() - 2; ++size) {
    const auto traces = rocprof_of(whole.substr(0, size));
    ASSERT_GE(traces.size(), 1U);
    EXPECT_TRUE(traces[0].truncated) << size;
    EXPECT_LE(traces[0].events.size(), 2U);
  }
  EXPECT_FALSE(rocprof_of(whole)[0].truncated);
}

TEST(Rocprof, WhatIsNoJsonIsAnError) {
  const std::string text = R"({"rocprofiler-sdk-tool": [{"agents" 5}]})";
  TextSource source(text);
  const auto traces = read_rocprof(source, "job.json");
  ASSERT_FALSE(traces);
  EXPECT_EQ(traces.error().message,
            "job.json: byte 36: a colon is expected behind \"agents\", found '5'");
}

TEST(Rocprof, IsKnownByItsFirstKey) {
  EXPECT_TRUE(is_rocprof("\n{ \"rocprofiler-sdk-tool\" : ["));
  EXPECT_FALSE(is_rocprof("{\"traceEvents\": [], \"rocprofiler-sdk-tool\": []}"));
  EXPECT_FALSE(is_rocprof("{"));
  EXPECT_FALSE(is_rocprof(""));
}

}  // namespace
}  // namespace ergometer::importer
