#include "cli/record/record_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "base/collection.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/console/terminal.h"
#include "cli/record/job_watch.h"
#include "cli/record/record_live.h"
#include "record/clock.h"
#include "record/host.h"
#include "record/metrics/metrics_server.h"

namespace ergometer::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string why_missing(const record::Sources& sources, const std::string& name) {
  for (const record::Sources::Missing& missing : sources.missing)
    if (missing.name == name) return missing.why;
  return "is not read here";
}

/// The sources that were asked for, or all.
Result<record::Sources> open_wanted(const RecordOptions& options) {
  ERGOMETER_ASSIGN(record::Sources sources, record::open_sources(options.sources));
  for (const std::string& name : options.wanted) {
    const bool open = std::ranges::any_of(
        sources.open, [&](const auto& source) { return source->name() == name; });
    if (!open) return missing_error("--source {}: {}", name, why_missing(sources, name));
  }
  const auto unwanted = [&](std::string_view name) {
    return !options.wanted.empty() && !base::contains(options.wanted, name);
  };
  std::erase_if(sources.open, [&](const auto& source) { return unwanted(source->name()); });
  std::erase_if(sources.missing, [&](const auto& missing) { return unwanted(missing.name); });
  if (!sources.open.empty()) return sources;
  std::string why;
  for (const record::Sources::Missing& missing : sources.missing)
    why += fmt::format("; {}: {}", missing.name, missing.why);
  return missing_error("record: no sensor can be read" + why);
}

std::vector<run::Recording::Fact> facts_of(const RecordOptions& options,
                                           const record::Sources& sources) {
  std::vector<std::string> names;
  for (const auto& source : sources.open) names.emplace_back(source->name());
  std::vector<run::Recording::Fact> facts = {
      {"host", options.host},
      {"started_ns", fmt::format("{}", record::now_ns())},
      {"hz", fmt::format("{}", options.hz)},
      {"sources", fmt::format("{}", fmt::join(names, ","))},
      {"ergometer_version", std::string(base::version())},
  };
  if (!options.command.empty())
    facts.push_back({"command", fmt::format("{}", fmt::join(options.command, " "))});
  if (options.prediction)
    facts.push_back({run::kPredictionFact, run::prediction_json(*options.prediction)});
  if (options.attach) facts.push_back({"attached_pid", fmt::format("{}", *options.attach)});
  for (const record::Sources::Missing& missing : sources.missing)
    facts.push_back({"missing." + missing.name, missing.why});
  const auto job = record::job_facts(record::environment_variable);
  facts.insert(facts.end(), job.begin(), job.end());
  facts.insert(facts.end(), options.tags.begin(), options.tags.end());
  // A Run is passed on; a password in an address of the command line is not meant to be.
  for (run::Recording::Fact& fact : facts) fact.value = base::hide_passwords(fact.value);
  return facts;
}

/// Without a GPU the reasons why are what the user asks first; with one, the other vendor's library
/// is of no interest.
void say_missing(const record::Sources& sources, const Console& console) {
  for (const auto& source : sources.open)
    for (const run::Device& device : source->devices())
      if (device.kind == run::DeviceKind::kGpu) return;
  for (const record::Sources::Missing& missing : sources.missing)
    console.note("not recorded: {}: {}", missing.name, missing.why);
}

Result<record::Child> start_command(const RecordOptions& options, const record::Signals& signals) {
  record::Child::Options how = signals.for_child();
  how.output_to_error = options.json;
  int status = 0;
  return record::Child::start(options.command, how, status);
}

/// A table of GPUs where somebody looks and no command writes, or where it was asked for.
bool shows_table(const RecordOptions& options, const Console& console) {
  return !console.quiet && is_terminal(console.err) && (options.command.empty() || options.live);
}

/// Starts what sends the latest readings elsewhere, a Pusher or an OtlpExporter, where that was
/// asked for.
template <class Sender, class To>
Result<std::optional<Sender>> start_sender(const To& to, const RecordOptions& options,
                                           const record::Snapshot& snapshot,
                                           const Console& console) {
  if (to.target.url.empty()) return std::nullopt;
  const auto say = [table = shows_table(options, console), &console](const std::string& text) {
    if (!table) console.note(text);
  };
  ERGOMETER_ASSIGN(Sender sender, Sender::start(to, snapshot, say));
  return std::optional(std::move(sender));
}

/// Serves the latest readings to Prometheus, where that was asked for.
Result<std::optional<record::MetricsServer>> serve(const RecordOptions& options,
                                                   const record::Recorder& recorder,
                                                   const record::Snapshot& snapshot,
                                                   const Console& console) {
  if (options.listen.empty()) return std::nullopt;
  const auto page = [&, dcgm = options.dcgm_names](std::string_view accept) {
    const record::RecorderProgress progress = recorder.progress();
    record::RecorderHealth health{progress.ticks, progress.missed, {}};
    for (const record::SourceCosts& costs : progress.costs)
      health.sources.push_back({costs.source, costs.calls});
    record::MetricsOptions how;
    if (dcgm) how.names = record::NameSet::kDcgm;
    const int64_t now_ns = record::now_ns();
    return record::metrics_page(snapshot.look(), health, how, now_ns, accept,
                                snapshot.step_now(now_ns));
  };
  ERGOMETER_ASSIGN(record::MetricsServer server,
                   record::MetricsServer::start(options.listen, page));
  console.note("serving http://{}/metrics", server.address());
  return std::optional(std::move(server));
}

