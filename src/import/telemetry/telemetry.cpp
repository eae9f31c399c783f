#include "import/telemetry/telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "import/byte_source.h"
#include "import/tar.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

namespace fs = std::filesystem;

enum class Kind : uint8_t {
  kOther,
  kJson,  ///< no telemetry, but may be a trace
  kSensorTable,
  kZeusTable,
  kPairList,
  kMlLog,
  kPrometheusText,
  kPrometheusJson,
  kShuntMeter,
  kHeaderless
};

constexpr size_t kHeadBytes = size_t{1} << 16;
constexpr size_t kMostBytes = size_t{1} << 31;
constexpr int kMostLayers = 4;

std::string_view without_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

/// Text as Windows' shell writes it into a file: 16 bits a character. What is not ASCII becomes
/// '?'.
std::string narrow(std::string_view wide) {
  std::string text;
  for (size_t at = 2; at + 1 < wide.size(); at += 2)
    text += wide[at + 1] == 0 && static_cast<unsigned char>(wide[at]) < 0x80 ? wide[at] : '?';
  return text;
}
bool is_wide(std::string_view text) { return text.starts_with("\xff\xfe"); }

/// What a text is; `whole`: it is all there, so that a mark far down is found.
Kind kind_of(std::string_view text, bool whole) {
  text = without_mark(text);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return Kind::kOther;
  if (text[first] == '{' || text[first] == '[') {
    return is_prometheus_json(text.substr(first)) ? Kind::kPrometheusJson : Kind::kJson;
  }
  if (text.substr(0, kHeadBytes).find('\0') != std::string_view::npos) return Kind::kOther;
  Lines lines(text);
  lines.next();
  const bool rows =
      !lines.cut_off() && trim(text).size() > trim(text.substr(0, text.find('\n', first))).size();
  if (is_zeus_table(lines.line())) return Kind::kZeusTable;
  if (is_sensor_table(lines.line(), rows)) return Kind::kSensorTable;
  if (is_headerless_table(lines.line())) return Kind::kHeaderless;
  if (is_pair_list(lines.line())) return Kind::kPairList;
  const std::string_view searched = whole ? text : text.substr(0, kHeadBytes);
  if (searched.find(":::MLLOG {") != std::string_view::npos) return Kind::kMlLog;
  if (is_prometheus_text(text)) return Kind::kPrometheusText;
  return Kind::kOther;
}

base::Result<void> read_text(std::string_view text, Kind kind, const TelemetryOptions& options,
                             LogBuilder& log) {
  text = without_mark(text);
  switch (kind) {
    case Kind::kSensorTable: return read_sensor_table(text, log);
    case Kind::kZeusTable: return read_zeus_table(text, log);
    case Kind::kPairList: return read_pair_list(text, options.repair, log);
    case Kind::kMlLog: return read_mllog(text, log);
    case Kind::kPrometheusText: return read_prometheus_text(text, log);
    case Kind::kShuntMeter: return read_shunt_meter(text, log);
    case Kind::kHeaderless:
      return base::input_error(
          fmt::format("{}:1: found a row of readings, allowed: the header first (nvidia-smi writes "
                      "it unless told noheader)",
                      log.file()));
    case Kind::kPrometheusJson: return read_prometheus_json(text, log);
    default: return {};
  }
}

class Reader {
 public:
  explicit Reader(const TelemetryOptions& options) : options_(options) {}

  base::Result<void> read_path(const std::string& path);
  base::Result<Telemetry> finish();

 private:
  /// Whether something may be a trace.
  base::Result<bool> read(ByteSource& source, const std::string& name, int layer);
  base::Result<bool> read_archive(ByteSource& source, const std::string& name, int layer);
  bool read_run(const std::string& path);
  bool read_or_drop(ByteSource& source, const std::string& name, int layer);
  base::Result<bool> read_folder(const std::string& folder);
  void note_twins(const std::string& name, const std::string& text);

  const TelemetryOptions& options_;
  LogBuilder log_;
  Telemetry result_;
  std::map<std::pair<size_t, size_t>, std::string> seen_;  ///< size and hash of power logs
};

base::Result<std::string> read_whole(ByteSource& source, const std::string& name) {
  std::string text;
  constexpr size_t kPiece = size_t{1} << 18;
  for (size_t got = 1; got > 0;) {
    const size_t had = text.size();
    text.resize(had + kPiece);
    auto result = source.read(text.data() + had, kPiece);
    if (!result) return tl::unexpected(result.error());
    got = *result;
    text.resize(had + got);
    if (text.size() > kMostBytes)
      return base::input_error(
          fmt::format("{}: holds more than 2 GiB of text; cut it into pieces", name));
  }
  return text;
}

/// Nodes' logs that are equal to the last byte are one meter, copied.
void Reader::note_twins(const std::string& name, const std::string& text) {
  const auto [at, is_new] =
      seen_.emplace(std::make_pair(text.size(), std::hash<std::string>{}(text)), name);
  if (!is_new)
    result_.log.notes.push_back(
        fmt::format("{} is equal to {}: one recording, not two", name, at->second));
}

/// The head without a record that it cuts in two.
std::string_view whole_records(std::string_view head) {
  constexpr size_t kRecordBytes = 18;
  return head.substr(0, head.size() / kRecordBytes * kRecordBytes);
}

