#include "serve/scraper.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "record/clock.h"
#include "record/metrics/scraped.h"
#include "record/push/pusher.h"
#include "record/source.h"

namespace ergometer::serve {
namespace {

using std::chrono::seconds;

constexpr size_t kMostThreads = 64;  ///< of which each may wait for somebody who is gone
constexpr int kMostRest = 64;        ///< rounds that a target is left alone
constexpr int kRequestS = 2;
constexpr int64_t kMillisecondNs = 1'000'000;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// "node1:9400" as a URL with a path.
std::string page_of(const std::string& word) {
  std::string url = word.find("://") == std::string::npos ? "http://" + word : word;
  const size_t host = url.find("://") + 3;
  return url.find('/', host) == std::string::npos ? url + "/metrics" : url;
}

/// "node1:9400" of "http://node1:9400/metrics".
std::string place_of(const std::string& url) {
  const size_t from = url.find("://") + 3, end = url.find('/', from);
  return url.substr(from, end - from);
}

/// "node1" of "http://node1:9400/metrics"; empty: it names none.
std::string host_of_url(const std::string& url) {
  const std::string place = place_of(url);
  const std::string host = place.substr(0, place.rfind(':'));
  return host.empty() ? host : record::push_job(host, "", 0);
}

Result<ScrapeTarget> target_of(const std::string& line, const std::string& where) {
  const auto words = words_of(line);
  if (line.find('@') != std::string::npos)  // what stands before it is not said
    return input_error(
        "{}: found an address with '@', allowed: HOST:PORT or a URL, without a user or a secret",
        where);
  if (words.size() > 2)
    return input_error("{}: found '{}', allowed: HOST:PORT or a URL, and a job", where, line);
  ScrapeTarget target;
  target.url = page_of(words[0]);
  target.host = host_of_url(target.url);
  target.job = words.size() > 1 ? words[1] : "scraped";
  if (record::push_job(target.job, "", 0) != target.job)
    return input_error("{}: found job '{}', allowed: 1 to 64 letters, digits and .-_", where,
                       target.job);
  const size_t colon = words[0].rfind(':');
  const bool port = colon != std::string::npos && base::parse_integer(words[0].substr(colon + 1));
  if (target.host.empty() || (words[0].find("://") == std::string::npos && !port))
    return input_error("{}: found '{}', allowed: HOST:PORT or a URL", where, words[0]);
  if (!record::has_possible_port(place_of(target.url)))
    return input_error("{}: found '{}', allowed: a port of 1 to 65535", where, words[0]);
  return target;
}

/// What a push may hold, a page may: a server's memory is bounded by it.
Result<void> check_page(const ScrapeTarget& target, const std::vector<run::Device>& devices) {
  const auto most = [&](const char* what, size_t found, size_t allowed) -> Result<void> {
    if (found <= allowed) return {};
    return input_error("{}: found {} {}, allowed: {}", target.url, found, what, allowed);
  };
  ERGOMETER_TRY(most("devices", devices.size(), PushLimits::kDevices));
  size_t cells = 0;
  for (const run::Device& device : devices) {
    for (const run::Series& series : device.series) cells += series.samples.size();
    ERGOMETER_TRY(most("bytes of a device's name", device.name.size(), PushLimits::kText));
    ERGOMETER_TRY(most("bytes of a device's uuid", device.uuid.size(), PushLimits::kText));
  }
  return most("values", cells, PushLimits::kCells);
}

}  // namespace

Result<std::vector<ScrapeTarget>> read_scrape_targets(const std::string& path) {
  constexpr size_t kMostBytes = 1 << 20;
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, kMostBytes));
  std::vector<ScrapeTarget> targets;
  int64_t number = 0;
  for (const std::string& whole : base::split(text, '\n')) {
    ++number;
    const std::string line = whole.substr(0, whole.find('#'));
    if (words_of(line).empty()) continue;
    ERGOMETER_ASSIGN(ScrapeTarget target, target_of(line, fmt::format("{}:{}", path, number)));
    if (targets.size() >= Scraper::kMostTargets)
      return input_error("{}:{}: more than {} targets", path, number, Scraper::kMostTargets);
    targets.push_back(std::move(target));
  }
  if (targets.empty()) return input_error("{}: names nobody to ask; a line is HOST:PORT", path);
  return targets;
}

Result<Push> push_of_page(const ScrapeTarget& target, const std::string& text, int64_t now_ns) {
  auto read = record::read_metrics_page(text, target.host, now_ns);
  if (!read) return input_error("{}: {}", target.url, read.error().message);
  record::Scraped& scraped = *read;
  Push push;
  push.job = target.job;
  push.recorder =
      record::push_job("scraped-" + target.url.substr(target.url.find("://") + 3), "", 0);
  push.host = target.host;
  PushBatch batch;
  batch.sequence = now_ns / kMillisecondNs;
  batch.first = 1;
  batch.steps = std::move(scraped.steps);
  ERGOMETER_TRY(check_page(target, scraped.devices));
  for (run::Device& device : scraped.devices) {
    device.host = record::push_job(device.host, "", 0);
    for (const run::Series& series : device.series)
      for (const run::Sample& sample : series.samples)
        if (sample.time_ns > 0 && sample.time_ns <= PushLimits::kLatestNs)
          batch.readings.push_back({push.devices.size(), series.metric, sample});
    device.series.clear();
    push.devices.push_back(std::move(device));
  }
  if (!push.devices.empty()) push.host = push.devices.front().host;
  push.batches.push_back(std::move(batch));
  return push;
}

