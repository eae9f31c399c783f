#include "import/flight/flight_recorder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/text.h"
#include "import/bytes/whole_text.h"
#include "import/flight/json_tree.h"
#include "import/flight/pickle.h"
#include "import/text/decimal.h"
#include "import/text/rank_name.h"

// The form: torch/csrc/distributed/c10d/FlightRecorderDetail.hpp, `dump` and `dump_json`.

namespace ergometer::importer {
namespace {

using Kind = TreeValue::Kind;
using run::FlightCall;

constexpr size_t kMostDump = size_t{1} << 28;
constexpr std::string_view kVersions = "2.";

/// Reads members of one dict; remembers the first that is not as it should be.
class Members {
 public:
  Members(const ValueTree& tree, const TreeValue& dict, std::string& problem, std::string where)
      : tree_(tree), dict_(dict), problem_(problem), where_(std::move(where)) {
    if (dict.kind != Kind::kDict) fail("", "a dict");
  }

  const TreeValue* find(std::string_view key) const { return tree_.find(dict_, key); }
  std::string text(std::string_view key) { return text_of(key, find(key)); }
  std::string text_of(std::string_view key, const TreeValue* value) {
    const std::string* const text = value ? tree_.text_of(*value) : nullptr;
    if (text == nullptr) return fail(key, "a text"), "";
    return *text;
  }
  /// A whole number from -1; `missing` where it is None or not there.
  int64_t whole(std::string_view key, int64_t missing) {
    const TreeValue* const value = find(key);
    if (value == nullptr || value->kind == Kind::kNone) return missing;
    if (value->kind != Kind::kWhole || value->whole < -1 || value->whole > kLargestTime)
      return fail(key, "a whole number from -1 to 4.6e18"), missing;
    return value->whole;
  }
  double real(std::string_view key, double missing) {
    const TreeValue* const value = find(key);
    if (value == nullptr || value->kind == Kind::kNone) return missing;
    if (value->kind == Kind::kWhole && value->whole >= 0) return static_cast<double>(value->whole);
    constexpr double kMost = 1e15;
    if (value->kind != Kind::kReal || !(value->real >= 0 && value->real <= kMost))
      return fail(key, "a number from 0 to 1e15"), missing;
    return value->real;
  }
  bool truth(std::string_view key) {
    const TreeValue* const value = find(key);
    if (value != nullptr && value->kind != Kind::kTruth) fail(key, "true or false");
    return value != nullptr && value->whole != 0;
  }
  void fail(std::string_view key, std::string_view allowed) {
    if (!problem_.empty()) return;
    const std::string name = key.empty() ? where_ : fmt::format("{}.{}", where_, key);
    problem_ =
        fmt::format("{}: found {}, allowed: {}", name,
                    find(key) == nullptr && !key.empty() ? "nothing" : "another value", allowed);
  }

 private:
  const ValueTree& tree_;
  const TreeValue& dict_;
  std::string& problem_;
  std::string where_;
};

/// PyTorch's own files.
bool is_torch(std::string_view path) {
  return path.find("/torch/") != path.npos || path.starts_with("torch/") ||
         path.starts_with("<frozen") || path.starts_with("<string>");
}

/// "[0, 1, 5]" as text, or a list of numbers.
std::vector<int64_t> ranks_of(const ValueTree& tree, const TreeValue* value) {
  std::vector<int64_t> ranks;
  if (value == nullptr) return ranks;
  for (const TreeValue& each : tree.elements(*value))
    if (each.kind == Kind::kWhole) ranks.push_back(each.whole);
  if (const std::string* text = tree.text_of(*value)) {
    const char* at = text->data();
    const char* const end = at + text->size();
    while (at < end) {
      int64_t rank = 0;
      const auto read = std::from_chars(at, end, rank);
      if (read.ec == std::errc()) ranks.push_back(rank);
      at = read.ec == std::errc() ? read.ptr : at + 1;
    }
  }
  std::erase_if(ranks, [](int64_t rank) { return rank < 0 || rank >= kMostRanks; });
  return ranks;
}

class DumpReader {
 public:
  DumpReader(const ValueTree& tree, const std::string& file) : tree_(tree) { dump_.file = file; }
  Result<run::FlightDump> read(const TreeValue& root);

 private:
  void read_groups(const TreeValue* groups);
  void read_call(const TreeValue& entry, size_t number);
  void read_sizes(const TreeValue* sizes, FlightCall& call);
  std::string texts(const TreeValue* value) const;
  std::string frame_of(const TreeValue* frames) const;
  size_t group_of(Members& members);
  size_t group_number(const std::string& name, const std::string& description);

