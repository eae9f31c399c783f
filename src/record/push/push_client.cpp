#include "record/push/push_client.h"

#include <httplib.h>

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "record/push/broken_pipe.h"
#include "record/push/token_file.h"

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

class PushConnection : public PushClient {
 public:
  PushConnection(const std::string& origin, const PushTarget& target)
      : url(target.whole_url ? target.url : origin), named(target.named), http(origin) {}
  Result<PushAnswer> post(const std::string& lines) override;
  Result<PushAnswer> get() override;
  template <class Ask>
  Result<PushAnswer> in_time(const Ask& ask);
  Result<PushAnswer> result(const httplib::Result& answer, std::string body) const;

  std::string url, named, path, type;
  int most_s = 0;
  httplib::Client http;
  httplib::Headers headers;
};

/// A process that may begin no further thread asks again later.
template <class Ask>
Result<PushAnswer> PushConnection::in_time(const Ask& ask) {
  try {
    const NoBrokenPipeSignal no_signal;
    const TimeLimit limit(http, most_s);
    return ask();
  } catch (const std::system_error& error) {
    return missing_error("{}: it is not asked ({})", url, error.what());
  }
}

Result<PushAnswer> PushConnection::post(const std::string& lines) {
  return in_time([&] {
    auto answer = http.Post(path, headers, lines, type);
    std::string body = answer ? std::move(answer->body) : std::string();
    return result(answer, std::move(body));
  });
}

Result<PushAnswer> PushConnection::get() {
  constexpr size_t kMostBytes = size_t{8} << 20;
  return in_time([&] {
    std::string body;
    const auto answer = http.Get(path, headers, [&](const char* bytes, size_t size) {
      body.append(bytes, size);
      return body.size() <= kMostBytes;
    });
    return result(answer, std::move(body));
  });
}

Result<PushAnswer> PushConnection::result(const httplib::Result& answer, std::string body) const {
  if (answer.error() == httplib::Error::SSLServerVerification)
    return missing_error(
        "{}: its certificate is signed by nobody whom this machine trusts{}", url,
        named.starts_with("--") ? "; " + named + "-certificate FILE names one to trust" : "");
  if (!answer) return missing_error("{}: no answer ({})", url, httplib::to_string(answer.error()));
  return PushAnswer{answer->status, std::move(body)};
}

/// A URL without what may stand before its '@'.
std::string_view without_secret(std::string_view url) { return base::last_part(url, '@'); }

/// What a server that asks who comes is shown.
Result<void> check_own_files(const PushTarget& target, bool tls) {
  if (target.own_certificate.empty() != target.own_key.empty())
    return input_error("{}-own-cert and {}-own-key go together", target.named, target.named);
  if (target.own_key.empty()) return {};
  if (!tls)
    return input_error("{} '{}': {}-own-cert goes with https://", target.named,
                       without_secret(target.url), target.named);
  constexpr size_t kMostBytes = 1 << 20;
  for (const std::string& file : {target.own_certificate, target.own_key})
    ERGOMETER_TRY(base::read_file(file, kMostBytes));
  return check_private(target.own_key, "the key");
}

/// With the authorities between it and a root, where the file holds them.
Result<void> show_own_files(const PushTarget& target, SSL_CTX* context) {
  if (target.own_key.empty()) return {};
  // Nobody is asked for a password: a recorder may have no terminal.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_certificate_chain_file(context, target.own_certificate.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, target.own_key.c_str(), SSL_FILETYPE_PEM) != 1)
    return input_error("{}: is no certificate in PEM form, or {} is not its key",
                       target.own_certificate, target.own_key);
  return {};
}

}  // namespace

Result<std::unique_ptr<PushClient>> push_client(const PushTarget& target) {
  const std::string& url = target.url;
  const bool tls = url.starts_with("https://");
  const size_t host = tls ? 8 : 7;
  const auto wrong = [&](const std::string& why) {
    return input_error("{} '{}': {}; it is an address like http://monitor:9500", target.named,
                       without_secret(url), why);
  };
  if (!tls && !url.starts_with("http://")) return wrong("begins with neither http:// nor https://");
  ERGOMETER_TRY(check_own_files(target, tls));
  const size_t end = std::min(url.find('/', host), url.size());
  const std::string origin = url.substr(0, end);
  if (origin.size() == host) return wrong("names no host");
  if (origin.find('@') != std::string::npos)
    return wrong("a token belongs into " +
                 std::string(target.named == "--otlp" ? "--otlp-token-file" : "--token-file"));
  if (!has_possible_port(std::string_view(origin).substr(host)))
    return wrong("its port is none of 1 to 65535");
  auto client = std::make_unique<PushConnection>(origin, target);
  if (!client->http.is_valid()) return wrong("is not understood");
  ERGOMETER_TRY(show_own_files(target, client->http.ssl_context()));
  client->path = url.substr(end);
  client->type = target.type;
  client->most_s = target.most_s;
  if (!target.whole_url) {
    while (client->path.ends_with('/')) client->path.pop_back();
    client->path += "/push";
  } else if (client->path.empty()) {
    client->path = "/";
  }
  if (!target.token.empty()) client->headers = {{"Authorization", "Bearer " + target.token}};
  if (!target.certificate.empty()) {
    constexpr size_t kMostBytes = 1 << 20;
    ERGOMETER_TRY(base::read_file(target.certificate, kMostBytes));
    client->http.set_ca_cert_path(target.certificate);
  }
  client->http.enable_server_certificate_verification(true);
  constexpr time_t kConnectS = 1, kAnswerS = 5;
  client->http.set_connection_timeout(kConnectS);
  client->http.set_read_timeout(kAnswerS);
  client->http.set_write_timeout(kAnswerS);
  client->http.set_keep_alive(true);
  client->http.set_tcp_nodelay(true);
  return client;
}

}  // namespace ergometer::record
