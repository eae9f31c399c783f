#include <fmt/format.h>
#include <simdjson.h>

#include "import/nsys/export.h"
#include "import/nsys/table.h"
#include "import/text/decimal.h"
#include "import/text/json_text.h"

namespace ergometer::importer {
namespace {

// Nsight Systems' numbers of NVTX events: push/pop 59, start/end 60, the same from a text file 70
// and 71.
constexpr const char* kRanges = "WHERE eventType IN (59, 60, 70, 71) ORDER BY start";
constexpr const char* kMarks = "WHERE eventType NOT IN (59, 60, 70, 71)";
constexpr int64_t kDomainCreate = 75;
constexpr size_t kRangeStart = 0, kRangeEnd = 1, kRangeType = 2, kRangeText = 3, kTextId = 4,
                 kDomain = 5, kThread = 6, kJsonText = 7, kJsonId = 8;

class RangeReader {
 public:
  explicit RangeReader(NsysExport& from) : from_(from) {
    for (auto& [key, gpu] : from.gpus) of_process_[key.first].push_back(&gpu);
  }
  Result<void> read_nvtx();
  Result<void> read_mpi(const char* table);

 private:
  using Domain = std::pair<int64_t, int64_t>;  ///< process and its number

  NsysTable nvtx(const char* where);
  std::string text_of(const NsysTable& rows);
  void read_mark(const NsysTable& rows);
  void read_range(const NsysTable& rows);
  void read_nccl(const NsysTable& rows, std::string_view text, int64_t thread, const Span& span);
  void add(const std::string& text, int64_t thread, const Span& span);
  std::vector<TraceBuilder*>* gpus_of(int64_t thread);