base::Result<bool> Reader::read(ByteSource& source, const std::string& name, int layer) {
  PeekSource peeked(source);
  ERGOMETER_ASSIGN(const std::string_view head, peeked.peek(kHeadBytes));
  if (head.starts_with("\x1f\x8b") && layer < kMostLayers) {
    const auto unpacked = unpack_gzip(peeked, name);
    return read(*unpacked, name, layer + 1);
  }
  if (looks_like_tar(head) && layer < kMostLayers) return read_archive(peeked, name, layer + 1);
  const bool wide = is_wide(head);
  Kind kind = wide ? Kind::kOther : kind_of(head, false);
  if (kind == Kind::kJson) return true;
  const bool binary = !wide && head.find('\0') != std::string_view::npos;
  if (binary && !is_shunt_meter(whole_records(head))) return false;
  ERGOMETER_ASSIGN(std::string text, read_whole(peeked, name));
  if (wide) text = narrow(text);
  if (binary && is_shunt_meter(text)) kind = Kind::kShuntMeter;
  if (kind == Kind::kOther) kind = kind_of(text, true);
  if (kind == Kind::kOther) return false;
  result_.any = true;
  result_.files.push_back(name);
  log_.begin_file(name);
  if (source.cut_off()) log_.drop("the gzip data is cut off");
  if (kind == Kind::kMlLog) note_twins(name, text);
  ERGOMETER_TRY(read_text(text, kind, options_, log_));
  return false;
}

/// A broken file among others does not keep them from being read.
bool Reader::read_or_drop(ByteSource& source, const std::string& name, int layer) {
  const auto json = read(source, name, layer);
  if (json) return *json;
  const std::string& message = json.error().message;
  if (log_.file() != name) log_.begin_file(name);
  log_.drop(message.starts_with(name + ": ") ? message.substr(name.size() + 2) : message);
  return false;
}

base::Result<bool> Reader::read_archive(ByteSource& source, const std::string& name, int layer) {
  TarReader tar(source, name);
  bool other = false;
  for (;;) {
    ERGOMETER_ASSIGN(const auto entry, tar.next());
    if (!entry) break;
    if (entry->substr(entry->rfind('/') + 1).starts_with('.')) continue;
    other = read_or_drop(tar.content(), name + "/" + *entry, layer) || other;
  }
  return other;
}

base::Result<bool> Reader::read_folder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && !at->path().filename().string().starts_with('.'))
      files.push_back(at->path().string());
  }
  if (error) return true;
  std::sort(files.begin(), files.end());
  bool other = false;
  for (const std::string& path : files) {
    const auto file = open_file(path);
    if (!file) continue;
    other = read_or_drop(**file, path, 0) || other;
  }
  return other;
}

/// A Run's rows of telemetry; its traces, if it has any, are read by who reads traces.
bool Reader::read_run(const std::string& path) {
  const auto file = open_file(path);
  if (!file) return false;
  PeekSource peeked(**file);
  const auto head = peeked.peek(16);
  if (!head || !head->starts_with("SQLite format 3")) return false;
  auto log = run::read_device_log(path);
  // A recording may have been killed before its first reading.
  if (!log || (!run::has_log(*log) && log->source != "recorded")) return true;
  result_.any = true;
  result_.files.push_back(path);
  log_.begin_file(path);
  log_.add_log(std::move(*log));
  return true;
}

base::Result<void> Reader::read_path(const std::string& path) {
  std::error_code error;
  const size_t before = result_.files.size();
  bool other = false;
  // What cannot be opened is for who reads traces to say.
  if (path.empty() || (!fs::is_directory(path, error) && !fs::is_regular_file(path, error))) {
    other = true;
  } else if (fs::is_directory(path, error)) {
    ERGOMETER_ASSIGN(other, read_folder(path));
  } else if (read_run(path)) {
    other = run::has_traces(path);
  } else if (const auto file = open_file(path)) {
    ERGOMETER_ASSIGN(other, read(**file, path, 0));
  }
  const bool none = result_.files.size() == before;
  if (other || none) result_.rest.push_back(path);
  if (none) result_.rest_may_be_empty = false;
  return {};
}

base::Result<Telemetry> Reader::finish() {
  std::vector<std::string> notes = std::move(result_.log.notes);
  result_.log = log_.finish();
  for (std::string& note : notes) result_.log.notes.push_back(std::move(note));
  if (result_.files.size() != 1) result_.log.source = "imported";
  return std::move(result_);
}

}  // namespace

base::Result<Telemetry> read_telemetry(const std::vector<std::string>& paths,
                                       const TelemetryOptions& options) {
  Reader reader(options);
  for (const std::string& path : paths) ERGOMETER_TRY(reader.read_path(path));
  return reader.finish();
}

base::Result<run::DeviceLog> parse_telemetry(std::string_view text, const std::string& file,
                                             const TelemetryOptions& options) {
  LogBuilder log;
  log.begin_file(file);
  const Kind kind = kind_of(text, true);
  if (kind == Kind::kOther || kind == Kind::kJson)
    return base::input_error(fmt::format("{}: is no telemetry of a kind that is known", file));
  ERGOMETER_TRY(read_text(text, kind, options, log));
  return log.finish();
}

}  // namespace ergometer::importer
