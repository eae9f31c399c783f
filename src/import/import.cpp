#include "import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "base/parallel.h"
#include "import/byte_source.h"
#include "import/chakra/chakra.h"
#include "import/decimal.h"
#include "import/graph_files.h"
#include "import/graph_trace.h"
#include "import/kineto/kineto.h"
#include "import/link_operators.h"
#include "import/nsys/nsys.h"
#include "import/pipeline/pipeline_files.h"
#include "import/pytorch_et/execution_trace.h"
#include "import/read_ahead.h"
#include "import/rocprof/rocprof.h"
#include "import/tar.h"
#include "import/temporary_file.h"
#include "import/unpack.h"
#include "run/run.h"
#include "run/sqlite.h"

namespace ergometer::importer {
namespace {

namespace fs = std::filesystem;

/// A file to be read, and whether the user named it or it was found in a folder.
struct Input {
  std::string path;
  bool named = true;
};

constexpr size_t kFormatBytes = 512;

bool is_sqlite(std::string_view head) { return head.starts_with("SQLite format 3"); }

void add(Traces more, Traces& all) {
  std::move(more.ranks.begin(), more.ranks.end(), std::back_inserter(all.ranks));
  std::move(more.graphs.begin(), more.graphs.end(), std::back_inserter(all.graphs));
  std::move(more.dropped.begin(), more.dropped.end(), std::back_inserter(all.dropped));
}

/// A Run holds traces that were imported before; other databases are Nsight Systems'. `name` is
/// what messages call the file.
base::Result<Traces> read_database(const std::string& path, const std::string& name) {
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(path));
  if (!is_run) {
    run::Database db(path, run::Database::Access::kRead);
    ERGOMETER_ASSIGN(std::vector<run::RankTrace> ranks, read_nsys(db, name));
    return Traces{std::move(ranks), {}, {}};
  }
  auto run = run::read_run(path);
  if (!run)
    return tl::unexpected(
        base::Error{run.error().kind, name + run.error().message.substr(path.size())});
  if (run->traces.empty() && run->graphs.empty())
    return base::input_error(
        fmt::format("{}: is a {} Run, which holds no traces", name, run->source));
  return Traces{std::move(run->traces), std::move(run->graphs), std::move(run->dropped)};
}
bool is_empty(const Traces& traces) { return traces.ranks.empty() && traces.graphs.empty(); }

class FileReader {
 public:
  /// `ahead`: there is a processor to spare for unpacking.
  FileReader(bool named, bool ahead) : named_(named), ahead_(ahead) {}
  base::Result<void> read(ByteSource& source, const std::string& name, int layer = 0);
  Traces take() { return std::move(traces_); }

 private:
  base::Result<void> read_archive(ByteSource& source, const std::string& name, int layer);
  base::Result<void> read_trace(ByteSource& source, const std::string& name, std::string_view head);
  base::Result<void> read_packed_database(ByteSource& source, const std::string& name);
  base::Result<void> read_graph_file(GraphFile kind, ByteSource& source, const std::string& name);
  void add_graph(run::WorkGraph graph);

  bool named_, ahead_;
  Traces traces_;
};

std::string printable(std::string_view head) {
  std::string text;
  for (const char c : head.substr(0, 16)) text += c >= ' ' && c <= '~' ? c : '.';
  return text;
}

/// What a file is that is no trace, by its first bytes; empty when it may be JSON.
std::string foreign_kind(std::string_view head) {
  if (head.starts_with("PK\x03\x04")) return "a zip archive; unpack it first";
  if (head.starts_with("BZh")) return "packed by bzip2; unpack it first";
  if (head.starts_with("\xfd"
                       "7zXZ"))
    return "packed by xz; unpack it first";
  if (head.starts_with("kernel_name,"))
    return "a table of kernels that CharLLM-PPT's scripts derived from traces: without times; give "
           "the traces";
  const size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos || head[first] == '{' || head[first] == '[') return "";
  return fmt::format("not a trace: it begins with '{}'", printable(head));
}

base::Result<void> FileReader::read(ByteSource& source, const std::string& name, int layer) {
  PeekSource peeked(source);
  ERGOMETER_ASSIGN(const std::string_view head, peeked.peek(kFormatBytes));
  if (head.empty()) {
    return base::input_error(fmt::format(
        "{}: {}", name, source.cut_off() ? "the packed data ends at once" : "is empty"));
  }
  if (is_packed(head) && layer < kMostLayers) {
    const auto unpacked = unpack(head, peeked, name);
    if (!ahead_ || layer > 0) return read(*unpacked, name, layer + 1);
    const auto ahead = read_ahead(*unpacked);
    return read(*ahead, name, layer + 1);
  }
  if (looks_like_tar(head) && layer < kMostLayers) return read_archive(peeked, name, layer + 1);
  if (is_sqlite(head)) return read_packed_database(peeked, name);
  // Looking further makes the former view useless.
  ERGOMETER_ASSIGN(const std::string_view more, peeked.peek(kGraphHeadBytes));
  if (const GraphFile kind = graph_file(more); kind != GraphFile::kNone)
    return read_graph_file(kind, peeked, name);
  if (const std::string kind = foreign_kind(more); !kind.empty())
    return base::input_error(fmt::format("{}: is {}", name, kind));
  return read_trace(peeked, name, more);
}

