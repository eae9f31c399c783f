#include "import/operations/operations.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/collection.h"
#include "base/file.h"
#include "import/bytes/read_ahead.h"
#include "import/bytes/unpack.h"
#include "import/formats.h"
#include "import/text/walk_json.h"

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;
using run::OperationRole;

constexpr std::pair<std::string_view, OperationRole> kRoles[] = {
    {"forward-compute", OperationRole::kForward},
    {"backward-compute", OperationRole::kBackward},
    {"forward-send", OperationRole::kForwardSend},
    {"forward-recv", OperationRole::kForwardReceive},
    {"backward-send", OperationRole::kBackwardSend},
    {"backward-recv", OperationRole::kBackwardReceive},
    {"params-all-gather", OperationRole::kReplicaCollective},
    {"grads-reduce-scatter", OperationRole::kReplicaCollective},
    {"separate-grads-all-reduce", OperationRole::kReplicaCollective},
    {"layernorm-grads-all-reduce", OperationRole::kLaneCollective},
    {"embedding-grads-all-reduce", OperationRole::kStageCollective},
    {"optimizer-clip-main-grad", OperationRole::kWorldCollective},
    {"optimizer", OperationRole::kOther},
    {"gc", OperationRole::kPause},
};

/// Times beyond this, a hundred years of microseconds, are none.
constexpr double kLargestMicroseconds = 3.2e15;
constexpr size_t kMostKinds = 256;

struct OperationEvent {
  std::string_view category, phase, name;  ///< within the text, escapes as they are
  int64_t process = -1, thread = -1;
  std::optional<double> start_us, duration_us;
  std::optional<int64_t> step;
  int32_t chunk = -1, micro_batch = -1, sequence = -1;
  std::string_view named;  ///< what a metadata event calls its thread
};

std::optional<double> microseconds(std::string_view token) {
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return value >= -kLargestMicroseconds && value <= kLargestMicroseconds ? std::optional(value)
                                                                         : std::nullopt;
}

int32_t small_number(std::string_view token) {
  const auto number = whole_number(token);
  return number && *number >= 0 && *number < (int64_t{1} << 30) ? static_cast<int32_t>(*number)
                                                                : -1;
}

/// The number behind "PP rank " in "PP rank 3, TP rank 0, compute".
std::optional<int64_t> number_after(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + words.size());
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value >= 0 ? std::optional(value) : std::nullopt;
}

struct ThreadPlace {
  int64_t stage = -1, lane = -1;
};

struct RawOperation {
  run::Operation operation;
  int64_t process = -1, thread = -1, step = 0;
};

class OperationsReader {
 public:
  OperationsReader(std::string file, const run::OperationGroups& groups)
      : file_(std::move(file)), groups_(groups) {}
  Result<void> read(ondemand::document& document);
  Result<run::OperationTimeline> finish();

 private:
  Result<void> read_events(ondemand::array events);
  void read_member(std::string_view key, ondemand::value value, OperationEvent& event);
  void read_arguments(ondemand::value value, OperationEvent& event);
  Result<void> add(const OperationEvent& event);
  Result<int32_t> kind_of(std::string_view name);
  Result<void> place(RawOperation& raw) const;
  Result<void> place_named(RawOperation& raw, const ThreadPlace& at) const;
  int64_t replica_of(int64_t process) const;
  bool threads_tell_ranks() const;
  Result<void> number_steps(run::OperationTimeline& timeline);
  Result<void> check_twice(const run::OperationTimeline& timeline) const;

  std::string file_;
  run::OperationGroups groups_;
  std::vector<run::OperationKind> kinds_;
  std::map<std::string, int32_t, std::less<>> kind_numbers_;
  std::string last_name_;
  int32_t last_kind_ = -1;
  std::map<std::pair<int64_t, int64_t>, ThreadPlace> places_;
  std::map<int64_t, int64_t> replicas_;  ///< by process, where its name says it
  std::vector<RawOperation> raw_;
  int64_t event_ = 0;
  bool by_thread_ = false, process_is_rank_ = false;
};

