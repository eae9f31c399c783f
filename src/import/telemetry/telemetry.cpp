#include "import/telemetry/telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/file.h"
#include "import/byte_source.h"
#include "import/nsys/nsys.h"
#include "import/tar.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"
#include "import/temporary_file.h"
#include "import/unpack.h"
#include "run/run.h"
#include "run/sqlite.h"

namespace ergometer::importer {
namespace {

namespace fs = std::filesystem;

enum class LogKind : uint8_t {
  kOther,
  kJson,  ///< no telemetry, but may be a trace
  kSensorTable,
  kZeusTable,
  kPairList,
  kMlLog,
  kStepLog,
  kDmon,
  kNcclTests,
  kNcclInspector,
  kPrometheusText,
  kPrometheusJson,
  kShuntMeter,
  kHeaderless
};

constexpr size_t kLogHeadBytes = size_t{1} << 16;
constexpr size_t kLargestLog = size_t{1} << 31;

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
LogKind kind_of(std::string_view text, bool whole) {
  text = without_mark(text);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return LogKind::kOther;
  if (may_be_json(text.substr(first))) {
    if (is_nccl_inspector(text.substr(first))) return LogKind::kNcclInspector;
    return is_prometheus_json(text.substr(first)) ? LogKind::kPrometheusJson : LogKind::kJson;
  }
  if (text.substr(0, kLogHeadBytes).find('\0') != std::string_view::npos) return LogKind::kOther;
  Lines lines(text);
  lines.next();
  const bool rows =
      !lines.cut_off() && trim(text).size() > trim(text.substr(0, text.find('\n', first))).size();
  if (is_dmon(text)) return LogKind::kDmon;
  if (is_zeus_table(lines.line())) return LogKind::kZeusTable;
  if (is_sensor_table(lines.line(), rows)) return LogKind::kSensorTable;
  if (is_headerless_table(lines.line())) return LogKind::kHeaderless;
  if (is_pair_list(lines.line())) return LogKind::kPairList;
  const std::string_view searched = whole ? text : text.substr(0, kLogHeadBytes);
  if (searched.find(":::MLLOG {") != std::string_view::npos) return LogKind::kMlLog;
  if (is_nccl_tests(searched)) return LogKind::kNcclTests;
  if (is_step_log(searched)) return LogKind::kStepLog;
  if (is_prometheus_text(text)) return LogKind::kPrometheusText;
  return LogKind::kOther;
}

base::Result<void> read_text(std::string_view text, LogKind kind, const TelemetryOptions& options,
                             LogBuilder& log) {
  text = without_mark(text);
  switch (kind) {
    case LogKind::kSensorTable: return read_sensor_table(text, log);
    case LogKind::kZeusTable: return read_zeus_table(text, log);
    case LogKind::kPairList: return read_pair_list(text, options, log);
    case LogKind::kMlLog: return read_mllog(text, log);
    case LogKind::kStepLog: return read_step_log(text, log), base::Result<void>{};
    case LogKind::kDmon: return read_dmon(text, options, log);
    case LogKind::kNcclTests: return read_nccl_tests(text, log);
    case LogKind::kNcclInspector: return read_nccl_inspector(text, log);
    case LogKind::kPrometheusText: return read_prometheus_text(text, log);
    case LogKind::kHeaderless:
      return base::input_error(
          fmt::format("{}:1: found a row of readings, allowed: the header first (nvidia-smi writes "
                      "it unless told noheader)",
                      log.file()));
    case LogKind::kPrometheusJson: return read_prometheus_json(text, log);
    default: return {};
  }
}

class Reader {
 public:
  explicit Reader(const TelemetryOptions& options) : options_(options) {}

  base::Result<void> read_path(const std::string& path);
  base::Result<Telemetry> finish();