base::Result<void> FileReader::read_trace(ByteSource& source, const std::string& name,
                                          std::string_view head) {
  if (is_rocprof(head)) {
    ERGOMETER_ASSIGN(std::vector<run::RankTrace> ranks, read_rocprof(source, name));
    add({std::move(ranks), {}, {}}, traces_);
    return {};
  }
  ERGOMETER_ASSIGN(run::RankTrace trace, read_kineto(source, name));
  traces_.ranks.push_back(std::move(trace));
  return {};
}

/// SQLite reads here and there in its file: what is packed must become one first.
base::Result<void> FileReader::read_packed_database(ByteSource& source, const std::string& name) {
  ERGOMETER_ASSIGN(const TemporaryFile file, TemporaryFile::of(source, name));
  if (source.cut_off())
    return base::input_error(
        fmt::format("{}: the packed data is cut off; half an SQLite file cannot be read", name));
  ERGOMETER_ASSIGN(Traces traces, read_database(file.path(), name));
  add(std::move(traces), traces_);
  return {};
}

void FileReader::add_graph(run::WorkGraph graph) {
  if (auto trace = trace_of(graph)) traces_.ranks.push_back(*std::move(trace));
  traces_.graphs.push_back(std::move(graph));
}

base::Result<void> FileReader::read_graph_file(GraphFile kind, ByteSource& source,
                                               const std::string& name) {
  if (kind == GraphFile::kMegascan) {
    ERGOMETER_ASSIGN(auto ranks, read_megascan(source, name));
    std::move(ranks.begin(), ranks.end(), std::back_inserter(traces_.ranks));
  } else if (kind == GraphFile::kPrimus) {
    ERGOMETER_ASSIGN(run::RankTrace trace, read_primus(source, name));
    traces_.ranks.push_back(std::move(trace));
  } else {
    auto* const read = kind == GraphFile::kChakra       ? read_chakra
                       : kind == GraphFile::kChakraJson ? read_chakra_json
                                                        : read_execution_trace;
    ERGOMETER_ASSIGN(run::WorkGraph graph, read(source, name));
    add_graph(std::move(graph));
  }
  return {};
}

/// What begins with a dot is macOS's or an editor's.
bool is_hidden(const std::string& path) {
  return path.substr(path.rfind('/') + 1).starts_with('.');
}

std::string without_name(const std::string& message, const std::string& name) {
  return message.starts_with(name + ": ") ? message.substr(name.size() + 2) : message;
}

base::Result<void> FileReader::read_archive(ByteSource& source, const std::string& name,
                                            int layer) {
  TarReader tar(source, name);
  std::string reason;
  for (;;) {
    ERGOMETER_ASSIGN(const std::optional<std::string> entry, tar.next());
    if (!entry) break;
    if (is_hidden(*entry)) continue;
    const std::string path = name + "/" + *entry;
    if (const auto done = read(tar.content(), path, layer); !done) {
      reason = without_name(done.error().message, path);
      traces_.dropped.push_back({path, reason, 1});
    }
  }
  if (tar.cut_off()) traces_.dropped.push_back({name, "the archive is cut off", 1});
  if (!is_empty(traces_) || !named_) return {};
  return base::input_error(fmt::format("{}: holds no trace{}", name,
                                       reason.empty() ? "" : fmt::format(" ({})", reason)));
}

/// A job's number and the folder it lies in: "r/4711_kineto/rank-0.json" is 4711 and "r". -1: no
/// such file.
std::pair<std::string, int64_t> kineto_job(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  const std::string name = folder.filename().string();
  constexpr std::string_view kEnd = "_kineto";
  const auto job = name.ends_with(kEnd)
                       ? whole_number(std::string_view(name).substr(0, name.size() - kEnd.size()))
                       : std::nullopt;
  return {folder.parent_path().string(), job.value_or(-1)};
}

