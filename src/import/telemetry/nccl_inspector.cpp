#include <fmt/format.h>
#include <simdjson.h>

#include <map>

#include "import/telemetry/json_documents.h"
#include "import/telemetry/readers.h"

namespace ergometer::importer {
namespace {

// What NCCL's profiler plugin "inspector" writes, one document a collective and rank:
//
//   {"header": {"id": "0x7f8c", "rank": 3, "n_ranks": 16, "nnodes": 2},
//    "metadata": {"hostname": "node-1", "pid": 4242, "dump_timestamp_us": 1748030377748202, ...},
//    "coll_perf": {"coll": "AllReduce", "coll_sn": 7, "coll_msg_size_bytes": 1048576,
//                  "coll_exec_time_us": 61, "coll_algobw_gbs": 17.2, "coll_busbw_gbs": 32.2}}

using simdjson::dom::element;

/// Members of a document; the first that is missing or of another kind is kept.
class InspectorMembers {
 public:
  explicit InspectorMembers(element document) : document_(document) {}
  std::string text(const char* object, const char* key) {
    std::string_view value;
    if (document_[object][key].get(value) != simdjson::SUCCESS) miss(object, key, "text");
    return std::string(value);
  }
  int64_t whole(const char* object, const char* key, int64_t lowest) {
    int64_t value = 0;
    if (document_[object][key].get(value) != simdjson::SUCCESS || value < lowest)
      miss(object, key, fmt::format("a whole number from {}", lowest));
    return value;
  }
  double number(const char* object, const char* key) {
    double value = 0;
    constexpr double kMost = 1e18;
    if (document_[object][key].get(value) != simdjson::SUCCESS || !(value >= 0) || value > kMost)
      miss(object, key, "a number from 0");
    return value;
  }
  bool has(const char* object, const char* key) {
    return document_[object][key].error() == simdjson::SUCCESS;
  }
  const std::string& problem() const { return problem_; }

 private:
  void miss(const char* object, const char* key, std::string_view allowed) {
    if (!problem_.empty()) return;
    element found;
    const bool there = document_[object][key].get(found) == simdjson::SUCCESS;
    problem_ = fmt::format("key '{}.{}': found {}, allowed: {}", object, key,
                           there ? simdjson::minify(found).substr(0, kShown) : "nothing", allowed);
  }
  static constexpr size_t kShown = 40;
  element document_;
  std::string problem_;
};

class InspectorReader {
 public:
  explicit InspectorReader(LogBuilder& log) : log_(log) {}
  /// What is wrong with a document; empty: nothing.
  std::string read(element document);

 private:
  run::CollectiveLog& log_of(const std::string& communicator, int64_t rank,
                             InspectorMembers& members);

  LogBuilder& log_;
  std::map<std::pair<std::string, int64_t>, size_t> known_;
};

run::CollectiveLog& InspectorReader::log_of(const std::string& communicator, int64_t rank,
                                            InspectorMembers& members) {
  auto& logs = log_.log().collectives;
  const auto [at, is_new] = known_.emplace(std::pair(communicator, rank), logs.size());
  if (is_new) {
    run::CollectiveLog log;
    log.source = "nccl-inspector";
    log.communicator = communicator;
    log.file = log_.file();
    log.rank = rank;
    log.ranks = members.whole("header", "n_ranks", 1);
    if (members.has("header", "nnodes")) log.nodes = members.whole("header", "nnodes", 0);
    if (members.has("metadata", "hostname")) log.host = members.text("metadata", "hostname");
    logs.push_back(std::move(log));
  }
  return logs[at->second];
}

std::string InspectorReader::read(element document) {
  InspectorMembers members(document);
  if (!members.has("header", "id") && !document.is_object())
    return "found a document that is no object, allowed: an object a collective";
  element ignored;
  if (document["coll_perf"].get(ignored) != simdjson::SUCCESS) {
    log_.drop("a document without coll_perf");
    return "";
  }
  const std::string communicator = members.text("header", "id");
  const int64_t rank = members.whole("header", "rank", 0);
  run::CollectiveTiming timing;
  timing.kind = members.text("coll_perf", "coll");
  timing.sequence = members.whole("coll_perf", "coll_sn", 0);
  timing.bytes = members.number("coll_perf", "coll_msg_size_bytes");
  constexpr double kMicroseconds = 1e-6;
  timing.seconds = members.number("coll_perf", "coll_exec_time_us") * kMicroseconds;
  timing.algorithm_gb_per_s = members.number("coll_perf", "coll_algobw_gbs");
  timing.bus_gb_per_s = members.number("coll_perf", "coll_busbw_gbs");
  if (!members.problem().empty()) return members.problem();
  run::CollectiveLog& log = log_of(communicator, rank, members);
  if (members.problem().empty()) log.timings.push_back(std::move(timing));
  return members.problem();
}

}  // namespace

bool is_nccl_inspector(std::string_view head) {
  constexpr size_t kEnough = 4096;
  head = head.substr(0, kEnough);
  return head.find("\"coll_perf\"") != std::string_view::npos &&
         head.find("\"header\"") != std::string_view::npos;
}

Result<void> read_nccl_inspector(std::string_view text, LogBuilder& log) {
  constexpr size_t kLongest = size_t{1} << 20;  // a document has some hundreds of bytes
  InspectorReader reader(log);
  ERGOMETER_ASSIGN(
      const int64_t count,
      read_json_documents(text, kLongest, "a document of NCCL's inspector", log,
                          [&](const element& document) { return reader.read(document); }));
  if (count == 0)
    return input_error("{}:1: found no whole document, allowed: one a collective", log.file());
  return {};
}

}  // namespace ergometer::importer
