#include "serve/service.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/entries.h"
#include "record/clock.h"
#include "record/source.h"
#include "serve/follower.h"
#include "serve/http_server.h"
#include "serve/job_run.h"
#include "serve/job_state.h"
#include "serve/live_page_data.h"
#include "serve/push_format.h"
#include "serve/scraper.h"
#include "serve/state_json.h"
#include "watch/actions.h"
#include "watch/against_prediction.h"
#include "watch/alerts.h"
#include "watch/rule_file.h"

namespace ergometer::serve {
namespace {

using Clock = std::chrono::steady_clock;
using record::HttpRequest;

constexpr std::chrono::milliseconds kGather{250};  ///< batches that are committed together
constexpr std::chrono::milliseconds kStateAge{500};
constexpr int64_t kFindingsNs = record::kNsPerSecond;
constexpr int64_t kSettleNs = 3 * record::kNsPerSecond;
constexpr int64_t kHistoryNs = 10 * record::kNsPerSecond;
constexpr size_t kHistoryRows = 720;  ///< two hours
constexpr size_t kMostListed = 4096;  ///< jobs in the folder
constexpr Ticket kNobody = 0;         ///< waits for an answer
constexpr std::string_view kRunEnding = ".run";

/// "b" of "a=1&job=b"; names of jobs need no escapes.
std::string job_asked(std::string_view query) {
  constexpr std::string_view kKey = "job=";
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    if (part.starts_with(kKey)) return std::string(part.substr(kKey.size()));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
  }
  return {};
}

/// Whether two texts are the same, in a time that tells nothing of where they differ.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^
                 static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  return different == 0;
}

}  // namespace

/// A job whose Run is open.
struct OpenJob {
  OpenJob(std::string called, JobRun opened, const std::vector<watch::Rule>& rules)
      : name(std::move(called)), run(std::move(opened)), state(run), alerts(rules) {
    for (const HistoryRow& row : run.history(kHistoryRows)) history.push_back(row);
  }

  struct Waiting {
    Ticket ticket = 0;
    int64_t sequence = 0;
  };

  std::string name;
  JobRun run;
  JobState state;
  std::vector<HistoryRow> history;
  std::vector<Waiting> waiting;  ///< for the next commit
  std::vector<watch::FindingNow> findings;
  watch::Alerts alerts;
  std::string held_to;  ///< the prediction that `against` is made of
  std::optional<watch::AgainstPrediction> against;
  bool heard = false;     ///< since the server started; of a Run of long ago nobody is alerted
  int64_t looked_ns = 0;  ///< for findings
  int64_t first_commit_ns = 0;

  void hear(int64_t now_ns) {
    if (!std::exchange(heard, true)) alerts.resume(run.open_alerts(), now_ns);
  }
  /// Once a second: what is to be looked at, and what actions the rules ask for.
  void look(int64_t now_ns, watch::Actions* actions) {
    if (now_ns - looked_ns < kFindingsNs) return;
    looked_ns = now_ns;
    watch::JobNow now = state.look(now_ns);
    if (heard) hold_to_prediction(now);
    findings = now.findings;
    if (!heard) return;
    for (const watch::Alerts::Change& change : alerts.look(now)) {
      run.add(change.alert);
      if (actions != nullptr) actions->put(change.action, alert_json(change.alert, name, now_ns));
    }
  }
  void hold_to_prediction(watch::JobNow& now) {
    if (held_to != run.prediction()) {
      held_to = run.prediction();
      against.reset();
      if (auto read = run::parse_prediction(held_to)) against.emplace(*std::move(read));
    }
    if (!against) return;
    against->look(now);
    against->add_findings(now);
  }

