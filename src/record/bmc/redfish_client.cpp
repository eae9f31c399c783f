#include "record/bmc/redfish_client.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>

#include "base/file.h"
#include "base/json_writer.h"
#include "record/push/broken_pipe.h"

namespace ergometer::record {

namespace {

class RedfishConnection : public RedfishClient {
 public:
  explicit RedfishConnection(const std::string& origin) : url(origin), http(origin) {}
  RedfishConnection(const RedfishConnection&) = delete;
  RedfishConnection& operator=(const RedfishConnection&) = delete;
  ~RedfishConnection() override;
  Result<std::string> get(const std::string& path) override;

  std::string url;
  httplib::Client http;
  std::string user, password;

 private:
  Result<void> log_in();

  httplib::Headers login_;  ///< what every request carries
  std::string session_;     ///< where it is ended
  bool logged_in_ = false;
};

constexpr const char* kSessions = "/redfish/v1/SessionService/Sessions";
constexpr int kUnauthorized = 401, kForbidden = 403;

/// This machine itself, or a tunnel that begins here.
bool is_loopback(std::string_view host) {
  if (host.starts_with("[::1]")) return true;
  host = host.substr(0, host.find(':'));
  return host == "localhost" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

bool is_success(int status) { return status >= 200 && status < 300; }

/// "https://bmc:8443" of "https://bmc:8443/redfish".
Result<std::string> origin_of(const std::string& url) {
  const bool tls = url.starts_with("https://");
  const size_t host = tls ? 8 : 7;
  const auto wrong = [&](const char* why) {
    return input_error(
        "Redfish URL '{}': {}; \"https://ADDRESS\" or \"https://ADDRESS:PORT\" is expected", url,
        why);
  };
  if (!tls && !url.starts_with("http://")) return wrong("begins with neither https:// nor http://");
  std::string origin = url.substr(0, url.find('/', host));
  if (origin.size() == host) return wrong("names no host");
  if (origin.find('@') != std::string::npos)
    return wrong("a password belongs into a file, not into the URL");
  if (!tls && !is_loopback(std::string_view(origin).substr(host)))
    return wrong("over plain HTTP everyone on the way reads the password");
  return origin;
}

/// The first line of the file, which nobody else may read.
Result<std::pair<std::string, std::string>> read_credentials(const std::string& path) {
  constexpr size_t kMostBytes = 4096;
  ERGOMETER_ASSIGN(std::string text, base::read_file(path, kMostBytes));
  struct stat about = {};
  if (::stat(path.c_str(), &about) == 0 && (about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return input_error(
        "{}: others may read the password that it holds; 'chmod 600 {}' changes that", path, path);
  text.resize(std::min(text.size(), text.find_first_of("\r\n")));
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0)
    return input_error("{}:1: \"user:password\" is expected", path);
  return std::pair(text.substr(0, colon), text.substr(colon + 1));
}

std::string why(httplib::Error error) {
  if (error == httplib::Error::SSLServerVerification)
    return "its certificate is signed by nobody whom this machine trusts; name a PEM file to "
           "trust, or allow any certificate";
  return fmt::format("no answer ({})", httplib::to_string(error));
}

std::chrono::milliseconds limit(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

std::string login_body(const std::string& user, const std::string& password) {
  base::JsonWriter json;
  json.begin_object().member("UserName", user).member("Password", password).end_object();
  return json.take();
}

RedfishConnection::~RedfishConnection() {
  // Controllers keep few sessions: one left open is missed by the next who logs in. One that does
  // not answer is not waited for.
  if (session_.empty()) return;
  constexpr time_t kLimitS = 2;
  const NoBrokenPipeSignal no_signal;
  http.set_connection_timeout(kLimitS);
  http.set_read_timeout(kLimitS);
  http.Delete(session_, login_);
}

/// Opens a session; without a session service every request carries the password.
Result<void> RedfishConnection::log_in() {
  login_.clear();
  session_.clear();
  const auto answer =
      http.Post(kSessions, httplib::Headers{}, login_body(user, password), "application/json");
  if (!answer) return missing_error("{}: {}", url, why(answer.error()));
  if (answer->status == kUnauthorized || answer->status == kForbidden)
    return missing_error("{}: user '{}' is not let in", url, user);
  if (is_success(answer->status) && answer->has_header("X-Auth-Token")) {
    login_ = {{"X-Auth-Token", answer->get_header_value("X-Auth-Token")}};
    session_ = answer->get_header_value("Location");
    // A whole URL or its path.
    if (const size_t path = session_.find("/redfish/"); path != std::string::npos)
      session_.erase(0, path);
  } else {
    login_ = {httplib::make_basic_authentication_header(user, password)};
  }
  logged_in_ = true;
  return {};
}

Result<std::string> RedfishConnection::get(const std::string& path) {
  const NoBrokenPipeSignal no_signal;
  for (bool again : {false, true}) {
    if (!user.empty() && !logged_in_) ERGOMETER_TRY(log_in());
    const auto answer = http.Get(path, login_);
    if (!answer) return missing_error("{}{}: {}", url, path, why(answer.error()));
    if (is_success(answer->status)) return answer->body;
    if (answer->status == kUnauthorized && user.empty())
      return missing_error("{}{}: wants a user and a password", url, path);
    // A session ends after some minutes without a request.
    if (answer->status != kUnauthorized || again)
      return missing_error("{}{}: HTTP status {}", url, path, answer->status);
    logged_in_ = false;
  }
  return missing_error("{}{}: not let in", url, path);
}

}  // namespace

Result<std::unique_ptr<RedfishClient>> redfish_client(const RedfishOptions& options) {
  ERGOMETER_ASSIGN(const std::string origin, origin_of(options.url));
  auto client = std::make_unique<RedfishConnection>(origin);
  if (!client->http.is_valid()) return input_error("Redfish URL '{}': not understood", options.url);
  if (!options.credentials.empty()) {
    ERGOMETER_ASSIGN(const auto login, read_credentials(options.credentials));
    std::tie(client->user, client->password) = login;
  }
  if (!options.certificate.empty()) {
    constexpr size_t kMostBytes = 1 << 20;
    ERGOMETER_TRY(base::read_file(options.certificate, kMostBytes));
    client->http.set_ca_cert_path(options.certificate);
  }
  client->http.enable_server_certificate_verification(!options.insecure);
  client->http.set_connection_timeout(limit(options.connect_limit_s));
  client->http.set_read_timeout(limit(options.answer_limit_s));
  client->http.set_write_timeout(limit(options.answer_limit_s));
  client->http.set_keep_alive(true);
  return client;
}

}  // namespace ergometer::record
