#include "record/push/push_client.h"

#include <fmt/format.h>
#include <httplib.h>

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/file.h"
#include "record/push/broken_pipe.h"

namespace ergometer::record {
namespace {

/// Ends a request that takes too long, as of a server that answers byte by byte: the client's own
/// limits are those of one read or write.
class TimeLimit {
 public:
  TimeLimit(httplib::Client& http, int most_s)
      : thread_([&http, most_s](const std::stop_token& over) {
          std::mutex mutex;
          std::condition_variable_any ends;
          std::unique_lock lock(mutex);
          ends.wait_for(lock, over, std::chrono::seconds(most_s), [] { return false; });
          if (!over.stop_requested()) http.stop();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

struct PushClient::State {
  explicit State(const std::string& origin) : url(origin), http(origin) {}
  std::string url, path, type;
  int most_s = 0;
  httplib::Client http;
  httplib::Headers headers;
};

PushClient::PushClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
PushClient::PushClient(PushClient&&) noexcept = default;
PushClient::~PushClient() = default;

base::Result<PushClient> PushClient::make(const PushTarget& target) {
  const std::string& url = target.url;
  const bool tls = url.starts_with("https://");
  const size_t host = tls ? 8 : 7;
  const auto wrong = [&](const char* why) {
    return base::input_error(fmt::format("{} '{}': {}; it is an address like http://monitor:9500",
                                         target.named, url, why));
  };
  if (!tls && !url.starts_with("http://")) return wrong("begins with neither http:// nor https://");
  const size_t end = std::min(url.find('/', host), url.size());
  const std::string origin = url.substr(0, end);
  if (origin.size() == host) return wrong("names no host");
  if (origin.find('@') != std::string::npos) return wrong("a token belongs into --token-file");
  auto state = std::make_unique<State>(origin);
  if (!state->http.is_valid()) return wrong("is not understood");
  state->path = url.substr(end);
  state->type = target.type;
  state->most_s = target.most_s;
  if (!target.whole_url) {
    while (state->path.ends_with('/')) state->path.pop_back();
    state->path += "/push";
  } else if (state->path.empty()) {
    state->path = "/";
  }
  if (!target.token.empty()) state->headers = {{"Authorization", "Bearer " + target.token}};
  if (!target.certificate.empty()) {
    constexpr size_t kMostBytes = 1 << 20;
    ERGOMETER_TRY(base::read_file(target.certificate, kMostBytes));
    state->http.set_ca_cert_path(target.certificate);
  }
  state->http.enable_server_certificate_verification(true);
  constexpr time_t kConnectS = 1, kAnswerS = 5;
  state->http.set_connection_timeout(kConnectS);
  state->http.set_read_timeout(kAnswerS);
  state->http.set_write_timeout(kAnswerS);
  state->http.set_keep_alive(true);
  state->http.set_tcp_nodelay(true);
  return PushClient(std::move(state));
}

base::Result<PushAnswer> PushClient::post(const std::string& lines) {
  State& state = *state_;
  const NoBrokenPipeSignal no_signal;
  const TimeLimit limit(state.http, state.most_s);
  const auto answer = state.http.Post(state.path, state.headers, lines, state.type);
  if (answer.error() == httplib::Error::SSLServerVerification)
    return base::missing_error(
        fmt::format("{}: its certificate is signed by nobody whom this machine trusts; "
                    "--push-certificate FILE names one to trust",
                    state.url));
  if (!answer)
    return base::missing_error(
        fmt::format("{}: no answer ({})", state.url, httplib::to_string(answer.error())));
  return PushAnswer{answer->status, answer->body};
}

}  // namespace ergometer::record
