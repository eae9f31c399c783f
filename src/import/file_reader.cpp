#include "import/file_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "base/text.h"
#include "import/bytes/read_ahead.h"
#include "import/bytes/tar.h"
#include "import/bytes/unpack.h"
#include "import/bytes/whole_text.h"
#include "import/nsys/nsys.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"
#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::importer {
namespace {

bool is_sqlite(std::string_view head) { return head.starts_with("SQLite format 3"); }

/// Text as Windows' shell writes it into a file: 16 bits a character.
bool is_wide(std::string_view text) { return text.starts_with("\xff\xfe"); }

/// What is not ASCII becomes '?'.
std::string narrow(std::string_view wide) {
  std::string text;
  for (size_t at = 2; at + 1 < wide.size(); at += 2)
    text += wide[at + 1] == 0 && static_cast<unsigned char>(wide[at]) < 0x80 ? wide[at] : '?';
  return text;
}

/// What reads a file as traces (ReadTraces) or as telemetry (ReadLog); null: nothing does.
template <class Reader>
Reader reader_of(const Format* format) {
  const auto* const reader = format == nullptr ? nullptr : std::get_if<Reader>(&format->read);
  return reader == nullptr ? nullptr : *reader;
}

/// Why a file is not read: what it is, or that nobody knows.
std::string reason_for(const Format* format, std::string_view text) {
  if (format != nullptr) return fmt::format("is {}", format->name);
  if (trim(text).empty()) return "is empty";
  std::string shown;
  for (const char c : text.substr(0, 16)) shown += c >= ' ' && c <= '~' ? c : '.';
  if (form_of(text) != Form::kText)
    return fmt::format("is not a trace: it begins with '{}'", shown);
  return fmt::format(
      "is no trace, no telemetry and no log of Megatron-LM, NeMo, torchtitan, nanotron, DeepSpeed, "
      "Trainer, MaxText, LitGPT, Composer, OLMo or MLPerf: it begins with '{}'",
      shown);
}

/// The traces of a Run into which such were imported. `name` is what messages call the file.
Result<Traces> traces_of_run(const std::string& path, const std::string& name) {
  auto run = run::read_run(path);
  if (!run)
    return tl::unexpected(
        base::Error{run.error().kind, name + run.error().message.substr(path.size())});
  if (run->traces.empty() && run->graphs.empty())
    return input_error("{}: is a {} Run, which holds no traces", name, run->source);
  return Traces{std::move(run->traces), std::move(run->graphs), {}, std::move(run->dropped)};
}

Result<Traces> traces_of_nsys(const std::string& path, const std::string& name) {
  run::Database db(path, run::Database::Access::kRead);
  ERGOMETER_ASSIGN(std::vector<run::RankTrace> ranks, read_nsys(db, name));
  return Traces{std::move(ranks), {}, {}, {}};
}

/// A Run's telemetry; nothing where it has none.
Result<std::optional<run::DeviceLog>> log_of_run(const std::string& path) {
  auto log = run::read_device_log(path);
  if (!log && log.error().kind == base::ErrorKind::kMissing)
    return tl::unexpected(std::move(log).error());
  // A recording may have been killed before its first reading.
  if (!log || (!run::has_log(*log) && log->source != "recorded")) return std::nullopt;
  return *std::move(log);
}

Result<bool> has_gpu_metrics(const std::string& path, const std::string& name) {
  run::Database db(path, run::Database::Access::kRead);
  const bool has = db.has_table("GPU_METRICS");
  if (!db.ok() && db.fault() == base::ErrorKind::kMissing)
    return db.failure(name + ": cannot be read");
  return has;
}

}  // namespace

Result<Held> FileReader::read() {
  if (const auto done = read_input(); !done) {
    if (input_.named) return tl::unexpected(done.error());
    drop(input_.path, done.error().message);
  }
  return std::move(held_);
}

Result<void> FileReader::read_input() {
  ERGOMETER_ASSIGN(const auto file, open_file(input_.path));
  return read(*file, input_.path, 0);
}

Result<void> FileReader::read(ByteSource& source, const std::string& name, int layer) {
  PeekSource peeked(source);
  ERGOMETER_ASSIGN(const std::string_view head, peeked.peek(kHeadBytes));
  if (head.empty())
    return refuse(name, source.cut_off() ? "the packed data ends at once" : "is empty");
  if (is_packed(head) && layer < kMostLayers) {
    const auto unpacked = unpack(head, peeked, name);
    if (!ahead_ || layer > 0) return read(*unpacked, name, layer + 1);
    const auto ahead = read_ahead(*unpacked);
    return read(*ahead, name, layer + 1);
  }
  if (looks_like_tar(head) && layer < kMostLayers) return read_archive(peeked, name, layer + 1);
  if (!is_sqlite(head)) return read_plain(peeked, head, name);
  // SQLite reads here and there in its file.
  std::error_code error;
  return layer == 0 && std::filesystem::is_regular_file(name, error)
             ? read_database(name, name)
             : read_packed_database(peeked, name);
}