  void add_point(int64_t now_ns) {
    // At first not all nodes are heard: their sum would look like a job that begins.
    if (first_commit_ns == 0) first_commit_ns = now_ns;
    if (now_ns - first_commit_ns < kSettleNs) return;
    if (!history.empty() && now_ns - history.back().time_ns < kHistoryNs) return;
    const HistoryRow row = state.total(now_ns);
    if (row.nodes == 0) return;
    if (history.size() >= kHistoryRows) history.erase(history.begin());
    history.push_back(row);
    run.add(row);
  }
  JobLine line(int64_t now_ns) const {
    return {name, static_cast<int64_t>(state.nodes().size()), state.gpus(), state.heard_ns(),
            state.live(now_ns)};
  }
};

namespace {

std::string acknowledgement(int64_t sequence) {
  return fmt::format("{{\"acknowledged\":{}}}\n", sequence);
}

HttpAnswer page_answer() {
  static const auto kPage = std::make_shared<const std::string>(
      ergometer_live_page, static_cast<size_t>(ergometer_live_page_end - ergometer_live_page));
  return {200, "text/html; charset=utf-8", kPage,
          "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src "
          "'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action "
          "'none'; frame-ancestors 'none'\r\n"};
}

}  // namespace

struct Service::State : HttpHandler {
  ServeOptions options;
  Say say;
  std::string address;
  std::optional<HttpServer> http;
  std::optional<Follower> follower;
  std::optional<Scraper> scraper;
  std::optional<watch::RuleFile> rules;
  std::optional<watch::Actions> actions;
  int64_t rules_looked_ns = 0;
  PushReader reader;
  std::map<std::string, std::unique_ptr<OpenJob>> jobs;
  std::vector<std::string> listed;  ///< names of the Runs in the folder that are not open
  ServerCounts counts;
  std::map<std::string, std::string> problems;  ///< by job: why it cannot be stored now
  /// Of this host when the server started: it does not follow a clock that is set.
  int64_t started_ns = record::now_ns();
  Clock::time_point started = Clock::now();
  std::optional<Clock::time_point> commit_at;
  struct Kept {
    std::shared_ptr<const std::string> json;
    Clock::time_point made;
  };
  std::map<std::string, Kept> states;  ///< by the job asked for

  int64_t time_ns() const { return started_ns + (Clock::now() - started).count(); }

  std::optional<HttpAnswer> refuse(const HttpRequest& head) override;
  std::optional<HttpAnswer> handle(const HttpRequest& head, std::string_view body,
                                   Ticket ticket) override;
  Clock::time_point look(Clock::time_point now) override;

  void list_folder();
  void look_at_rules();
  std::optional<HttpAnswer> refuse_push(const HttpRequest& head);
  std::optional<HttpAnswer> push(std::string_view body, Ticket ticket);
  std::optional<HttpAnswer> take(const Push& push, Ticket ticket);
  std::optional<HttpAnswer> store(const Push& push, OpenJob& job, Ticket ticket);
  Result<OpenJob*> open(const std::string& name);
  size_t devices() const;
  bool make_room();
  HttpAnswer refused(const std::string& job, const base::Error& error);
  std::string problem() const;
  void commit();
  using Answers = std::vector<std::pair<Ticket, HttpAnswer>>;
  void commit(OpenJob& job, Answers& answers);
  void tell(const std::string& job, const std::string& what);
  HttpAnswer state(const std::string& asked);
  OpenJob* shown(const std::string& asked);
  std::vector<JobLine> lines() const;
};

void Service::State::list_folder() {
  base::for_each_entry(options.folder, [&](const std::filesystem::path& path) {
    const std::string file = path.filename().string();
    if (!file.ends_with(kRunEnding) || listed.size() >= kMostListed) return;
    listed.push_back(file.substr(0, file.size() - kRunEnding.size()));
  });
  std::ranges::sort(listed);
}