void OperationsReader::read_arguments(ondemand::value value, OperationEvent& event) {
  ondemand::object arguments;
  if (value.get_object().get(arguments) != simdjson::SUCCESS) return;
  for (auto argument : arguments) {
    const std::string_view key = key_of(argument);
    const std::string_view token = unquoted(argument.value().raw_json_token());
    if (key == "step") event.step = whole_number(token);
    if (key == "model_chunk") event.chunk = small_number(token);
    if (key == "mb_id") event.micro_batch = small_number(token);
    if (key == "seq_id") event.sequence = small_number(token);
    if (key == "name") event.named = token;
  }
}

void OperationsReader::read_member(std::string_view key, ondemand::value value,
                                   OperationEvent& event) {
  if (key == "args") return read_arguments(value, event);
  const std::string_view token = unquoted(value.raw_json_token());
  if (key == "cat") event.category = token;
  if (key == "name") event.name = token;
  if (key == "ph") event.phase = token;
  if (key == "pid") event.process = whole_number(token).value_or(-1);
  if (key == "tid") event.thread = whole_number(token).value_or(-1);
  if (key == "ts") event.start_us = microseconds(token);
  if (key == "dur") event.duration_us = microseconds(token);
}

Result<void> OperationsReader::read_events(ondemand::array events) {
  for (auto entry : events) {
    ondemand::object members;
    ++event_;
    if (entry.get_object().get(members) != simdjson::SUCCESS)
      return input_error("{}: event {}: found no object", file_, event_);
    OperationEvent event;
    for (auto member : members) {
      const std::string_view key = key_of(member);
      read_member(key, member.value(), event);
    }
    ERGOMETER_TRY(add(event));
  }
  return {};
}

Result<void> OperationsReader::read(ondemand::document& document) {
  if (document.type() == ondemand::json_type::array) return read_events(document.get_array());
  for (auto member : document.get_object())
    if (key_of(member) == "traceEvents") return read_events(member.value().get_array());
  return {};
}

Result<int32_t> OperationsReader::kind_of(std::string_view name) {
  if (last_kind_ >= 0 && name == last_name_) return last_kind_;
  const auto [at, fresh] = kind_numbers_.try_emplace(std::string(name), kinds_.size());
  if (fresh) kinds_.push_back({std::string(name), operation_role(name)});
  if (kinds_.size() > kMostKinds)
    return input_error("{}: more than {} kinds of operations", file_, kMostKinds);
  last_name_ = name;
  return last_kind_ = at->second;
}

Result<void> OperationsReader::add(const OperationEvent& event) {
  if (event.phase == "M" && event.name == "thread_name") {
    const auto stage = number_after(event.named, "PP rank "),
               lane = number_after(event.named, "TP rank ");
    if (stage) places_[{event.process, event.thread}] = {*stage, lane.value_or(0)};
    return {};
  }
  if (event.phase == "M" && event.name == "process_name") {
    if (const auto replica = number_after(event.named, "DP rank ["))
      replicas_[event.process] = *replica;
    return {};
  }
  if (event.phase != "X") return {};
  const auto wrong = [&](std::string_view what) {
    return input_error("{}: event {} ({}): {}", file_, event_,
                       event.category.empty() ? event.name : event.category, what);
  };
  if (event.category.empty()) return wrong("found no cat, allowed: the operation's name");
  if (!event.step) return wrong("found no args.step, allowed: a whole number");
  if (!event.start_us) return wrong("found no ts, allowed: microseconds");
  if (!event.duration_us) return wrong("found no dur, allowed: microseconds");
  if (*event.duration_us < 0)
    return wrong(fmt::format("dur = {}, allowed: 0 or more", *event.duration_us));
  if (event.chunk >= groups_.chunks)
    return wrong(fmt::format("model_chunk = {}, allowed: 0 to {}, as the groups' vpp_size says",
                             event.chunk, groups_.chunks - 1));
  if (event.process < 0) return wrong("found no pid, allowed: a whole number from 0 on");
  ERGOMETER_ASSIGN(const int32_t kind, kind_of(event.category));
  raw_.push_back({{.chunk = event.chunk,
                   .micro_batch = event.micro_batch,
                   .sequence = event.sequence,
                   .kind = kind,
                   .start_us = *event.start_us,
                   .duration_us = *event.duration_us},
                  event.process,
                  event.thread,
                  *event.step});
  return {};
}

