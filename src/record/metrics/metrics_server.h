#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "record/metrics/open_metrics.h"

namespace ergometer::record {

/// Serves GET and HEAD of /metrics, /healthz and a page at / that leads there, over HTTP, one
/// request a connection. One thread waits for all clients and for none in particular: a client gets
/// a time, some bytes and one of a few connections, and when the server ends its connection does.
/// Idle it uses no processor time. There is no TLS and no password: what it shows, anyone sees who
/// reaches the address.
class MetricsServer {
 public:
  /// Makes the page; `accept` is the request's header. Called from the server's thread.
  using Page = std::function<MetricsPage(std::string_view accept)>;

  static constexpr size_t kMostConnections = 16;  ///< for one more the oldest has to go
  static constexpr size_t kMostRequestBytes = 8192;
  static constexpr std::chrono::milliseconds kRequestTime{5000};  ///< from connecting to the end

  /// `listen`: "127.0.0.1:9400", "[::1]:9400", ":9400" (every address), port 0 for any free one.
  /// Input error: no such form. Of kind kMissing: the address is in use, is not this machine's, or
  /// the port needs root.
  static Result<MetricsServer> start(const std::string& listen, Page page,
                                     std::chrono::milliseconds request_time = kRequestTime);
  MetricsServer(MetricsServer&&) noexcept;
  MetricsServer& operator=(MetricsServer&&) noexcept;
  ~MetricsServer();  ///< answers that are under way get a moment, other clients none

  /// Where it listens, with the port it got: "127.0.0.1:9400".
  const std::string& address() const;

 private:
  struct State;
  explicit MetricsServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::record
