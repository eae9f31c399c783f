#include "record/push/otlp_exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "record/clock.h"
#include "record/source.h"

namespace ergometer::record {
namespace {

using std::chrono::seconds;

constexpr seconds kEvery{10}, kAtEnd{2};
constexpr int64_t kStale = 60 * kNsPerSecond;  ///< its sensor no longer answers
constexpr std::string_view kMetricsPath = "/v1/metrics";

std::string with_path(std::string url) {
  const size_t host = url.find("://");
  if (host == std::string::npos) return url;
  const size_t path = url.find('/', host + 3);
  if (url.find_first_not_of('/', path) != std::string::npos) return url;
  return url.substr(0, path) + std::string(kMetricsPath);
}

/// A count as JSON has it, or as text, as protocol buffers have 64 bits there.
int64_t count_of(const nlohmann::json& json) {
  if (json.is_number_integer()) return json.get<int64_t>();
  return json.is_string() ? base::parse_integer(json.get<std::string>()).value_or(0) : 0;
}

/// What a receiver says of points that it did not take; empty: it took all. Words without a count
/// are a warning of points that were taken.
std::string rejected(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  const auto found = json.is_object() ? json.find("partialSuccess") : json.end();
  if (found == json.end() || !found->is_object()) return {};
  const int64_t count = count_of(found->value("rejectedDataPoints", nlohmann::json()));
  if (count <= 0) return {};
  const auto message = found->find("errorMessage");
  const bool said = message != found->end() && message->is_string();
  return fmt::format("{}{}", count, said ? ": " + message->get<std::string>() : "");
}

std::string problem_of(const Result<PushAnswer>& answer) {
  constexpr int kTaken = 200, kAccepted = 299;
  if (!answer) return answer.error().message + "; the recording goes on";
  if (answer->status < kTaken || answer->status > kAccepted)
    return fmt::format("the receiver refuses, status {}: {}", answer->status,
                       answer->body.substr(0, answer->body.find('\n')));
  const std::string why = rejected(answer->body);
  return why.empty() ? why : "the receiver leaves points out: " + why;
}

/// The statuses at which OTLP/HTTP sends the same once more; another answer would stay as it is.
bool is_to_be_told_again(const Result<PushAnswer>& answer) {
  constexpr std::array kAgain = {429, 502, 503, 504};
  return !answer || std::ranges::find(kAgain, answer->status) != kAgain.end();
}

}  // namespace

/// It outlives the exporter where a connection hangs at its end.
struct OtlpExporter::Shared {
  std::unique_ptr<PushClient> client;
  OtlpResource resource;
  const Snapshot* snapshot = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false, left = false, done = false;
  Say say;
  bool failing = false;
  int64_t seen = 0;  ///< steps that were told

  void run();
  bool wait();
  void tell_once();
  void tell(const std::string& problem);
};

/// Once when it begins to fail, once when it works again.
void OtlpExporter::Shared::tell(const std::string& problem) {
  const bool fails = !problem.empty();
  if (fails != failing && say)
    say(fails ? "otlp: " + problem : "otlp: the receiver takes readings again");
  failing = fails;
}

void OtlpExporter::Shared::tell_once() {
  std::unique_lock lock(mutex);
  if (left) return;  // the Snapshot is gone
  const Snapshot::Steps steps = snapshot->steps_since(seen);
  const std::string text = otlp_metrics(snapshot->look(), steps.steps, resource, now_ns() - kStale);
  lock.unlock();
  const auto answer = client->post(text);
  lock.lock();
  if (!is_to_be_told_again(answer)) seen = steps.count;
  tell(problem_of(answer));
}

/// False at the end.
bool OtlpExporter::Shared::wait() {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, kEvery, [&] { return ending; });
}

void OtlpExporter::Shared::run() {
  for (bool last = false; !last;) {
    last = !wait();
    try {
      tell_once();
    } catch (const std::bad_alloc&) {
      // Memory may be short for a moment, and the job goes on.
    }
  }
  const std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
}

OtlpExporter::OtlpExporter(std::shared_ptr<Shared> shared, std::thread thread)
    : shared_(std::move(shared)), thread_(std::move(thread)) {}
OtlpExporter::OtlpExporter(OtlpExporter&&) noexcept = default;

Result<OtlpExporter> OtlpExporter::start(OtlpOptions options, const Snapshot& snapshot, Say say) {
  options.target.named = "--otlp";
  options.target.type = "application/json";
  options.target.whole_url = true;
  options.target.url = with_path(std::move(options.target.url));
  auto shared = std::make_shared<Shared>();
  ERGOMETER_ASSIGN(shared->client, push_client(options.target));
  shared->resource = std::move(options.resource);
  shared->snapshot = &snapshot;
  shared->say = std::move(say);
  std::thread thread([shared] { shared->run(); });
  return OtlpExporter(std::move(shared), std::move(thread));
}

OtlpExporter::~OtlpExporter() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kAtEnd, [&] { return shared_->done; });
  shared_->say = nullptr;
  shared_->left = true;
  const bool done = shared_->done;
  lock.unlock();
  done ? thread_.join() : thread_.detach();
}

}  // namespace ergometer::record