std::optional<HttpAnswer> Service::State::refuse_push(const HttpRequest& head) {
  constexpr std::string_view kBearer = "Bearer ";
  if (head.method != "POST") return plain_answer(405, "POST\n");
  const std::string_view said = head.authorization;
  if (!options.token.empty() &&
      !same_secret(said.starts_with(kBearer) ? said.substr(kBearer.size()) : std::string_view(),
                   options.token)) {
    ++counts.unauthorized;
    return plain_answer(401, "the token is missing or another\n");
  }
  // A page of another site may not send this without being asked for leave, which it does not get.
  if (head.content_type != "application/x-ndjson")
    return plain_answer(415, "application/x-ndjson is expected\n");
  return std::nullopt;
}

std::optional<HttpAnswer> Service::State::refuse(const HttpRequest& head) {
  if (head.path == "/push") return refuse_push(head);
  if (head.path != "/" && head.path != "/state.json" && head.path != "/healthz")
    return plain_answer(404, "no such page\n");
  if (head.method != "GET" && head.method != "HEAD") return plain_answer(405, "GET or HEAD\n");
  return std::nullopt;
}

std::optional<HttpAnswer> Service::State::handle(const HttpRequest& head, std::string_view body,
                                                 Ticket ticket) {
  if (head.path == "/push") return push(body, ticket);
  if (head.path == "/state.json") return state(job_asked(head.query));
  if (head.path == "/healthz")
    return problems.empty() ? plain_answer(200, "ok\n") : plain_answer(507, problem() + "\n");
  return page_answer();
}

size_t Service::State::devices() const {
  size_t sum = 0;
  for (const auto& [name, job] : jobs) sum += job->state.devices().size();
  return sum;
}

/// Closes the job that was silent for longest; false: all are live.
bool Service::State::make_room() {
  auto idlest = jobs.end();
  for (auto at = jobs.begin(); at != jobs.end(); ++at)
    if (!at->second->state.live(time_ns()) && at->second->waiting.empty() &&
        (idlest == jobs.end() || at->second->state.heard_ns() < idlest->second->state.heard_ns()))
      idlest = at;
  if (idlest == jobs.end()) return false;
  listed.push_back(idlest->first);
  jobs.erase(idlest);
  return true;
}

Result<OpenJob*> Service::State::open(const std::string& name) {
  if (const auto at = jobs.find(name); at != jobs.end()) return at->second.get();
  if (jobs.size() >= kMostJobs && !make_room())
    return input_error("more than {} jobs at once", kMostJobs);
  const std::string path =
      (std::filesystem::path(options.folder) / (name + std::string(kRunEnding))).string();
  ERGOMETER_ASSIGN(JobRun run, JobRun::open(path, name));
  std::erase(listed, name);
  auto& job = jobs[name] = std::make_unique<OpenJob>(
      name, std::move(run), rules ? rules->rules() : std::vector<watch::Rule>());
  return job.get();
}

/// 507: there is no room, or the disk is gone; it is tried again. 409: the file is another's.
HttpAnswer Service::State::refused(const std::string& job, const base::Error& error) {
  constexpr int kConflict = 409, kNoRoom = 507;
  ++counts.refused;
  const bool no_room = error.kind == base::ErrorKind::kMissing;
  if (no_room) tell(job, error.message);
  return plain_answer(no_room ? kNoRoom : kConflict, error.message + "\n");
}

/// Said once when batches begin to be refused and once when no job's are any more.
void Service::State::tell(const std::string& job, const std::string& what) {
  const bool before = !problems.empty();
  if (what.empty())
    problems.erase(job);
  else if (problems.size() < kMostJobs)
    problems[job] = what;
  if (before != problems.empty()) return;
  say(before ? "batches are stored again" : what + "; batches are refused, status 507");
}

std::string Service::State::problem() const {
  return problems.empty() ? std::string() : problems.begin()->second;
}

std::optional<HttpAnswer> Service::State::push(std::string_view body, Ticket ticket) {
  ++counts.requests;
  const auto read = reader.read(body);
  if (!read) {
    ++counts.malformed;
    return plain_answer(400, read.error().message + "\n");
  }
  return take(*read, ticket);
}

