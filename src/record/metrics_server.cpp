#include "record/metrics_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <string.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/text.h"
#include "record/broken_pipe.h"

namespace ergometer::record {

struct MetricsServer::State {
  httplib::Server http;
  std::thread thread;
  std::string address;
  std::atomic<bool> ended = false;  ///< by itself

  ~State() {
    if (!thread.joinable()) return;
    // A server that does not run yet would not hear that it should stop.
    while (!http.is_running() && !ended) std::this_thread::yield();
    http.stop();
    thread.join();
  }
};

namespace {

struct Address {
  std::string host;
  int port = 0;
};

base::Result<Address> parse(const std::string& listen) {
  const auto wrong = [&] {
    return base::input_error(fmt::format(
        "address to listen at '{}': ADDRESS:PORT is expected, such as 127.0.0.1:9400, [::1]:9400 "
        "or :9400 for every address; port 0 takes a free one",
        listen));
  };
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return wrong();
  const auto port = base::parse_integer(listen.substr(colon + 1));
  constexpr int64_t kHighest = 65535;
  if (!port || *port < 0 || *port > kHighest) return wrong();
  std::string host = listen.substr(0, colon);
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (brackets) host = host.substr(1, host.size() - 2);
  if (!brackets && host.find(':') != std::string::npos) return wrong();
  return Address{host.empty() ? "0.0.0.0" : host, static_cast<int>(*port)};
}

/// The library's own choice lets a second server take the same port, each to get half of the
/// requests.
void share_nothing(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

constexpr const char* kIndex =
    "<!doctype html><title>Ergometer</title><h1>Ergometer</h1>\n"
    "<p>Latest readings for Prometheus: <a href=\"/metrics\">/metrics</a></p>\n";

void set_up(httplib::Server& http, MetricsServer::Page page) {
  constexpr size_t kThreads = 2;
  constexpr time_t kLimitS = 5;
  http.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  http.set_socket_options(share_nothing);
  // A connection that is kept open would keep a thread.
  http.set_keep_alive_max_count(1);
  http.set_read_timeout(kLimitS);
  http.set_write_timeout(kLimitS);
  http.set_payload_max_length(0);
  http.Get("/metrics",
           [page = std::move(page)](const httplib::Request& request, httplib::Response& response) {
             const MetricsPage made = page(request.get_header_value("Accept"));
             response.set_content(made.body, made.content_type);
           });
  http.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("ok\n", "text/plain");
  });
  http.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(kIndex, "text/html; charset=utf-8");
  });
}

}  // namespace

MetricsServer::MetricsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
MetricsServer::MetricsServer(MetricsServer&&) noexcept = default;
MetricsServer& MetricsServer::operator=(MetricsServer&&) noexcept = default;
MetricsServer::~MetricsServer() = default;

const std::string& MetricsServer::address() const { return state_->address; }

base::Result<MetricsServer> MetricsServer::start(const std::string& listen, Page page) {
  ERGOMETER_ASSIGN(Address address, parse(listen));
  struct sigaction before = {};
  ::sigaction(SIGPIPE, nullptr, &before);
  auto state = std::make_unique<State>();
  ::sigaction(SIGPIPE, &before, nullptr);  // which the library has the program ignore
  set_up(state->http, std::move(page));
  errno = 0;
  const int port = address.port == 0 ? state->http.bind_to_any_port(address.host)
                   : state->http.bind_to_port(address.host, address.port) ? address.port
                                                                          : -1;
  if (port < 0) {
    const char* const why = errno != 0 ? ::strerror(errno) : "no such address";
    return tl::unexpected(base::Error{base::ErrorKind::kMissing,
                                      fmt::format("cannot listen at {}: {}", listen, why)});
  }
  const bool v6 = address.host.find(':') != std::string::npos;
  state->address = fmt::format("{0}{2}{1}:{3}", v6 ? "[" : "", v6 ? "]" : "", address.host, port);
  state->thread = std::thread([state = state.get()] {
    const NoBrokenPipeSignal no_signal;
    state->http.listen_after_bind();
    state->ended = true;
  });
  return MetricsServer(std::move(state));
}

}  // namespace ergometer::record