/// Five threads a rank, counted through, and the process is the rank's replica.
bool OperationsReader::threads_tell_ranks() const {
  constexpr int64_t kThreads = 5;
  return std::ranges::all_of(raw_, [&](const RawOperation& raw) {
    const int64_t rank = raw.thread / kThreads;
    return raw.thread >= 0 && rank < groups_.ranks() && raw.process < groups_.replicas &&
           rank / groups_.lanes % groups_.replicas == raw.process;
  });
}

int64_t OperationsReader::replica_of(int64_t process) const {
  if (const auto named = replicas_.find(process); named != replicas_.end()) return named->second;
  return process_is_rank_ ? process / groups_.lanes % groups_.replicas : process;
}

Result<void> OperationsReader::place_named(RawOperation& raw, const ThreadPlace& at) const {
  const auto check = [&](const char* what, int64_t found, int64_t size) -> Result<void> {
    if (found < size) return {};
    return input_error("{}: {} rank {}, allowed: 0 to {}, as the groups' file says", file_, what,
                       found, size - 1);
  };
  const int64_t replica = replica_of(raw.process);
  ERGOMETER_TRY(check("PP", at.stage, groups_.stages));
  ERGOMETER_TRY(check("TP", at.lane, groups_.lanes));
  ERGOMETER_TRY(check("DP", replica, groups_.replicas));
  raw.operation.stage = static_cast<int32_t>(at.stage);
  raw.operation.lane = static_cast<int32_t>(at.lane);
  raw.operation.replica = static_cast<int32_t>(replica);
  return {};
}

Result<void> OperationsReader::place(RawOperation& raw) const {
  if (const auto at = places_.find({raw.process, raw.thread}); at != places_.end())
    return place_named(raw, at->second);
  const int64_t rank = by_thread_ ? raw.thread / 5 : raw.process;
  if (rank >= groups_.ranks())
    return input_error("{}: rank {}, allowed: 0 to {}, as the groups' file says", file_, rank,
                       groups_.ranks() - 1);
  raw.operation.lane = static_cast<int32_t>(rank % groups_.lanes);
  raw.operation.replica = static_cast<int32_t>(rank / groups_.lanes % groups_.replicas);
  raw.operation.stage = static_cast<int32_t>(rank / groups_.lanes / groups_.replicas);
  return {};
}

Result<void> OperationsReader::number_steps(run::OperationTimeline& timeline) {
  for (const RawOperation& raw : raw_) timeline.steps.push_back(raw.step);
  std::ranges::sort(timeline.steps);
  timeline.steps.erase(std::unique(timeline.steps.begin(), timeline.steps.end()),
                       timeline.steps.end());
  std::unordered_map<int64_t, int32_t> numbers;
  for (const int64_t step : timeline.steps) numbers.emplace(step, numbers.size());
  timeline.operations.reserve(raw_.size());
  for (RawOperation& raw : raw_) {
    ERGOMETER_TRY(place(raw));
    raw.operation.step = numbers.at(raw.step);
    timeline.operations.push_back(raw.operation);
  }
  return {};
}

/// The same forward or backward of a micro batch; anything else of the same moment.
Result<void> OperationsReader::check_twice(const run::OperationTimeline& timeline) const {
  const auto start = [&](const run::Operation& o) {
    const OperationRole role = timeline.kinds[o.kind].role;
    const bool numbered =
        o.micro_batch >= 0 && (role == OperationRole::kForward || role == OperationRole::kBackward);
    return numbered ? 0 : o.start_us;
  };
  const auto key = [&](const run::Operation& o) {
    return std::tuple(o.step, o.stage, o.replica, o.lane, o.kind, start(o), o.chunk, o.micro_batch,
                      o.sequence);
  };
  std::vector<const run::Operation*> order = base::pointers_to(timeline.operations);
  std::ranges::sort(order, [&](auto* a, auto* b) { return key(*a) < key(*b); });
  const auto twice =
      std::ranges::adjacent_find(order, [&](auto* a, auto* b) { return key(*a) == key(*b); });
  if (twice == order.end()) return {};
  const run::Operation& o = **twice;
  return input_error("{}: {} of step {}, stage {}, replica {}, micro batch {} stands there twice",
                     file_, timeline.kinds[o.kind].name, timeline.steps[o.step], o.stage, o.replica,
                     o.micro_batch);
}