std::optional<HttpAnswer> Service::State::take(const Push& push, Ticket ticket) {
  const auto job = open(push.job);
  if (!job) return refused(push.job, job.error());
  if (devices() + push.devices.size() > kMostDevices ||
      (*job)->run.recorders().size() > kMostRecorders) {
    ++counts.refused;
    return plain_answer(503, "more devices or recorders than are kept\n");
  }
  return store(push, **job, ticket);
}

std::optional<HttpAnswer> Service::State::store(const Push& push, OpenJob& job, Ticket ticket) {
  const std::vector<size_t> numbers =
      base::mapped(push.devices, [&](const run::Device& device) { return job.run.device(device); });
  job.state.hear(push, numbers, time_ns());
  job.hear(time_ns());
  if (!push.prediction.empty()) job.run.set_prediction(push.prediction);
  int64_t latest = 0;
  for (const PushBatch& batch : push.batches) {
    latest = batch.sequence;
    job.run.add(push, batch, numbers, time_ns()) ? ++counts.batches : ++counts.repeated;
  }
  const auto stored = job.run.recorders().find(push.recorder);
  if (stored != job.run.recorders().end() && stored->second.sequence >= latest)
    return HttpAnswer{
        200, "application/json", std::make_shared<const std::string>(acknowledgement(latest)), {}};
  job.waiting.push_back({ticket, latest});
  if (!commit_at) commit_at = Clock::now() + kGather;
  return std::nullopt;
}

void Service::State::commit(OpenJob& job, Answers& answers) {
  job.add_point(time_ns());
  const auto written = job.run.commit();
  const auto waiting = std::exchange(job.waiting, {});
  if (written) tell(job.name, {});
  for (const OpenJob::Waiting& one : waiting)
    answers.emplace_back(
        one.ticket,
        written ? HttpAnswer{200,
                             "application/json",
                             std::make_shared<const std::string>(acknowledgement(one.sequence)),
                             {}}
                : refused(job.name, written.error()));
}

void Service::State::commit() {
  commit_at.reset();
  Answers answers;
  for (auto& [name, job] : jobs)
    if (job->run.waits()) commit(*job, answers);
  // Whoever is answered may have sent another push already, which opens and closes jobs.
  for (const auto& [ticket, answer] : answers) http->answer(ticket, answer);
}

void Service::State::look_at_rules() {
  if (!rules || time_ns() - rules_looked_ns < kFindingsNs) return;
  rules_looked_ns = time_ns();
  if (!rules->look(options.reload && options.reload())) return;
  if (!rules->problem().empty()) return say(rules->problem() + "; the rules from before hold");
  say(fmt::format("the rules are read again: {}", rules->rules().size()));
  for (auto& [name, job] : jobs) job->alerts.replace(rules->rules(), time_ns());
}

Clock::time_point Service::State::look(Clock::time_point now) {
  if (follower)
    for (const Push& push : follower->take()) take(push, kNobody);
  if (scraper) {
    for (const std::string& text : scraper->news()) say(text);
    for (const Push& push : scraper->take()) take(push, kNobody);
  }
  if (commit_at && now >= *commit_at) commit();
  look_at_rules();
  for (auto& [name, job] : jobs) {
    job->look(time_ns(), actions ? &*actions : nullptr);
    // Alerts come also when nobody pushes.
    if (job->run.waits() && !commit_at && problems.empty()) commit_at = now + kGather;
  }
  return commit_at.value_or(Clock::time_point::max());
}

std::vector<JobLine> Service::State::lines() const {
  std::vector<JobLine> all;
  for (const auto& [name, job] : jobs) all.push_back(job->line(time_ns()));
  std::ranges::sort(all, std::ranges::greater{}, &JobLine::heard_ns);
  for (const std::string& name : listed) all.push_back({name, 0, 0, 0, false});
  return all;
}