class Waiting {
 public:
  Waiting(const RecordOptions& options, const record::Signals& signals, record::Recorder& recorder,
          const record::Snapshot& snapshot, const Console& console)
      : options_(options), signals_(signals), recorder_(recorder) {
    if (options.prediction || options.rules) watch_.emplace(options, recorder, snapshot);
    if (shows_table(options, console)) table_.emplace(console.err, snapshot);
  }

  /// Until the recording should end.
  void wait(record::Child* child, const record::Process* process) {
    const bool ends_with_sources = child == nullptr && process == nullptr;
    record::wait_until(signals_,
                       {child, process, options_.duration_s,
                        [&] { return ends_with_sources && recorder_.finished(); }},
                       [&] { look(); });
    if (table_) table_->finish();
  }

 private:
  void look() {
    try {
      if (watch_) watch_->look();
      if (table_) table_->draw(watch_ ? watch_->text() : std::string());
    } catch (const std::bad_alloc&) {
      // A command that is recorded is waited for, whatever becomes of what is shown beside it.
    }
  }

  const RecordOptions& options_;
  const record::Signals& signals_;
  const record::Recorder& recorder_;
  std::optional<JobWatch> watch_;
  std::optional<LiveTable> table_;
};

}  // namespace

Result<Session> record_session(const RecordOptions& options, const std::string& file,
                               const record::Signals& signals, const Console& console) {
  std::optional<record::Process> process;
  if (options.attach) {
    ERGOMETER_ASSIGN(record::Process opened, record::Process::open(*options.attach));
    process.emplace(std::move(opened));
  }
  ERGOMETER_ASSIGN(record::Sources sources, open_wanted(options));
  say_missing(sources, console);
  ERGOMETER_ASSIGN(run::Recording recording,
                   run::Recording::create(file, facts_of(options, sources)));
  Session session;
  session.file = file;
  session.hz = options.hz;
  session.missing = std::move(sources.missing);
  record::Snapshot snapshot;
  record::Recorder recorder(std::move(sources.open), std::move(recording), snapshot,
                            {options.hz, options.host, options.gpus},
                            [&, table = shows_table(options, console)](const std::string& text) {
                              // Beside a table it would be wiped away; the summary has it.
                              if (!table) console.note(text);
                            });
  if (!options.step_log.empty()) recorder.follow(record::StepLog(options.step_log));
  for (const record::Snapshot::Latest& latest : snapshot.look())
    session.devices.push_back(latest.device);
  ERGOMETER_ASSIGN(const auto server, serve(options, recorder, snapshot, console));
  std::optional<record::ClockServer> clock;
  if (options.clock_listen) {
    ERGOMETER_ASSIGN(record::ClockServer answering,
                     record::ClockServer::listen(*options.clock_listen, options.host));
    clock.emplace(std::move(answering));
  }
  for (const record::Endpoint& peer : options.clock_peers) {
    ERGOMETER_ASSIGN(record::ClockClient client, record::ClockClient::open(peer));
    recorder.ask_for_time(std::move(client));
  }
  ERGOMETER_ASSIGN(std::optional<record::Pusher> pusher,
                   start_sender<record::Pusher>(options.push, options, snapshot, console));
  ERGOMETER_ASSIGN(std::optional<record::OtlpExporter> exporter,
                   start_sender<record::OtlpExporter>(options.otlp, options, snapshot, console));
  recorder.start();
  std::optional<record::Child> child;
  const auto start = Clock::now();
  if (!options.command.empty()) {
    ERGOMETER_ASSIGN(record::Child started, start_command(options, signals));
    child.emplace(std::move(started));
  }
  // It lives on until all is written: an action of its may take seconds to end.
  Waiting waiting(options, signals, recorder, snapshot, console);
  waiting.wait(child ? &*child : nullptr, process ? &*process : nullptr);
  session.command_s = seconds_since(start);
  session.report = recorder.stop();
  pusher.reset();
  exporter.reset();
  if (child) {
    if (!child->ended()) {
      // Its time is over; the command's is not.
      record::wait_until(signals, {&*child, nullptr, std::nullopt, {}}, [] {});
      session.command_s = seconds_since(start);
    }
    session.command = child->ended();
  }
  return session;
}

Result<std::pair<record::ExitStatus, double>> run_alone(const RecordOptions& options,
                                                        const record::Signals& signals) {
  const auto start = Clock::now();
  ERGOMETER_ASSIGN(record::Child child, start_command(options, signals));
  record::wait_until(signals, {&child, nullptr, std::nullopt, {}}, [] {});
  return std::pair(child.ended().value_or(record::ExitStatus{}), seconds_since(start));
}

}  // namespace ergometer::cli
