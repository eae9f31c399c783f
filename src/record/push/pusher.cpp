#include "record/push/pusher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "record/clock.h"
#include "record/host.h"

namespace ergometer::record {
namespace {

using std::chrono::seconds;

constexpr size_t kMostWaiting = size_t{8} << 20;  ///< bytes of batches
constexpr size_t kMostText = 120;                 ///< bytes of a device's name, less what is mended
constexpr size_t kMostName = 64;
constexpr size_t kMostAtOnce = size_t{256} << 10;  ///< bytes of a request
constexpr size_t kMetrics = static_cast<size_t>(run::Metric::kCount);
constexpr seconds kLast{2};

/// With '-' for what may not stand in a file's name.
std::string push_name(std::string name) {
  name.resize(std::min(name.size(), kMostName));
  for (char& c : name)
    if (!base::is_letter_or_digit(c) && c != '.' && c != '_') c = '-';
  if (name.starts_with('.')) name.front() = '-';
  return name;
}

std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}", random(), random(), random());
}

/// Whose devices these are: the recorder's own node's, or another's where a recording is played
/// back.
std::string host_of(const run::Device& device, const std::string& own) {
  return device.host.empty() ? own : push_name(device.host);
}

/// Who speaks: this node, unless all devices are other nodes'.
std::string speaker(const std::vector<Snapshot::Latest>& latest, const std::string& own) {
  const bool any_own = std::ranges::any_of(
      latest, [&](const Snapshot::Latest& l) { return host_of(l.device, own) == own; });
  return any_own || latest.empty() ? own : host_of(latest.front().device, own);
}

void write_device(base::JsonWriter& json, const run::Device& device, const std::string& speaks) {
  json.begin_object(base::kOneLine).member("kind", run::kind_name(device.kind));
  const std::string host = host_of(device, speaks);
  if (host != speaks) json.member("host", host);
  if (device.index >= 0) json.member("index", device.index);
  if (device.rank >= 0) json.member("rank", device.rank);
  for (const auto& [name, text] : {std::pair("name", &device.name),
                                   {"uuid", &device.uuid},
                                   {"pci_bus_id", &device.pci_bus_id}})
    if (!text->empty()) json.member(name, text->substr(0, kMostText));
  json.end_object();
}

/// Of each step its number, how long it took, its end behind the batch's time, and tokens a second
/// and GPU, 0 where the log does not say.
std::string steps_member(const std::vector<run::TrainingStep>& steps, int64_t time_ns) {
  if (steps.empty()) return {};
  std::string rows;
  for (const run::TrainingStep& step : steps)
    rows += fmt::format("{}[{},{},{},{}]", rows.empty() ? "" : ",", step.number,
                        base::shortest(step.seconds), step.end_ns - time_ns,
                        base::shortest(step.tokens_per_s_per_gpu));
  return fmt::format(",\"steps\":[{}]", rows);
}

/// The number behind "acknowledged", or 0.
int64_t acknowledged(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  const auto found = json.is_object() ? json.find("acknowledged") : json.end();
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

}  // namespace

PushWriter::PushWriter(const PushOptions& options, std::string recorder, int64_t started_ns)
    : host_(push_name(options.host)),
      job_(options.job),
      recorder_(std::move(recorder)),
      prediction_(options.prediction),
      started_ns_(started_ns) {}

std::string PushWriter::head(const std::vector<Snapshot::Latest>& latest) const {
  base::JsonWriter json;
  json.begin_object(base::kOneLine).member("ergometer_push", 1).member("recorder", recorder_);
  const std::string host = speaker(latest, host_);
  json.member("host", host).member("job", job_).member("started_ns", started_ns_);
  if (!prediction_.empty()) json.key("prediction").raw(prediction_);
  json.array("devices", latest,
             [&](const Snapshot::Latest& l) { write_device(json, l.device, host); });
  json.end_object();
  return json.take();
}

