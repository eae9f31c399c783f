#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "record/metrics/http_exchange.h"
#include "record/metrics/listener.h"
#include "serve/channel.h"

namespace ergometer::serve {

struct HttpAnswer {
  int status = 200;
  const char* type = "text/plain";
  std::shared_ptr<const std::string> body;
  std::string headers = {};  ///< whole lines
};
HttpAnswer plain_answer(int status, std::string text);

/// Names a request whose answer comes later.
using Ticket = uint64_t;

/// What a server answers. Called from the one thread that runs it.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// What is wrong with a request by its head alone, before its body is read.
  virtual std::optional<HttpAnswer> refuse(const record::HttpRequest& head) = 0;
  /// Nothing: the answer comes later, by `HttpServer::answer`.
  virtual std::optional<HttpAnswer> handle(const record::HttpRequest& head, std::string_view body,
                                           Ticket ticket) = 0;
  /// Called between requests; when it wants to be called again at the latest.
  virtual std::chrono::steady_clock::time_point look(std::chrono::steady_clock::time_point now) = 0;
};

/// HTTP/1.1 over one thread that waits for all clients and for none in particular: a request gets a
/// time and some bytes, all connections together a bound on both; a TLS handshake counts as part of
/// the first request.
class HttpServer {
 public:
  static constexpr size_t kMostConnections = 4096;  ///< beyond, whoever comes is turned away
  static constexpr size_t kMostHeadBytes = 8192, kMostBodyBytes = size_t{1} << 20;
  static constexpr size_t kMostWaitingBytes = size_t{64} << 20;  ///< of all unfinished requests
  static constexpr std::chrono::seconds kRequestTime{10};  ///< from its first byte to its last
  static constexpr std::chrono::seconds kAnswerTime{30};   ///< to take an answer
  static constexpr std::chrono::seconds kIdleTime{60};     ///< between two requests

  HttpServer(record::Listener listener, ChannelMaker make_channel, HttpHandler& handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Until `stop` says so, which is asked four times a second.
  Result<void> run(const std::function<bool()>& stop);
  void answer(Ticket ticket, const HttpAnswer& answer);
  size_t connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::serve