Result<void> FileReader::read_archive(ByteSource& source, const std::string& name, int layer) {
  TarReader tar(source, name);
  for (;;) {
    ERGOMETER_ASSIGN(const std::optional<std::string> entry, tar.next());
    if (!entry) break;
    if (is_hidden(*entry)) continue;
    const std::string path = name + "/" + *entry;
    if (const auto done = read(tar.content(), path, layer); !done) drop(path, done.error().message);
  }
  if (tar.cut_off()) drop(name, "the archive is cut off");
  if (!with_traces_ || !input_.named || !held_.empty()) return {};
  const auto& dropped = held_.traces.dropped;
  return input_error("{}: holds no trace{}", name,
                     dropped.empty() ? "" : fmt::format(" ({})", dropped.back().reason));
}

Result<void> FileReader::read_plain(PeekSource& source, std::string_view head,
                                    const std::string& name) {
  const bool wide = is_wide(head);
  const Format* format = wide ? nullptr : format_of(head);
  if (const auto reader = reader_of<ReadTraces>(format)) return take_traces(reader, source, name);
  const bool by_mark = format == nullptr && (wide || form_of(head) == Form::kText);
  if (!by_mark && !reader_of<ReadLog>(format)) return refuse(name, reason_for(format, head));
  ERGOMETER_ASSIGN(std::string text, read_all(source, name, kMostText));
  if (wide) text = narrow(text);
  if (by_mark) format = format_of(text);  // which may stand far down
  // Lists begin as lines of logs do.
  if (format == nullptr && trim(text).starts_with('[')) format = format_of(text, Form::kJson);
  if (const auto reader = reader_of<ReadTraces>(format)) {
    TextSource again(std::move(text));
    return take_traces(reader, again, name);
  }
  if (const auto reader = reader_of<ReadLog>(format)) {
    add_log(name, source.cut_off(), [reader, text = std::move(text)](LogBuilder& log) {
      return reader(without_mark(text), log);
    });
    return {};
  }
  if (name == input_.path || !is_shunt_meter_start(name))
    return refuse(name, reason_for(format, text));
  held_.beside.emplace(name, std::move(text));
  return {};
}

Result<void> FileReader::take_traces(ReadTraces reader, ByteSource& source,
                                     const std::string& name) {
  if (!with_traces_) return {};
  ERGOMETER_ASSIGN(Traces traces, reader(source, name));
  held_.traces.add(std::move(traces));
  return {};
}

/// Where telemetry alone is asked for, what is none is passed over.
Result<void> FileReader::refuse(const std::string& name, std::string_view why) {
  if (!with_traces_) return {};
  return input_error("{}: {}", name, why);
}

void FileReader::add_log(const std::string& name, bool cut_off,
                         std::function<Result<void>(LogBuilder&)> part) {
  held_.logs.push_back({name, std::move(part), input_.named && name == input_.path, cut_off});
}

Result<void> FileReader::read_packed_database(ByteSource& source, const std::string& name) {
  ERGOMETER_ASSIGN(TemporaryFile file, TemporaryFile::of(source, name));
  if (source.cut_off())
    return input_error("{}: the packed data is cut off; half an SQLite file cannot be read", name);
  const auto kept = std::make_shared<TemporaryFile>(std::move(file));
  return read_database(kept->path(), name, kept);
}

/// A Run's telemetry, or what Nsight Systems sampled. Whether there may be traces beside.
Result<bool> FileReader::take_logs(const std::string& path, const std::string& name, bool is_run,
                                   const std::shared_ptr<TemporaryFile>& kept) {
  if (!is_run) {
    ERGOMETER_ASSIGN(const bool sampled, has_gpu_metrics(path, name));
    if (sampled)
      add_log(name, false, [path, kept](LogBuilder& to) {
        run::Database db(path, run::Database::Access::kRead);
        return read_nsys_metrics(db, to);
      });
    return true;
  }
  ERGOMETER_ASSIGN(std::optional<run::DeviceLog> log, log_of_run(path));
  if (!log) return true;
  add_log(name, false, [log = *std::move(log)](LogBuilder& to) mutable {
    to.add_log(std::move(log));
    return Result<void>();
  });
  return run::has_traces(path);
}

/// A Run, or else an export of Nsight Systems.
Result<void> FileReader::read_database(const std::string& path, const std::string& name,
                                       const std::shared_ptr<TemporaryFile>& kept) {
  const size_t had = held_.logs.size();
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(path));
  ERGOMETER_ASSIGN(const bool more, take_logs(path, name, is_run, kept));
  if (!with_traces_ || !more) return {};
  auto traces = is_run ? traces_of_run(path, name) : traces_of_nsys(path, name);
  if (traces)
    held_.traces.add(*std::move(traces));
  else if (held_.logs.size() == had)
    return tl::unexpected(std::move(traces).error());
  else
    drop(name, traces.error().message);
  return {};
}

void FileReader::drop(const std::string& name, const std::string& message) {
  held_.traces.dropped.push_back({name, without_name(message, name), 1});
}

bool is_hidden(const std::string& path) { return base::last_part(path, '/').starts_with('.'); }

std::string without_name(const std::string& message, const std::string& name) {
  if (!message.starts_with(name + ":")) return message;
  const std::string rest = message.substr(name.size() + 1);
  if (rest.starts_with(' ')) return rest.substr(1);
  return rest[0] >= '0' && rest[0] <= '9' ? "line " + rest : message;
}

}  // namespace ergometer::importer
