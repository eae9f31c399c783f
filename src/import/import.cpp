#include "import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/collection.h"
#include "base/file.h"
#include "base/parallel.h"
#include "import/file_reader.h"
#include "import/pipeline/pipeline_files.h"
#include "import/text/decimal.h"
#include "import/trace/link_operators.h"

namespace ergometer::importer {
namespace {

namespace fs = std::filesystem;

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

Result<void> list_folder(const std::string& folder, size_t of, std::vector<Input>& inputs) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && !is_hidden(at->path().string()))
      paths.push_back(at->path().string());
  }
  if (error) return input_error("{}: cannot be read: {}", folder, error.message());
  if (paths.empty()) return input_error("{}: the folder holds no files", folder);
  std::ranges::sort(paths);
  for (std::string& path : paths) inputs.push_back({std::move(path), of, false});
  return {};
}

/// The files at `paths`, of folders all to the bottom in the order of their names.
Result<std::vector<Input>> list_inputs(const std::vector<std::string>& paths,
                                       std::vector<run::Dropped>& dropped) {
  std::vector<Input> inputs;
  for (size_t of = 0; of < paths.size(); ++of) {
    if (paths[of].empty()) return input_error("an empty text is no file name");
    ERGOMETER_ASSIGN(const fs::file_type type, base::file_type(paths[of]));
    if (type == fs::file_type::directory) {
      ERGOMETER_TRY(list_folder(paths[of], of, inputs));
    } else {
      inputs.push_back({paths[of], of, true});
    }
  }
  drop_earlier_jobs(inputs, dropped);
  return inputs;
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
  std::ranges::stable_sort(ranks, [](const Of& a, const Of& b) {
    return std::tie(a.rank, a.file) < std::tie(b.rank, b.file);
  });
  for (Of& of : ranks) {
    std::move(of.dropped.begin(), of.dropped.end(), std::back_inserter(dropped));
    of.dropped.clear();
  }
}

int64_t first_event(const run::RankTrace& trace) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const run::GpuEvent& event : trace.events) first = std::min(first, event.start_ns);
  return first;
}
int64_t last_event(const run::RankTrace& trace) {
  return base::largest(trace.events, std::numeric_limits<int64_t>::min(), &run::GpuEvent::end_ns);
}

/// Of ranks in order those that one file alone holds, or the newest of several cycles of a profiler
/// or of several jobs; a copy of a file counts once.
void keep_newest(std::vector<run::RankTrace>& ranks, std::vector<run::Dropped>& dropped) {
  std::vector<run::RankTrace> kept;
  const auto leave = [&](const run::RankTrace& trace, std::string_view what,
                         const std::string& of) {
    dropped.push_back({trace.file, fmt::format("is rank {}'s {} {}", trace.rank, what, of), 1});
  };
  for (run::RankTrace& trace : ranks) {
    if (kept.empty() || kept.back().rank != trace.rank || trace.events.empty() ||
        kept.back().events.empty()) {
      kept.push_back(std::move(trace));
      continue;
    }
    run::RankTrace& other = kept.back();
    const int64_t first = first_event(trace), last = last_event(trace);
    if (first == first_event(other) && last == last_event(other) &&
        trace.events.size() == other.events.size()) {
      leave(trace, "events once more, as in", other.file);
    } else if (first >= last_event(other)) {
      leave(other, "earlier recording than", trace.file);
      other = std::move(trace);
    } else if (last <= first_event(other)) {
      leave(trace, "earlier recording than", other.file);
    } else {
      kept.push_back(std::move(trace));
    }
  }
  ranks = std::move(kept);
}

int64_t newest_call(const run::FlightDump& dump) {
  return base::largest(dump.calls, int64_t{0}, &run::FlightCall::created_ns);
}

/// In order of rank, of each the newest: a job that was started again writes over none.
void put_in_order(std::vector<run::FlightDump>& dumps, std::vector<run::Dropped>& dropped) {
  std::ranges::stable_sort(dumps, [](const auto& a, const auto& b) {
    return a.rank != b.rank ? a.rank < b.rank : newest_call(a) > newest_call(b);
  });
  std::vector<run::FlightDump> kept;
  for (run::FlightDump& dump : dumps)
    if (kept.empty() || kept.back().rank != dump.rank)
      kept.push_back(std::move(dump));
    else
      dropped.push_back(
          {dump.file,
           fmt::format("is of rank {}, of which {} is a newer dump", dump.rank, kept.back().file),
           1});
  dumps = std::move(kept);
}

