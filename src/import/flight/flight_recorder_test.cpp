#include "import/flight/flight_recorder.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/bytes/test_source.h"

namespace ergometer::importer {
namespace {

using State = run::FlightCall::State;

/// One entry of a dump as JSON, with more members.
std::string flight_entry(const std::string& more) {
  return R"({"record_id":0,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":7,)"
         R"("p2p_seq_id":0,"op_id":7,"profiling_name":"nccl:all_reduce",)"
         R"("time_created_ns":1700000000000000000,"input_sizes":[[4,1024]],)"
         R"("input_dtypes":["Float"],"state":"started","retired":false,"is_p2p":false)" +
         more + "}";
}

Result<run::FlightDump> read_dump(const std::string& entries, const std::string& version = "2.10",
                                  const std::string& file = "fr/nccl_trace_rank_3") {
  const std::string text =
      R"({"version":")" + version +
      R"(","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[2, 3]"}},"entries":[)" +
      entries + "]}";
  TextSource source(text);
  return read_flight_dump(source, file);
}

std::string dump_problem(const std::string& entries, const std::string& version = "2.10",
                         const std::string& file = "rank_3") {
  return base::error_of(read_dump(entries, version, file));
}

TEST(FlightRecorder, ReadsACall) {
  const auto dump = read_dump(flight_entry(
      R"(,"duration_ms":0.25,"frames":[)"
      R"({"name":"all_reduce","filename":"/usr/lib/python3/site-packages/torch/distributed/d.py","line":1},)"
      R"({"name":"step","filename":"/home/me/train.py","line":88}])"));
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->rank, 3);
  ASSERT_EQ(dump->groups.size(), 1u);
  EXPECT_EQ(dump->groups[0].ranks, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(dump->calls.size(), 1u);
  const run::FlightCall& call = dump->calls[0];
  EXPECT_EQ(call.sequence, 7);
  EXPECT_EQ(call.name, "nccl:all_reduce");
  EXPECT_EQ(call.sizes, "[[4, 1024]]");
  EXPECT_EQ(call.elements, 4096);
  EXPECT_EQ(call.dtypes, "Float");
  EXPECT_EQ(call.state, State::kStarted);
  EXPECT_EQ(call.created_ns, 1700000000000000000);
  EXPECT_EQ(call.duration_ms, 0.25);
  EXPECT_EQ(call.frame, "train.py:88 in step");
}

TEST(FlightRecorder, RanksStandInNames) {
  EXPECT_EQ(read_dump("", "2.10", "a/rank_9/trace_12.json.gz")->rank, 12);
  EXPECT_EQ(read_dump("", "2.10", "rank5.7")->rank, 5);
  EXPECT_EQ(dump_problem("", "2.10", "dump"),
            "dump: found a flight recorder's dump whose name says no rank, allowed: a name that "
            "ends in it, such as nccl_trace_rank_3");
}

TEST(FlightRecorder, CallsOfACoalescedOneHaveItsState) {
  const std::string joined =
      R"({"record_id":0,"process_group":["0",""],"collective_seq_id":4,"profiling_name":"nccl:_all_gather_base","state":"scheduled"},)"
      R"({"record_id":1,"process_group":["0",""],"collective_seq_id":4,"profiling_name":"nccl:coalesced","state":"completed"},)"
      R"({"record_id":2,"process_group":["0",""],"collective_seq_id":5,"profiling_name":"nccl:barrier","state":"scheduled"})";
  const auto dump = read_dump(joined);
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->calls[0].state, State::kCompleted);
  EXPECT_EQ(dump->calls[2].state, State::kScheduled);
}

TEST(FlightRecorder, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(dump_problem("", "3.0"), "rank_3: version: found 3.0, allowed: 2.x");
  EXPECT_EQ(dump_problem("7"), "rank_3: entries[0]: found another value, allowed: a dict");
  EXPECT_EQ(dump_problem(R"({"process_group":["0","a"],"profiling_name":"x","state":"completed"})"),
            "rank_3: entries[0].collective_seq_id: found nothing, allowed: a whole number");
  EXPECT_EQ(dump_problem(R"({"process_group":["0"]})"),
            "rank_3: entries[0].process_group: found another value, allowed: a name and a "
            "description");
  EXPECT_EQ(
      dump_problem(flight_entry(R"(,"duration_ms":"soon")")),
      "rank_3: entries[0].duration_ms: found another value, allowed: a number from 0 to 1e15");
  EXPECT_EQ(dump_problem(R"({"process_group":["0","a"],"collective_seq_id":1,)"
                         R"("profiling_name":"x","state":"gone"})"),
            "rank_3: entries[0].state: found another value, allowed: scheduled, started or "
            "completed");
}

TEST(FlightRecorder, IsRecognised) {
  EXPECT_TRUE(is_flight_dump(R"({"entries":[{"collective_seq_id":1)"));
  EXPECT_TRUE(is_flight_dump(R"({"version":"2.1","pg_config":{)"));
  EXPECT_TRUE(is_flight_dump("\x80\x02}X...version...pg_config"));
  EXPECT_FALSE(is_flight_dump(R"({"traceEvents":[],"entries":[{"collective_seq_id":1)"));
  EXPECT_FALSE(is_flight_dump(R"({"schemaVersion":1,"entries":[])"));
  EXPECT_FALSE(is_flight_dump("\x80\x02}X...weights"));
}

}  // namespace
}  // namespace ergometer::importer
