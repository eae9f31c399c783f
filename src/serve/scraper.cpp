#include "serve/scraper.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <new>
#include <sstream>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "record/clock.h"
#include "record/metrics/scraped.h"
#include "record/push/pusher.h"
#include "record/source.h"
#include "record/stop_flag.h"

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

/// "node1" of "http://node1:9400/metrics"; empty: it names none.
std::string host_of_url(const std::string& url) {
  const size_t from = url.find("://") + 3, end = url.find('/', from);
  const std::string place = url.substr(from, end - from);
  const std::string host = place.substr(0, place.rfind(':'));
  return host.empty() ? host : record::push_job(host, "", 0);
}

Result<ScrapeTarget> target_of(const std::string& line, const std::string& where) {
  const auto words = words_of(line);
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
  return target;
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
  ERGOMETER_ASSIGN(record::Scraped scraped, record::read_metrics_page(text, target.host, now_ns));
  Push push;
  push.job = target.job;
  push.recorder =
      record::push_job("scraped-" + target.url.substr(target.url.find("://") + 3), "", 0);
  push.host = target.host;
  PushBatch batch;
  batch.sequence = now_ns / kMillisecondNs;
  batch.first = 1;
  batch.steps = std::move(scraped.steps);
  scraped.devices.resize(std::min(scraped.devices.size(), PushLimits::kDevices));
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
  struct Asked {
    ScrapeTarget target;
    std::unique_ptr<record::PushClient> client;
    int rest = 0, next_rest = 1;  ///< rounds that it is left alone
    int64_t step = -1;            ///< that was told last
  };

  std::vector<Asked> targets;
  std::mutex mutex;
  std::vector<Push> read;
  record::StopFlag stop;
  std::vector<std::thread> threads;

  void run(size_t first, size_t stride);
  void ask(Asked& asked);
  bool take(Asked& asked, const std::string& text);
};

bool Scraper::Shared::take(Asked& asked, const std::string& text) {
  auto push = push_of_page(asked.target, text, record::now_ns());
  if (!push) return false;
  std::vector<run::TrainingStep>& steps = push->batches.front().steps;
  std::erase_if(steps, [&](const run::TrainingStep& step) { return step.number == asked.step; });
  if (!steps.empty()) asked.step = steps.back().number;
  const std::lock_guard lock(mutex);
  if (read.size() < kMostWaiting) read.push_back(*std::move(push));
  return true;
}

void Scraper::Shared::ask(Asked& asked) {
  if (asked.rest > 0) return void(--asked.rest);
  constexpr int kOk = 200;
  const auto answer = asked.client->get();
  if (answer && answer->status == kOk && take(asked, answer->body)) {
    asked.next_rest = 1;
    return;
  }
  asked.rest = asked.next_rest;
  asked.next_rest = std::min(2 * asked.next_rest, kMostRest);
}

void Scraper::Shared::run(size_t first, size_t stride) {
  auto next = std::chrono::steady_clock::now();
  while (!stop.wait_until(next)) {
    for (size_t i = first; i < targets.size() && !stop.wait_until({}); i += stride) {
      try {
        ask(targets[i]);
      } catch (const std::bad_alloc&) {
        // It is asked again.
      }
    }
    next = std::max(next + seconds(1), std::chrono::steady_clock::now());
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
  const size_t threads = std::min(kMostThreads, shared->targets.size());
  for (size_t i = 0; i < threads; ++i)
    shared->threads.emplace_back([at = shared.get(), i, threads] { at->run(i, threads); });
  return Scraper(std::move(shared));
}

Scraper::~Scraper() {
  if (shared_ == nullptr) return;
  shared_->stop.set();
  for (std::thread& thread : shared_->threads) thread.join();
}

std::vector<Push> Scraper::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->read, {});
}

}  // namespace ergometer::serve