Result<run::OperationTimeline> OperationsReader::finish() {
  if (raw_.empty()) return input_error("{}: holds no operation", file_);
  by_thread_ = places_.empty() && threads_tell_ranks();
  process_is_rank_ = std::ranges::any_of(raw_, [&](const RawOperation& raw) {
    return raw.process >= groups_.replicas && raw.process < groups_.ranks();
  });
  run::OperationTimeline timeline{file_, groups_, kinds_, {}, {}};
  ERGOMETER_TRY(number_steps(timeline));
  ERGOMETER_TRY(check_twice(timeline));
  return timeline;
}

Result<run::OperationGroups> groups_beside(const std::string& path,
                                           const std::string& groups_path) {
  constexpr size_t kMost = size_t{1} << 20;
  if (!groups_path.empty()) {
    ERGOMETER_ASSIGN(const std::string text, base::read_file(groups_path, kMost));
    return read_operation_groups(text, groups_path);
  }
  std::string stem = path;
  for (const std::string_view end : {".gz", ".zst", ".json"})
    if (stem.ends_with(end)) stem.resize(stem.size() - end.size());
  std::error_code error;
  for (const char* end : {".yaml", ".yml"}) {
    if (!std::filesystem::exists(stem + end, error)) continue;
    ERGOMETER_ASSIGN(const std::string text, base::read_file(stem + end, kMost));
    return read_operation_groups(text, stem + end);
  }
  return input_error(
      "{}: is a timeline of operations, and the sizes of its parallel groups are not known: found "
      "no {}.yaml beside it; allowed: --groups FILE, with a line each for dp_size, pp_size, "
      "tp_size and vpp_size",
      path, stem);
}

}  // namespace

bool is_operations(std::string_view start) {
  const auto has = [&](std::string_view word) { return start.find(word) != start.npos; };
  // Names of threads may fill the start of a file of many ranks.
  if (has("\"thread_name\"") && has("\"PP rank ") && has("TP rank ")) return true;
  if (!has("\"mb_id\"") || !has("\"step\"")) return false;
  return std::any_of(std::begin(kRoles), std::end(kRoles), [&](const auto& role) {
    return has(fmt::format("\"cat\":\"{}\"", role.first)) ||
           has(fmt::format("\"cat\": \"{}\"", role.first));
  });
}

run::OperationRole operation_role(std::string_view name) {
  for (const auto& [known, role] : kRoles)
    if (name == known) return role;
  const auto has = [&](std::string_view word) { return name.find(word) != name.npos; };
  if (has("embedding") && has("all-reduce")) return OperationRole::kStageCollective;
  const bool collective = has("all-gather") || has("all-reduce") || has("reduce-scatter") ||
                          has("all-to-all") || has("broadcast") || has("allreduce") ||
                          has("allgather");
  return collective ? OperationRole::kReplicaCollective : OperationRole::kOther;
}

Result<run::OperationTimeline> read_operations(ByteSource& source, const std::string& file,
                                               const run::OperationGroups& groups) {
  return read_json<ondemand::parser, simdjson::simdjson_error>(source, file,
                                                               OperationsReader(file, groups));
}

Result<std::optional<run::OperationTimeline>> open_operations(const std::string& path,
                                                              const std::string& groups_path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  ERGOMETER_ASSIGN(const auto file, open_file(path));
  PeekSource packed(*file);
  ERGOMETER_ASSIGN(const std::string_view head, packed.peek(kHeadBytes));
  std::unique_ptr<ByteSource> unpacked, ahead;
  if (is_packed(head)) {
    unpacked = unpack(head, packed, path);
    ahead = read_ahead(*unpacked);
  }
  PeekSource source(ahead ? *ahead : static_cast<ByteSource&>(packed));
  const auto start = source.peek(kHeadBytes);
  if (!start || !is_operations(*start)) return std::nullopt;
  ERGOMETER_ASSIGN(const run::OperationGroups groups, groups_beside(path, groups_path));
  return read_operations(source, path, groups);
}

}  // namespace ergometer::importer