 private:
  /// An archive's meters wait for the file with their start, which may come behind them.
  struct Meters {
    std::map<std::string, std::string> recordings, starts;  ///< by file
  };
  /// Whether something may be a trace.
  base::Result<bool> read(ByteSource& source, const std::string& name, int layer);
  void begin_telemetry(const std::string& name);
  base::Result<bool> read_archive(ByteSource& source, const std::string& name, int layer);
  base::Result<bool> read_entries(ByteSource& source, const std::string& name, int layer);
  base::Result<bool> read_database(const std::string& path, const std::string& name);
  bool read_or_drop(ByteSource& source, const std::string& name, int layer);
  base::Result<bool> read_folder(const std::string& folder);
  base::Result<void> read_meter(std::string_view bytes, const base::Result<std::string>& start);
  void read_meters(const Meters& meters);
  void drop_file(const std::string& name, const std::string& message);
  void note_twins(const std::string& name, const std::string& text);

  const TelemetryOptions& options_;
  LogBuilder log_;
  Telemetry result_;
  Meters* meters_ = nullptr;                               ///< of the archive that is being read
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
    if (text.size() > kLargestLog)
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
  return head.substr(0, head.size() / kShuntRecordBytes * kShuntRecordBytes);
}

base::Result<bool> Reader::read(ByteSource& source, const std::string& name, int layer) {
  PeekSource peeked(source);
  ERGOMETER_ASSIGN(const std::string_view head, peeked.peek(kLogHeadBytes));
  if (is_packed(head) && layer < kMostLayers) {
    const auto unpacked = unpack(head, peeked, name);
    return read(*unpacked, name, layer + 1);
  }
  if (head.starts_with("SQLite format 3")) {
    // SQLite reads here and there in its file: what is packed must become one first.
    if (layer == 0 && meters_ == nullptr) return read_database(name, name);
    ERGOMETER_ASSIGN(const TemporaryFile file, TemporaryFile::of(peeked, name));
    return read_database(file.path(), name);
  }
  if (looks_like_tar(head) && layer < kMostLayers) return read_archive(peeked, name, layer + 1);
  const bool wide = is_wide(head);
  LogKind kind = wide ? LogKind::kOther : kind_of(head, false);
  if (kind == LogKind::kJson) return true;
  const bool binary = !wide && head.find('\0') != std::string_view::npos;
  if (binary && !is_shunt_meter(whole_records(head))) return false;
  ERGOMETER_ASSIGN(std::string text, read_whole(peeked, name));
  if (wide) text = narrow(text);
  if (binary && is_shunt_meter(text)) kind = LogKind::kShuntMeter;
  if (kind == LogKind::kOther) kind = kind_of(text, true);
  if (kind == LogKind::kOther && meters_ != nullptr && name.ends_with("start_ts.txt"))
    meters_->starts.emplace(name, text);
  if (kind == LogKind::kOther) return false;
  begin_telemetry(name);
  if (source.cut_off()) log_.drop("the packed data is cut off");
  if (kind == LogKind::kMlLog) note_twins(name, text);
  if (kind == LogKind::kShuntMeter && meters_ != nullptr) {
    meters_->recordings.emplace(name, std::move(text));
    return false;
  }
  constexpr size_t kMostOfStart = 4096;
  if (kind == LogKind::kShuntMeter)
    return read_meter(text, base::read_file(shunt_meter_start_file(name), kMostOfStart)).map([] {
      return false;
    });
  ERGOMETER_TRY(read_text(text, kind, options_, log_));
  return false;
}

void Reader::drop_file(const std::string& name, const std::string& message) {
  if (log_.file() != name) log_.begin_file(name);
  log_.drop(message.starts_with(name + ": ") ? message.substr(name.size() + 2) : message);
}

/// A broken file among others does not keep them from being read.
bool Reader::read_or_drop(ByteSource& source, const std::string& name, int layer) {
  const auto json = read(source, name, layer);
  if (json) return *json;
  drop_file(name, json.error().message);
  return false;
}

/// `start`: the text of the file beside it.
base::Result<void> Reader::read_meter(std::string_view bytes,
                                      const base::Result<std::string>& start) {
  if (!start)
    return base::input_error(
        fmt::format("{}: is a meter's recording; the time of its start must stand beside it: {}",
                    log_.file(), start.error().message));
  ERGOMETER_ASSIGN(const int64_t start_ns,
                   shunt_meter_start(*start, shunt_meter_start_file(log_.file())));
  read_shunt_meter(bytes, start_ns, log_);
  return {};
}

void Reader::read_meters(const Meters& meters) {
  for (const auto& [file, bytes] : meters.recordings) {
    log_.begin_file(file);
    const std::string beside = shunt_meter_start_file(file);
    const auto start = meters.starts.find(beside);
    const auto read = start != meters.starts.end()
                          ? read_meter(bytes, start->second)
                          : read_meter(bytes, base::input_error(beside + ": no such file"));
    if (!read) drop_file(file, read.error().message);
  }
}

base::Result<bool> Reader::read_archive(ByteSource& source, const std::string& name, int layer) {
  Meters meters;
  Meters* const outer = std::exchange(meters_, &meters);
  base::Result<bool> other = read_entries(source, name, layer);
  meters_ = outer;  // of a damaged archive, too, which may lie in another one
  read_meters(meters);
  return other;
}

base::Result<bool> Reader::read_entries(ByteSource& source, const std::string& name, int layer) {
  TarReader tar(source, name);
  bool other = false;
  for (;;) {
    ERGOMETER_ASSIGN(const auto entry, tar.next());
    if (!entry) return other;
    if (entry->substr(entry->rfind('/') + 1).starts_with('.')) continue;
    other = read_or_drop(tar.content(), name + "/" + *entry, layer) || other;
  }
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

/// A Run's telemetry, or what Nsight Systems sampled; traces in it, which may be, are read by who
/// reads traces. Whether there may be any.
base::Result<bool> Reader::read_database(const std::string& path, const std::string& name) {
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(path));
  if (is_run) {
    auto log = run::read_device_log(path);
    if (!log && log.error().kind == base::ErrorKind::kMissing)
      return tl::unexpected(std::move(log).error());
    // A recording may have been killed before its first reading.
    if (!log || (!run::has_log(*log) && log->source != "recorded")) return true;
    begin_telemetry(name);
    log_.add_log(std::move(*log));
    return run::has_traces(path);
  }
  run::Database db(path, run::Database::Access::kRead);
  const bool has_metrics = db.has_table("GPU_METRICS");
  if (!db.ok() && db.fault() == base::ErrorKind::kMissing)
    return db.failure(name + ": cannot be read");
  if (!has_metrics) return true;
  begin_telemetry(name);
  ERGOMETER_TRY(read_nsys_metrics(db, log_));
  return true;
}

void Reader::begin_telemetry(const std::string& name) {
  result_.any = true;
  result_.files.push_back(name);
  log_.begin_file(name);
}

base::Result<void> Reader::read_path(const std::string& path) {
  const size_t before = result_.files.size();
  bool other = false;
  ERGOMETER_ASSIGN(const fs::file_type type, base::file_type(path));
  if (type == fs::file_type::directory) {
    ERGOMETER_ASSIGN(other, read_folder(path));
  } else if (type == fs::file_type::regular) {
    ERGOMETER_ASSIGN(const auto file, open_file(path));
    ERGOMETER_ASSIGN(other, read(*file, path, 0));
  } else {
    other = true;  // for who reads traces to say
  }
  const bool none = result_.files.size() == before;
  if (other || none) result_.rest.push_back(path);
  if (none) result_.rest_may_be_empty = false;
  return {};
}

base::Result<Telemetry> Reader::finish() {
  std::vector<std::string> notes = std::move(result_.log.notes);
  result_.job_json = log_.job();
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
  const LogKind kind = kind_of(text, true);
  if (kind == LogKind::kOther || kind == LogKind::kJson)
    return base::input_error(fmt::format("{}: is no telemetry of a kind that is known", file));
  ERGOMETER_TRY(read_text(text, kind, options, log));
  return log.finish();
}

}  // namespace ergometer::importer