/// Row by row: a device, its time behind the batch's, then pairs of a metric's place in the
/// batch's list and a value. Readings of one time share a row.
std::string PushWriter::batch(const std::vector<Snapshot::Latest>& latest,
                              const run::ClockReading& clock, bool last,
                              const std::vector<run::TrainingStep>& steps) {
  sent_ns_.resize(latest.size() * kMetrics, INT64_MIN);
  std::vector<size_t> place(kMetrics, kMetrics);
  std::string names, rows;
  size_t used = 0;
  for (size_t d = 0; d < latest.size(); ++d) {
    std::vector<std::pair<int64_t, std::string>> times;
    for (size_t m = 0; m < kMetrics; ++m) {
      const auto& sample = latest[d].values[m];
      int64_t& sent = sent_ns_[d * kMetrics + m];
      if (!sample || latest[d].set_ns[m] == sent) continue;
      sent = latest[d].set_ns[m];
      if (place[m] == kMetrics) {
        place[m] = used++;
        names += fmt::format("{}\"{}\"", names.empty() ? "" : ",",
                             run::metric_info(static_cast<run::Metric>(m)).name);
      }
      auto at =
          std::ranges::find_if(times, [&](const auto& t) { return t.first == sample->time_ns; });
      if (at == times.end()) at = times.insert(at, {sample->time_ns, {}});
      at->second += fmt::format(",{},{}", place[m], base::shortest(sample->value));
    }
    for (const auto& [time_ns, pairs] : times)
      rows +=
          fmt::format("{}[{},{}{}]", rows.empty() ? "" : ",", d, time_ns - clock.time_ns, pairs);
  }
  return fmt::format(
      "{{\"sequence\":{},\"time_ns\":{},\"monotonic_ns\":{},\"max_error_ns\":{}{},\"metrics\":[{}],"
      "\"rows\":[{}]{}}}\n",
      ++sequence_, clock.time_ns, clock.monotonic_ns, clock.max_error_ns,
      last ? ",\"end\":true" : "", names, rows, steps_member(steps, clock.time_ns));
}

/// Batches that wait for the server's word. It outlives the Pusher where a connection hangs at its
/// end.
struct Pusher::Outbox {
  struct Line {
    int64_t sequence = 0;
    std::string text;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::string head;
  std::deque<Line> lines;
  size_t bytes = 0;
  int64_t sent = 0;  ///< sequence of the last line of the latest request
  bool ending = false, done = false;
  Say say;
  bool failing = false;

  void put(int64_t sequence, std::string text);
  void keep_sending(PushClient& client);

