#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "import/bytes/temporary_file.h"
#include "import/formats.h"
#include "import/telemetry/log_builder.h"
#include "import/trace/traces.h"

namespace ergometer::importer {

/// A file to be read.
struct Input {
  std::string path;
  size_t of = 0;  ///< which of the user's paths it stands at
  /// By the user, so that what is wrong with it is an error; else it was found in a folder.
  bool named = true;
};

/// Telemetry that was found and is not read yet: readings of one device may stand in several files,
/// so they are read one after the other.
struct LogPart {
  std::string file;
  std::function<Result<void>(LogBuilder&)> read;
  bool named = false;    ///< a file by itself that the user named: its errors are his
  bool cut_off = false;  ///< the packed data ends too early
};

/// What one input holds.
struct Held {
  Traces traces;
  std::vector<LogPart> logs;
  std::map<std::string, std::string> beside;  ///< of archives: texts that recordings need
  bool empty() const { return traces.empty() && traces.dumps.empty() && logs.empty(); }
};

/// Goes through one input, packed by gzip or zstd or not at all, an archive or not, to the plain
/// files and databases in it.
class FileReader {
 public:
  /// `traces`: they are read too, and an input without anything is an error. `ahead`: there is a
  /// processor to spare for unpacking.
  FileReader(const Input& input, bool traces, bool ahead)
      : input_(input), with_traces_(traces), ahead_(ahead) {}

  /// Input errors: what the user named is broken or of no kind that is read. Any other such file
  /// is counted as dropped.
  Result<Held> read();

 private:
  Result<void> read_input();
  Result<void> read(ByteSource& source, const std::string& name, int layer);
  Result<void> read_archive(ByteSource& source, const std::string& name, int layer);
  Result<void> read_packed_database(ByteSource& source, const std::string& name);
  Result<void> read_database(const std::string& path, const std::string& name,
                             const std::shared_ptr<TemporaryFile>& kept = nullptr);
  Result<bool> take_logs(const std::string& path, const std::string& name, bool is_run,
                         const std::shared_ptr<TemporaryFile>& kept);
  Result<void> read_plain(PeekSource& source, std::string_view head, const std::string& name);
  Result<void> take_traces(ReadTraces reader, ByteSource& source, const std::string& name);
  Result<void> refuse(const std::string& name, std::string_view why);
  void add_log(const std::string& name, bool cut_off,
               std::function<Result<void>(LogBuilder&)> part);
  void drop(const std::string& name, const std::string& message);

  const Input& input_;
  bool with_traces_, ahead_;
  Held held_;
};

/// What begins with a dot is macOS's or an editor's.
bool is_hidden(const std::string& path);
/// A message about `name` without its beginning, which is that name; "NAME:2: ..." is of its
/// line 2.
std::string without_name(const std::string& message, const std::string& name);

}  // namespace ergometer::importer