  const ValueTree& tree_;
  run::FlightDump dump_;
  std::map<std::string, size_t> groups_;
  std::string problem_;
};

size_t DumpReader::group_number(const std::string& name, const std::string& description) {
  const auto [at, is_new] = groups_.emplace(name, dump_.groups.size());
  if (is_new) dump_.groups.push_back({name, description, {}});
  return at->second;
}

void DumpReader::read_groups(const TreeValue* groups) {
  if (groups == nullptr) return;
  const auto& pairs = tree_.elements(*groups);
  for (size_t i = 0; groups->kind == Kind::kDict && i + 1 < pairs.size(); i += 2) {
    Members members(tree_, pairs[i + 1], problem_, fmt::format("pg_config[{}]", i / 2));
    const auto* const description = members.find("desc");
    const size_t number =
        group_number(members.text("name"), description ? members.text("desc") : "");
    dump_.groups[number].ranks = ranks_of(tree_, members.find("ranks"));
  }
}

/// (name, description), of older releases without the latter.
size_t DumpReader::group_of(Members& members) {
  const TreeValue* const group = members.find("process_group");
  if (group == nullptr) return group_number(members.text("pg_name"), "");
  const auto& parts = tree_.elements(*group);
  if (parts.size() != 2) return members.fail("process_group", "a name and a description"), 0;
  const std::string name = members.text_of("process_group", &parts[0]);
  return group_number(name, members.text_of("process_group", &parts[1]));
}

void DumpReader::read_sizes(const TreeValue* sizes, FlightCall& call) {
  if (sizes == nullptr) return;
  constexpr size_t kMostShown = 8;
  constexpr int64_t kMostElements = int64_t{1} << 60;
  std::vector<std::string> shown;
  call.elements = 0;
  for (const TreeValue& tensor : tree_.elements(*sizes)) {
    int64_t count = 1;
    std::vector<int64_t> dims;
    for (const TreeValue& dim : tree_.elements(tensor)) {
      if (dim.kind != Kind::kWhole || dim.whole < 0) {
        if (problem_.empty()) problem_ = "entries: a size that is no whole number";
        return;
      }
      dims.push_back(dim.whole);
      count = dim.whole == 0                      ? 0
              : count > kMostElements / dim.whole ? kMostElements
                                                  : count * dim.whole;
    }
    call.elements = std::min(call.elements + count, kMostElements);
    if (shown.size() < kMostShown && dims.size() <= kMostShown)
      shown.push_back(fmt::format("[{}]", fmt::join(dims, ", ")));
    else if (shown.size() == kMostShown)
      shown.push_back("...");
  }
  call.sizes = fmt::format("[{}]", fmt::join(shown, ", "));
}

/// Different texts of a list, in order: dtypes of tensors are mostly one.
std::string DumpReader::texts(const TreeValue* value) const {
  std::vector<std::string> found;
  if (value != nullptr)
    for (const TreeValue& each : tree_.elements(*value))
      if (const std::string* text = tree_.text_of(each))
        if (std::ranges::find(found, *text) == found.end() && found.size() < 4)
          found.push_back(*text);
  return fmt::format("{}", fmt::join(found, ", "));
}

std::string DumpReader::frame_of(const TreeValue* frames) const {
  if (frames == nullptr) return "";
  for (const TreeValue& frame : tree_.elements(*frames)) {
    const TreeValue *const file = tree_.find(frame, "filename"),
                           *const name = tree_.find(frame, "name"),
                           *const line = tree_.find(frame, "line");
    const std::string* const path = file ? tree_.text_of(*file) : nullptr;
    if (path == nullptr || path->empty() || is_torch(*path)) continue;
    const std::string* const function = name ? tree_.text_of(*name) : nullptr;
    return fmt::format("{}{}{}", base::last_part(*path, '/'),
                       line && line->kind == Kind::kWhole ? fmt::format(":{}", line->whole) : "",
                       function ? fmt::format(" in {}", *function) : "");
  }
  return "";
}

std::optional<FlightCall::State> state_of(std::string_view word) {
  if (word == "scheduled") return FlightCall::State::kScheduled;
  if (word == "started") return FlightCall::State::kStarted;
  if (word == "completed") return FlightCall::State::kCompleted;
  return std::nullopt;
}

void DumpReader::read_call(const TreeValue& entry, size_t number) {
  Members members(tree_, entry, problem_, fmt::format("entries[{}]", number));
  if (!problem_.empty()) return;
  FlightCall call;
  call.group = group_of(members);
  call.record = members.whole("record_id", static_cast<int64_t>(number));
  call.p2p = members.truth("is_p2p");
  if (!call.p2p && members.find("collective_seq_id") == nullptr)
    members.fail("collective_seq_id", "a whole number");
  call.sequence = members.whole(call.p2p ? "p2p_seq_id" : "collective_seq_id", -1);
  call.name = members.text("profiling_name");
  const auto state = state_of(members.text("state"));
  if (!state) members.fail("state", "scheduled, started or completed");
  call.state = state.value_or(FlightCall::State::kScheduled);
  call.created_ns = std::max<int64_t>(members.whole("time_created_ns", 0), 0);
  call.duration_ms = members.real("duration_ms", -1);
  call.dtypes = texts(members.find("input_dtypes"));
  call.frame = frame_of(members.find("frames"));
  read_sizes(members.find("input_sizes"), call);
  dump_.calls.push_back(std::move(call));
}

Result<run::FlightDump> DumpReader::read(const TreeValue& root) {
  Members members(tree_, root, problem_, "the dump");
  dump_.version = members.text("version");
  if (problem_.empty() && !dump_.version.starts_with(kVersions))
    problem_ = fmt::format("version: found {}, allowed: {}x", dump_.version, kVersions);
  read_groups(members.find("pg_config"));
  const TreeValue* const entries = members.find("entries");
  if (entries != nullptr && entries->kind != Kind::kList) members.fail("entries", "a list");
  if (entries != nullptr)
    for (size_t i = 0; i < tree_.elements(*entries).size() && problem_.empty(); ++i)
      read_call(tree_.elements(*entries)[i], i);
  if (!problem_.empty()) return input_error("{}: {}", dump_.file, problem_);
  std::ranges::stable_sort(dump_.calls, {}, &FlightCall::record);
  return std::move(dump_);
}

bool has(std::string_view start, std::string_view word) { return start.find(word) != start.npos; }

/// The number that ends a file's name, extensions aside: "nccl_trace_3", "trace-12.json".
std::optional<int64_t> rank_at_end(std::string_view path) {
  std::string_view name = base::last_part(path, '/');
  for (const std::string_view extension : {".gz", ".zst", ".json", ".pkl", ".pickle", ".bin"})
    if (name.ends_with(extension)) name.remove_suffix(extension.size());
  const size_t before = name.find_last_not_of("0123456789");
  const std::string_view digits = name.substr(before == name.npos ? 0 : before + 1);
  return digits.empty() || digits.size() > kMostRankDigits ? std::nullopt : whole_number(digits);
}

/// Calls that a coalesced one joins have no state of their own: theirs is that of the last.
void settle_coalesced(std::vector<FlightCall>& calls) {
  const FlightCall* last = nullptr;
  for (size_t i = calls.size(); i-- > 0;) {
    FlightCall& call = calls[i];
    if (has(call.name, "coalesced")) last = &call;
    if (last == nullptr || last == &call) continue;
    const bool joined = last->group == call.group && last->sequence == call.sequence &&
                        last->p2p == call.p2p && call.sequence >= 0;
    if (!joined) last = nullptr;
    if (joined) call.state = std::max(call.state, last->state);
  }
}

}  // namespace

bool is_flight_dump(std::string_view start) {
  if (is_pickle(start))
    return has(start, "pg_config") || has(start, "collective_seq_id") ||
           (has(start, "version") && has(start, "pg_status"));
  if (!start.starts_with('{') || has(start, "\"traceEvents\"")) return false;
  return has(start, "\"entries\"") && has(start, "\"collective_seq_id\"")
             ? true
             : has(start, "\"pg_config\"");
}

Result<run::FlightDump> read_flight_dump(ByteSource& source, const std::string& file) {
  ERGOMETER_ASSIGN(std::string bytes, read_all(source, file, kMostDump));
  ValueTree tree;
  const bool pickle = is_pickle(bytes);
  TextSource text(pickle ? "" : std::move(bytes));
  ERGOMETER_ASSIGN(const TreeValue root,
                   pickle ? read_pickle(bytes, file, tree) : read_json_tree(text, file, tree));
  ERGOMETER_ASSIGN(run::FlightDump dump, DumpReader(tree, file).read(root));
  const auto named = rank_in_name(base::last_part(file, '/'));
  dump.rank = named ? *named : rank_at_end(file).value_or(-1);
  if (dump.rank < 0)
    return input_error(
        "{}: found a flight recorder's dump whose name says no rank, allowed: a name that ends in "
        "it, such as nccl_trace_rank_3",
        file);
  settle_coalesced(dump.calls);
  return dump;
}

}  // namespace ergometer::importer