/// CharLLM-PPT runs a job again into the same folder: the last one's traces count.
void drop_earlier_jobs(std::vector<Input>& inputs, std::vector<run::Dropped>& dropped) {
  std::map<std::string, int64_t> last;
  for (const Input& input : inputs) {
    const auto [folder, job] = kineto_job(input.path);
    if (job >= 0) last[folder] = std::max(job, last[folder]);
  }
  std::erase_if(inputs, [&](const Input& input) {
    const auto [folder, job] = kineto_job(input.path);
    if (input.named || job < 0 || job == last[folder]) return false;
    dropped.push_back(
        {input.path, fmt::format("of an earlier job than {}_kineto beside it", last[folder]), 1});
    return true;
  });
}

base::Result<void> list_folder(const std::string& folder, std::vector<Input>& inputs) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (at->is_regular_file(ignored) && !name.starts_with('.'))
      paths.push_back(at->path().string());
  }
  if (error)
    return base::input_error(fmt::format("{}: cannot be read: {}", folder, error.message()));
  if (paths.empty()) return base::input_error(fmt::format("{}: the folder holds no files", folder));
  std::sort(paths.begin(), paths.end());
  for (std::string& path : paths) inputs.push_back({std::move(path), false});
  return {};
}

base::Result<std::vector<Input>> list_inputs(const std::vector<std::string>& paths) {
  std::vector<Input> inputs;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path.empty()) return base::input_error("an empty text is no file name");
    if (fs::is_directory(path, error)) {
      ERGOMETER_TRY(list_folder(path, inputs));
    } else {
      inputs.push_back({path, true});
    }
  }
  return inputs;
}

base::Result<bool> starts_like_sqlite(const std::string& path) {
  ERGOMETER_ASSIGN(const auto file, open_file(path));
  PeekSource peeked(*file);
  ERGOMETER_ASSIGN(const std::string_view head, peeked.peek(kFormatBytes));
  return is_sqlite(head);
}

base::Result<Traces> read_input(const Input& input, bool ahead) {
  std::error_code error;
  // A pipe can be read only once.
  if (fs::is_regular_file(input.path, error)) {
    ERGOMETER_ASSIGN(const bool sqlite, starts_like_sqlite(input.path));
    if (sqlite) return read_database(input.path, input.path);
  }
  ERGOMETER_ASSIGN(const auto file, open_file(input.path));
  FileReader reader(input.named, ahead);
  ERGOMETER_TRY(reader.read(*file, input.path));
  return reader.take();
}

/// Ranks that files do not state: the lowest free ones, in the order of the files.
template <class Of>
void number_ranks(std::vector<Of>& ranks) {
  std::set<int64_t> taken;
  for (const Of& trace : ranks) taken.insert(trace.rank);
  int64_t next = 0;
  for (Of& trace : ranks) {
    if (trace.rank >= 0) continue;
    while (taken.count(next) > 0) ++next;
    taken.insert(next);
    trace.rank = next;
  }
}

/// In order of rank, then of file; what each left out moves behind `dropped`.
template <class Of>
void put_in_order(std::vector<Of>& ranks, std::vector<run::Dropped>& dropped) {
  number_ranks(ranks);
  std::stable_sort(ranks.begin(), ranks.end(), [](const Of& a, const Of& b) {
    return std::tie(a.rank, a.file) < std::tie(b.rank, b.file);
  });
  for (Of& of : ranks) {
    std::move(of.dropped.begin(), of.dropped.end(), std::back_inserter(dropped));
    of.dropped.clear();
  }
}

void put_in_order(Traces& traces) {
  std::vector<run::Dropped> dropped;
  put_in_order(traces.ranks, dropped);
  put_in_order(traces.graphs, dropped);
  std::move(traces.dropped.begin(), traces.dropped.end(), std::back_inserter(dropped));
  traces.dropped = std::move(dropped);
  join_step_clocks(traces.ranks);
  link_operators(traces.ranks, traces.graphs);
}

}  // namespace

base::Result<Traces> read_traces(const std::vector<std::string>& paths, size_t threads) {
  ERGOMETER_ASSIGN(std::vector<Input> inputs, list_inputs(paths));
  Traces all;
  drop_earlier_jobs(inputs, all.dropped);
  std::vector<base::Result<Traces>> results(inputs.size());
  base::parallel_for(inputs.size(), threads, [&](size_t i) {
    results[i] = read_input(inputs[i], inputs.size() < threads);
  });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (results[i]) {
      add(std::move(*results[i]), all);
    } else if (inputs[i].named) {
      return tl::unexpected(results[i].error());
    } else {
      all.dropped.push_back(
          {inputs[i].path, without_name(results[i].error().message, inputs[i].path), 1});
    }
  }
  if (is_empty(all))
    return base::input_error(fmt::format(
        "{}: holds no trace{}", paths.front(),
        all.dropped.empty()
            ? ""
            : fmt::format("; {}: {}", all.dropped.front().file, all.dropped.front().reason)));
  put_in_order(all);
  return all;
}

}  // namespace ergometer::importer