  NsysExport& from_;
  std::map<int64_t, std::vector<TraceBuilder*>> of_process_;
  std::map<Domain, std::string> domains_;
  std::map<std::pair<int64_t, std::string>, int64_t> ranks_of_communicator_;
};

/// Null, and counted, where the process has no GPU work.
std::vector<TraceBuilder*>* RangeReader::gpus_of(int64_t thread) {
  const auto found = of_process_.find(nsys_process(thread));
  if (found != of_process_.end()) return &found->second;
  // Exports that do not say whose the GPU work is have one process.
  const auto only = of_process_.find(0);
  if (only != of_process_.end()) return &only->second;
  from_.dropped.add("range of a process without GPU work");
  return nullptr;
}

void RangeReader::add(const std::string& text, int64_t thread, const Span& span) {
  std::vector<TraceBuilder*>* const gpus = gpus_of(thread);
  if (gpus == nullptr) return;
  for (TraceBuilder* gpu : *gpus) gpu->add_range(text, nsys_thread(thread), span);
}

NsysTable RangeReader::nvtx(const char* where) {
  return NsysTable(from_.db, from_.file, "NVTX_EVENTS",
                   {{"start", true},
                    {"end", true},
                    {"eventType", true},
                    {"text"},
                    {"textId"},
                    {"domainId"},
                    {"globalTid"},
                    {"jsonText"},
                    {"jsonTextId"}},
                   where);
}

std::string RangeReader::text_of(const NsysTable& rows) {
  if (auto text = rows.text(kRangeText)) return *std::move(text);
  const auto id = rows.integer(kTextId);
  return id ? from_.strings.text(*id) : "";
}

/// "MPI Rank 3" names a process; a domain's making names the domain.
void RangeReader::read_mark(const NsysTable& rows) {
  const int64_t process = nsys_process(rows.integer(kThread).value_or(0));
  const std::string text = text_of(rows);
  if (rows.integer(kRangeType) == kDomainCreate) {
    domains_.emplace(Domain{process, rows.integer(kDomain).value_or(0)}, text);
    return;
  }
  constexpr std::string_view kMpiRank = "MPI Rank ";
  if (!text.starts_with(kMpiRank)) return;
  if (const auto rank = whole_number(std::string_view(text).substr(kMpiRank.size())))
    from_.rank_of_process.emplace(process, *rank);
}

/// What NCCL says of a call beside its name (NVTX payloads, in NCCL's own words).
struct NcclPayload {
  int64_t bytes = -1, ranks = -1;
  std::string communicator;
};

NcclPayload read_payload(const std::string& json) {
  NcclPayload payload;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(json).get(object) != simdjson::SUCCESS) return payload;
  for (const auto [key, value] : object) {
    const std::string json_text = simdjson::minify(value);
    const std::string_view text = unquoted(json_text);
    if (key == "Message size [bytes]") payload.bytes = whole_number(text).value_or(-1);
    if (key == "No. of ranks") payload.ranks = whole_number(text).value_or(-1);
    if (key == "NCCL communicator ID") payload.communicator = text;
  }
  return payload;
}

void RangeReader::read_nccl(const NsysTable& rows, std::string_view text, int64_t thread,
                            const Span& span) {
  std::vector<TraceBuilder*>* const gpus = gpus_of(thread);
  if (gpus == nullptr) return;
  NcclPayload payload;
  if (const auto json = rows.text(kJsonText)) payload = read_payload(*json);
  if (const auto id = rows.integer(kJsonId)) payload = read_payload(from_.strings.text(*id));
  auto& ranks = ranks_of_communicator_[{nsys_process(thread), payload.communicator}];
  if (payload.ranks > 0 && !payload.communicator.empty()) ranks = payload.ranks;
  for (TraceBuilder* gpu : *gpus)
    gpu->add_call({.name = std::string(text),
                   .thread = nsys_thread(thread),
                   .start_ns = span.start_ns,
                   .end_ns = span.end_ns(),
                   .bytes = payload.bytes,
                   .group_size = ranks > 0 ? ranks : -1,
                   .group = payload.communicator});
}

void RangeReader::read_range(const NsysTable& rows) {
  if (!rows.integer(kRangeEnd)) return from_.dropped.add("NVTX range without an end");
  const auto span =
      read_span(rows.integer(kRangeStart), rows.integer(kRangeEnd), "NVTX range", from_.dropped);
  if (!span) return;
  const int64_t thread = rows.integer(kThread).value_or(0);
  const int64_t number = rows.integer(kDomain).value_or(0);
  const std::string text = text_of(rows);
  const auto known = domains_.find({nsys_process(thread), number});
  const std::string domain = known != domains_.end() ? known->second
                             : number == 0           ? ""
                                                     : fmt::format("domain {}", number);
  if (domain == "NCCL") read_nccl(rows, text, thread, *span);
  add(domain.empty() ? text : fmt::format("{}:{}", domain, text), thread, *span);
}

Result<void> RangeReader::read_nvtx() {
  NsysTable marks = nvtx(kMarks);
  while (marks.next()) read_mark(marks);
  ERGOMETER_TRY(marks.finish());
  NsysTable ranges = nvtx(kRanges);
  while (ranges.next()) read_range(ranges);
  return ranges.finish();
}

Result<void> RangeReader::read_mpi(const char* table) {
  NsysTable rows(from_.db, from_.file, table,
                 {{"start", true}, {"end", true}, {"globalTid"}, {"textId"}});
  while (rows.next()) {
    const auto span = read_span(rows.integer(0), rows.integer(1), "MPI call", from_.dropped);
    const auto id = rows.integer(3);
    if (span) add("MPI:" + (id ? from_.strings.text(*id) : ""), rows.integer(2).value_or(0), *span);
  }
  return rows.finish();
}

}  // namespace

Result<void> read_nsys_ranges(NsysExport& from) {
  NsysTable ranks(from.db, from.file, "MPI_RANKS", {{"globalPid", true}, {"rank", true}});
  while (ranks.next()) {
    const auto process = ranks.integer(0), rank = ranks.integer(1);
    if (process && rank) from.rank_of_process.emplace(*process, *rank);
  }
  ERGOMETER_TRY(ranks.finish());
  RangeReader reader(from);
  ERGOMETER_TRY(reader.read_nvtx());
  for (const char* table :
       {"MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS"})
    ERGOMETER_TRY(reader.read_mpi(table));
  return {};
}

}  // namespace ergometer::importer
