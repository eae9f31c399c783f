#include "import/kineto/kineto.h"

#include <algorithm>

#include "base/collection.h"
#include "import/kineto/event_parser.h"
#include "import/kineto/metadata.h"
#include "import/text/json_cursor.h"
#include "import/text/json_scan.h"
#include "import/text/json_text.h"
#include "import/text/rank_name.h"

namespace ergometer::importer {
namespace {

/// Goes through one file from its first byte to its last.
class KinetoReader {
 public:
  KinetoReader(ByteSource& source, const std::string& file) : cursor_(source, file), file_(file) {}
  Result<run::RankTrace> read();

 private:
  Result<void> read_members();
  Result<void> read_value(const std::string& key);
  Result<void> read_events();
  Result<void> read_one_event();
  void read_whole_event(size_t bytes);
  void read_repaired(std::string_view text);
  Result<void> check_kind() const;
  run::RankTrace finish();

  JsonCursor cursor_;
  Window& window_ = cursor_.window();
  const std::string& file_;
  EventParser parser_;
  Collector collector_;
  Metadata metadata_;
  std::vector<std::string> keys_;  ///< of the top object
  bool has_events_ = false, is_list_ = false;
};

Result<void> KinetoReader::read_value(const std::string& key) {
  if (key == "traceEvents") {
    ERGOMETER_ASSIGN(const bool list, cursor_.enter('['));
    has_events_ = has_events_ || list;
    if (list) return read_events();
  }
  if (!is_metadata(key)) return cursor_.skip();
  ERGOMETER_ASSIGN(const auto value, cursor_.value());
  if (value) read_member(key, *value, metadata_);
  return {};
}

Result<void> KinetoReader::read_members() {
  std::string key;
  for (;;) {
    ERGOMETER_ASSIGN(const bool any, cursor_.next_key(key));
    if (!any) return {};
    constexpr size_t kKeysKept = 64;
    if (keys_.size() < kKeysKept) keys_.push_back(key);
    ERGOMETER_TRY(read_value(key));
  }
}

/// The element at the start of the window alone: it does not end within the window, or simdjson
/// refused it.
Result<void> KinetoReader::read_one_event() {
  ERGOMETER_ASSIGN(const auto bytes, cursor_.measure());
  if (!bytes) {
    collector_.drop(window_.at_end() ? DropReason::kCutOff : DropReason::kTooLarge);
    return cursor_.skip();
  }
  read_whole_event(*bytes);
  // A stray bracket or colon is no value: step over it.
  window_.consume(std::max<size_t>(*bytes, 1));
  return {};
}

void KinetoReader::read_whole_event(size_t bytes) {
  using End = EventParser::Outcome::End;
  if (bytes == 0) return collector_.drop(DropReason::kMalformed);
  if (window_.text().front() != '{') return collector_.drop(DropReason::kNotAnObject);
  const auto outcome = parser_.parse(window_.data(), bytes, window_.capacity_behind(0), collector_);
  if (outcome.end != End::kText) read_repaired(window_.text().substr(0, bytes));
}

/// Bytes that JSON does not allow (text that is not UTF-8, control characters) become question
/// marks and spaces, and the event is tried again.
void KinetoReader::read_repaired(std::string_view text) {
  std::vector<char> copy(1 + text.size() + Window::kPadding);
  std::transform(text.begin(), text.end(), copy.begin() + 1, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 ? ' ' : byte > 0x7f ? '?' : c;
  });
  const auto outcome = parser_.parse(copy.data() + 1, text.size(), copy.size() - 1, collector_);
  if (outcome.end != EventParser::Outcome::End::kText) collector_.drop(DropReason::kMalformed);
}

/// The list of events, from behind its opening bracket to behind its closing one.
Result<void> KinetoReader::read_events() {
  using End = EventParser::Outcome::End;
  uint64_t one_by_one_until = 0;  ///< simdjson can do nothing with the text up to here
  for (;;) {
    ERGOMETER_ASSIGN(const bool any, cursor_.next_item(']'));
    if (!any) return {};
    if (window_.offset() < one_by_one_until) {
      ERGOMETER_TRY(read_one_event());
      continue;
    }
    if (window_.size() < Window::kFirstBytes / 2) ERGOMETER_TRY(window_.more());
    // No more at once than a window's first size: it may have grown for one large value, and damage
    // makes us begin again behind it.
    const std::string_view stretch = window_.text().substr(0, Window::kFirstBytes);
    const size_t cut = last_boundary(stretch);
    EventParser::Outcome outcome{End::kStuck, 0};
    if (cut > 0)
      outcome = parser_.parse(window_.data(), cut, window_.capacity_behind(0), collector_);
    window_.consume(outcome.taken);
    if (outcome.end == End::kList) return {};
    if (outcome.end == End::kStuck && outcome.taken == 0)
      one_by_one_until = window_.offset() + (cut > 0 ? cut : stretch.size());
  }
}

std::string_view kind_of(const std::vector<std::string>& keys) {
  const auto has = [&](std::string_view key) { return base::contains(keys, key); };
  if (has("nodes") && (has("schema") || has("start_ts"))) return "a PyTorch execution trace";
  if (has("rocprofiler-sdk-tool")) return "a rocprofv3 result";
  if (has("nodes")) return "a graph";
  return "";
}

/// An input error for JSON that is no trace.
Result<void> KinetoReader::check_kind() const {
  if (has_events_) return {};
  if (is_list_) {
    if (collector_.phases() > 0 || collector_.entries() == 0) return {};
    return input_error("{}: is a list, but not of trace events: none of its entries has a \"ph\"",
                       file_);
  }
  if (const std::string_view kind = kind_of(keys_); !kind.empty())
    return input_error("{}: is {}, not a Kineto trace: it has no \"traceEvents\"", file_, kind);
  if (cursor_.truncated())
    return input_error("{}: ends after {} bytes, before any \"traceEvents\"", file_,
                       window_.offset());
  return input_error("{}: is JSON, but not a trace: it has no list \"traceEvents\"", file_);
}

/// The process group's number counts most. Without one every process calls itself rank 0, and the
/// file's name knows better.
int64_t rank_of(const Metadata& metadata, std::string_view file) {
  if (metadata.rank >= 0 && metadata.distributed) return metadata.rank;
  if (const auto rank = rank_in_name(file)) return *rank;
  if (const auto rank = rank_in_name(metadata.trace_name)) return *rank;
  return metadata.rank;
}

run::RankTrace KinetoReader::finish() {
  run::RankTrace trace = collector_.finish(file_);
  trace.rank = rank_of(metadata_, file_);
  trace.world_size = metadata_.world_size;
  trace.base_time_ns = metadata_.base_time_ns;
  trace.gpu = metadata_.gpu;
  trace.truncated = cursor_.truncated();
  return trace;
}

Result<run::RankTrace> KinetoReader::read() {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  ERGOMETER_TRY(window_.more());
  if (window_.text().starts_with(kByteOrderMark)) window_.consume(kByteOrderMark.size());
  ERGOMETER_ASSIGN(is_list_, cursor_.enter('['));
  if (cursor_.truncated()) return input_error("{}: is empty", file_);
  if (is_list_) {
    ERGOMETER_TRY(read_events());
  } else {
    ERGOMETER_ASSIGN(const bool object, cursor_.enter('{'));
    if (!object)
      return input_error("{}: is not JSON: it begins with {}", file_,
                         shown(window_.text().front()));
    ERGOMETER_TRY(read_members());
  }
  ERGOMETER_TRY(check_kind());
  return finish();
}

}  // namespace

Result<run::RankTrace> read_kineto(ByteSource& source, const std::string& file) {
  return KinetoReader(source, file).read();
}

}  // namespace ergometer::importer