/// The job that was asked for, from its Run if need be; else the one that was heard last.
OpenJob* Service::State::shown(const std::string& asked) {
  if (jobs.count(asked) > 0 || base::contains(listed, asked)) {
    const auto job = open(asked);
    return job ? *job : nullptr;
  }
  OpenJob* latest = nullptr;
  for (const auto& [name, job] : jobs)
    if (latest == nullptr || job->state.heard_ns() > latest->state.heard_ns()) latest = job.get();
  return latest;
}

HttpAnswer Service::State::state(const std::string& asked) {
  OpenJob* const job = shown(asked);
  const std::string name = job == nullptr ? std::string() : job->name;
  Kept& kept = states[name];
  if (kept.json == nullptr || Clock::now() - kept.made > kStateAge) {
    counts.connections = static_cast<int64_t>(http->connections());
    StateDocument document;
    document.now_ns = time_ns();
    document.problem = problem();
    document.rules_problem = rules ? rules->problem() : std::string();
    document.counts = counts;
    document.jobs = lines();
    document.job = name;
    std::vector<watch::Alert> alerts;
    if (job != nullptr) {
      alerts = job->alerts.shown(time_ns());
      document.alerts = alerts;
      document.against = job->against ? &*job->against : nullptr;
      document.state = &job->state;
      document.history = job->history;
      document.findings = job->findings;
    }
    // Of jobs that nobody looks at any more, none is kept.
    const auto now = Clock::now();
    std::erase_if(states, [&](const auto& one) {
      return one.first != name && now - one.second.made > kStateAge;
    });
    kept = {std::make_shared<const std::string>(state_json(document)), now};
  }
  return {200, "application/json", kept.json, {}};
}

Result<Service> Service::start(const ServeOptions& options, Say say) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(options.folder, ignored))
    return input_error("--out: {} is no folder", options.folder);
  if (!options.follow.empty() && !std::filesystem::is_directory(options.follow, ignored))
    return input_error("--follow: {} is no folder", options.follow);
  if (!options.follow.empty() &&
      std::filesystem::equivalent(options.follow, options.folder, ignored))
    return input_error("--follow: is the folder that --out writes to; give it another");
  // Before the address is taken: what is wrong with a file is said whoever listens there.
  std::optional<watch::RuleFile> rules;
  if (!options.rules.empty()) {
    ERGOMETER_ASSIGN(rules, watch::RuleFile::open(options.rules));
  }
  std::vector<ScrapeTarget> targets;
  if (!options.scrape.empty()) {
    ERGOMETER_ASSIGN(targets, read_scrape_targets(options.scrape));
  }
  ERGOMETER_ASSIGN(record::Listener listener, record::Listener::open(options.listen));
  if (!listener.loopback && options.token.empty() && options.authorities.empty())
    return input_error(
        "--listen {}: other machines reach it; --token-file FILE or --tls-client-ca FILE says who "
        "may push",
        options.listen);
  ChannelMaker channels = plain_channel;
  if (!options.certificate.empty()) {
    ERGOMETER_ASSIGN(channels, tls_channels(options.certificate, options.key, options.authorities));
  }
  auto state = std::make_unique<State>();
  state->options = options;
  state->say = std::move(say);
  state->address = listener.address;
  state->list_folder();
  state->rules = std::move(rules);
  if (state->rules) state->actions.emplace(state->say);
  state->http.emplace(std::move(listener), std::move(channels), *state);
  if (!options.follow.empty()) state->follower.emplace(options.follow);
  if (!targets.empty()) {
    ERGOMETER_ASSIGN(state->scraper, Scraper::start(std::move(targets)));
  }
  return Service(std::move(state));
}

Service::Service(std::unique_ptr<State> state) : state_(std::move(state)) {}
Service::Service(Service&&) noexcept = default;
Service::~Service() = default;

const std::string& Service::address() const { return state_->address; }

Result<void> Service::run(const std::function<bool()>& stop) {
  ERGOMETER_TRY(state_->http->run(stop));
  state_->commit();
  return {};
}

}  // namespace ergometer::serve