 private:
  void send(PushClient& client);
  std::string next(std::unique_lock<std::mutex>& lock);
  bool take(const Result<PushAnswer>& answer);
  void tell(const std::string& problem);
};

void Pusher::Outbox::put(int64_t sequence, std::string text) {
  const std::lock_guard lock(mutex);
  bytes += text.size();
  lines.push_back({sequence, std::move(text)});
  while (bytes > kMostWaiting && lines.size() > 1) {
    bytes -= lines.front().text.size();
    lines.pop_front();
  }
  changed.notify_all();
}

/// The oldest lines, with the head before them; empty: it is over.
std::string Pusher::Outbox::next(std::unique_lock<std::mutex>& lock) {
  changed.wait(lock, [&] { return ending || !lines.empty(); });
  if (lines.empty()) return {};
  std::string text = head;
  for (const Line& line : lines) {
    if (text.size() + line.text.size() > kMostAtOnce && text.size() > head.size()) break;
    text += line.text;
    sent = line.sequence;
  }
  return text;
}

/// Whether the server took what it was sent, or never will.
bool Pusher::Outbox::take(const Result<PushAnswer>& answer) {
  constexpr int kTaken = 200, kWrong = 400, kUnauthorized = 401;
  if (!answer) return tell(answer.error().message + "; the recording goes on"), false;
  if (answer->status != kTaken && answer->status != kWrong) {
    tell(answer->status == kUnauthorized
             ? "the server does not take this token; the recording goes on"
             : fmt::format("the server refuses, status {}: {}", answer->status,
                           answer->body.substr(0, answer->body.find('\n'))));
    return false;
  }
  const int64_t until = answer->status == kTaken ? acknowledged(answer->body) : sent;
  if (answer->status == kTaken) tell({});
  if (answer->status == kWrong) tell("the server does not understand: " + answer->body);
  const size_t before = lines.size();
  while (!lines.empty() && lines.front().sequence <= until) {
    bytes -= lines.front().text.size();
    lines.pop_front();
  }
  return lines.size() < before;
}

/// Once when it begins to fail, once when it works again.
void Pusher::Outbox::tell(const std::string& problem) {
  const bool fails = !problem.empty();
  if (fails != failing && say)
    say(fails ? "push: " + problem : "push: the server takes readings again");
  failing = fails;
}

void Pusher::Outbox::send(PushClient& client) {
  std::unique_lock lock(mutex);
  for (;;) {
    const std::string text = next(lock);
    if (text.empty()) break;
    lock.unlock();
    const auto answer = client.post(text);
    lock.lock();
    if (take(answer)) continue;
    if (ending) break;
    changed.wait_for(lock, seconds(1), [&] { return ending; });
  }
}

/// Memory may be short for a moment, and the job goes on.
void Pusher::Outbox::keep_sending(PushClient& client) {
  for (bool whole = false; !whole;) {
    try {
      send(client);
      whole = true;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(seconds(1));
    }
  }
  const std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
}

Pusher::Pusher(std::unique_ptr<StopFlag> stop, std::shared_ptr<Outbox> outbox)
    : stop_(std::move(stop)), outbox_(std::move(outbox)) {}
Pusher::Pusher(Pusher&&) noexcept = default;

Result<Pusher> Pusher::start(const PushOptions& options, const Snapshot& snapshot, Say say) {
  ERGOMETER_ASSIGN(std::unique_ptr<PushClient> client, push_client(options.target));
  auto outbox = std::make_shared<Outbox>();
  PushWriter writer(options, random_name(), now_ns());
  outbox->head = writer.head(snapshot.look());
  outbox->say = std::move(say);
  // The first thread is waited for where the second one cannot begin.
  Pusher pusher(std::make_unique<StopFlag>(), outbox);
  pusher.collector_ = std::thread([&snapshot, outbox, stop = pusher.stop_.get(), writer]() mutable {
    auto next = std::chrono::steady_clock::now();
    int64_t seen = 0;
    for (bool last = false; !last; next += seconds(1)) {
      last = stop->wait_until(next);
      try {
        const Snapshot::Steps steps = snapshot.steps_since(seen);
        std::string text = writer.batch(snapshot.look(), read_clocks(), last, steps.steps);
        seen = steps.count;
        outbox->put(writer.sequence(), std::move(text));
      } catch (const std::bad_alloc&) {
        // A number is missing, which the server counts.
      }
    }
  });
  pusher.sender_ = std::thread(
      [outbox, client = std::move(client)]() mutable { outbox->keep_sending(*client); });
  return pusher;
}

Pusher::~Pusher() {
  if (!collector_.joinable()) return;
  stop_->set();
  collector_.join();
  if (!sender_.joinable()) return;
  std::unique_lock lock(outbox_->mutex);
  outbox_->ending = true;
  outbox_->changed.notify_all();
  outbox_->changed.wait_for(lock, kLast, [&] { return outbox_->done; });
  outbox_->say = nullptr;
  const bool done = outbox_->done;
  lock.unlock();
  done ? sender_.join() : sender_.detach();
}

std::string push_job(const std::string& wanted, const std::string& host, int64_t time_ns) {
  if (!wanted.empty()) return push_name(wanted);
  const time_t at = time_ns / kNsPerSecond;
  tm local{};
  localtime_r(&at, &local);
  std::array<char, 32> time{};
  const size_t length = strftime(time.data(), time.size(), "-%Y%m%dT%H%M%S", &local);
  return push_name(host.substr(0, kMostName - length) + time.data());
}

}  // namespace ergometer::record