/// What threads and who takes have in common.
struct Scraper::Shared {
  using Clock = std::chrono::steady_clock;
  using Turns = std::multimap<Clock::time_point, size_t>;  ///< numbers of targets, by when
  struct Asked {
    ScrapeTarget target;
    std::unique_ptr<record::PushClient> client;
    int rest = 1;                             ///< rounds that it is left alone when it fails next
    int64_t sequence = 0;                     ///< of its last push
    bool heard = false, failing = false;      ///< a page of it was read; the last request failed
    std::optional<run::TrainingStep> step{};  ///< that was told last
  };

  std::vector<Asked> targets;
  std::mutex mutex;
  std::condition_variable changed;
  Turns due;             ///< of targets that no thread asks now
  bool awaited = false;  ///< a thread waits for the first of them
  bool ending = false;
  std::vector<Push> read;
  std::vector<std::string> news;
  std::vector<std::thread> threads;

  void run();
  Turns::node_type next();
  void ask_again(Turns::node_type turn, Clock::time_point when);
  std::string ask(Asked& asked);
  Result<void> take(Asked& asked, const std::string& text);
  void tell(Asked& asked, const std::string& problem);
};

Result<void> Scraper::Shared::take(Asked& asked, const std::string& text) {
  ERGOMETER_ASSIGN(Push push, push_of_page(asked.target, text, record::now_ns()));
  PushBatch& batch = push.batches.front();
  const std::lock_guard lock(mutex);
  if (read.size() >= kMostWaiting) return {};
  // A clock that is set back makes no batch one that was seen.
  batch.sequence = asked.sequence = std::max(asked.sequence + 1, batch.sequence);
  const std::vector<run::TrainingStep> told = batch.steps;
  std::erase_if(batch.steps, [&](const run::TrainingStep& step) {
    return !asked.heard ||
           (asked.step && step.number == asked.step->number && step.seconds == asked.step->seconds);
  });
  asked.heard = true;
  if (!told.empty()) asked.step = told.back();
  read.push_back(std::move(push));
  return {};
}

/// Why there is no page; empty: there is.
std::string Scraper::Shared::ask(Asked& asked) {
  constexpr int kOk = 200;
  const auto answer = asked.client->get();
  if (!answer) return answer.error().message;
  const auto taken =
      answer->status == kOk
          ? take(asked, answer->body)
          : Result<void>(missing_error("{}: status {}", asked.target.url, answer->status));
  return taken ? "" : taken.error().message;
}

/// Once when it begins to fail, once when it works again.
void Scraper::Shared::tell(Asked& asked, const std::string& problem) {
  const bool fails = !problem.empty();
  if (fails == std::exchange(asked.failing, fails)) return;
  const std::lock_guard lock(mutex);
  news.push_back("scrape: " + (fails ? problem : asked.target.url + ": it answers again"));
}

/// That of a target whose time has come; empty at the end. Targets that hang hold up no others
/// while there is a thread left. One thread waits for the time, the others for that one.
Scraper::Shared::Turns::node_type Scraper::Shared::next() {
  std::unique_lock lock(mutex);
  while (!ending) {
    if (awaited || due.empty()) {
      changed.wait(lock);
      continue;
    }
    const Clock::time_point when = due.begin()->first;
    if (when <= Clock::now()) {
      changed.notify_one();
      return due.extract(due.begin());
    }
    awaited = true;
    changed.wait_until(lock, when);
    awaited = false;
  }
  return {};
}

void Scraper::Shared::ask_again(Turns::node_type turn, Clock::time_point when) {
  turn.key() = when;
  const std::lock_guard lock(mutex);
  if (due.insert(std::move(turn)) == due.begin()) changed.notify_all();
}

void Scraper::Shared::run() {
  while (auto turn = next()) {
    Asked& asked = targets[turn.mapped()];
    Clock::time_point when = Clock::now() + seconds(1);
    try {
      const std::string problem = ask(asked);
      if (!problem.empty()) when = Clock::now() + seconds(1 + asked.rest);
      asked.rest = problem.empty() ? 1 : std::min(2 * asked.rest, kMostRest);
      tell(asked, problem);
    } catch (const std::bad_alloc&) {
      // It is asked again.
    }
    ask_again(std::move(turn), when);
  }
}

Scraper::Scraper(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}
Scraper::Scraper(Scraper&&) noexcept = default;
Scraper& Scraper::operator=(Scraper&&) noexcept = default;

Result<Scraper> Scraper::start(std::vector<ScrapeTarget> targets) {
  auto shared = std::make_unique<Shared>();
  for (ScrapeTarget& target : targets) {
    record::PushTarget to;
    to.url = target.url;
    to.named = "--scrape";
    to.whole_url = true;
    to.most_s = kRequestS;
    ERGOMETER_ASSIGN(auto client, record::push_client(to));
    shared->targets.push_back({std::move(target), std::move(client)});
  }
  for (size_t i = 0; i < shared->targets.size(); ++i) shared->due.emplace(Shared::Clock::now(), i);
  Scraper scraper(std::move(shared));
  Shared& at = *scraper.shared_;
  const size_t threads = std::min(kMostThreads, at.targets.size());
  try {
    while (at.threads.size() < threads) at.threads.emplace_back([&at] { at.run(); });
  } catch (const std::system_error&) {
    // Fewer threads ask fewer at once.
    if (at.threads.empty()) return missing_error("--scrape: no thread can be started");
  }
  return scraper;
}

Scraper::~Scraper() {
  if (shared_ == nullptr) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
    shared_->changed.notify_all();
  }
  for (std::thread& thread : shared_->threads) thread.join();
}

std::vector<Push> Scraper::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->read, {});
}

std::vector<std::string> Scraper::news() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->news, {});
}

}  // namespace ergometer::serve