void put_in_order(Traces& traces) {
  std::vector<run::Dropped> dropped;
  put_in_order(traces.ranks, dropped);
  keep_newest(traces.ranks, dropped);
  put_in_order(traces.graphs, dropped);
  put_in_order(traces.dumps, dropped);
  std::move(traces.dropped.begin(), traces.dropped.end(), std::back_inserter(dropped));
  traces.dropped = std::move(dropped);
  join_step_clocks(traces.ranks);
  link_operators(traces.ranks, traces.graphs);
}

/// Where nobody asks for dumps, they are left out.
void leave_out(std::vector<run::FlightDump>& dumps, std::vector<run::Dropped>& dropped) {
  for (const run::FlightDump& dump : dumps)
    dropped.push_back({dump.file, "is a flight recorder's dump, which analyze alone reads", 1});
  dumps.clear();
}

/// A broken file among others does not keep them from being read.
Result<void> read_logs(std::vector<LogPart> parts, LogBuilder& log) {
  for (LogPart& part : parts) {
    log.begin_file(part.file);
    if (part.cut_off) log.drop("the packed data is cut off");
    const auto done = std::exchange(part.read, nullptr)(log);
    if (!done && part.named) return tl::unexpected(done.error());
    if (!done) log.drop(without_name(done.error().message, part.file));
  }
  return {};
}

/// Puts together what inputs hold, one after the other.
class Joining {
 public:
  explicit Joining(const TelemetryOptions& options) : log_(options), dumps_(options.dumps) {}

  Traces& traces() { return all_.traces; }
  Result<void> add(Held held, size_t path) {
    if (!dumps_) leave_out(held.traces.dumps, held.traces.dropped);
    if (!held.logs.empty() || !held.traces.dumps.empty()) telling_.insert(path);
    files_ += held.logs.size();
    all_.traces.add(std::move(held.traces));
    log_.add_beside(std::move(held.beside));
    return read_logs(std::move(held.logs), log_);
  }
  /// An error where there is no trace and one of the paths holds no telemetry either.
  Result<void> check(const std::vector<std::string>& paths) const;
  Recorded finish();

 private:
  Recorded all_;
  LogBuilder log_;
  bool dumps_;
  size_t files_ = 0;          ///< of telemetry
  std::set<size_t> telling_;  ///< paths that hold telemetry
};

Result<void> Joining::check(const std::vector<std::string>& paths) const {
  size_t mute = 0;
  while (telling_.contains(mute)) ++mute;
  if (!all_.traces.empty() || mute == paths.size()) return {};
  const auto& dropped = all_.traces.dropped;
  return input_error(
      "{}: holds no trace{}", paths[mute],
      dropped.empty() ? "" : fmt::format("; {}: {}", dropped[0].file, dropped[0].reason));
}

Recorded Joining::finish() {
  put_in_order(all_.traces);
  Telemetry& telemetry = all_.telemetry;
  telemetry.any = files_ > 0;
  telemetry.job_json = log_.job();
  telemetry.log = log_.finish();
  if (files_ != 1) telemetry.log.source = "imported";
  const bool only_dumps = !all_.traces.dumps.empty() && files_ == 0;
  if (!all_.traces.empty() || only_dumps) return std::move(all_);
  std::ranges::move(all_.traces.dropped, std::back_inserter(telemetry.log.dropped));
  all_.traces.dropped.clear();
  return std::move(all_);
}

Result<Recorded> read_all(const std::vector<std::string>& paths, const TelemetryOptions& options,
                          size_t threads, bool traces) {
  Joining joining(options);
  ERGOMETER_ASSIGN(const std::vector<Input> inputs, list_inputs(paths, joining.traces().dropped));
  std::vector<Result<Held>> results(inputs.size());
  base::parallel_for(inputs.size(), threads, [&](size_t i) {
    results[i] = FileReader(inputs[i], traces, inputs.size() < threads).read();
  });
  for (size_t i = 0; i < inputs.size(); ++i) {
    ERGOMETER_ASSIGN(Held held, std::move(results[i]));
    ERGOMETER_TRY(joining.add(std::move(held), inputs[i].of));
  }
  if (traces) ERGOMETER_TRY(joining.check(paths));
  return joining.finish();
}

}  // namespace

Result<Recorded> read_recorded(const std::vector<std::string>& paths,
                               const TelemetryOptions& options, size_t threads) {
  return read_all(paths, options, threads, true);
}

Result<Telemetry> read_telemetry(const std::vector<std::string>& paths,
                                 const TelemetryOptions& options) {
  ERGOMETER_ASSIGN(Recorded recorded, read_all(paths, options, 1, false));
  return std::move(recorded.telemetry);
}

}  // namespace ergometer::importer
