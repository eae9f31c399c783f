#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "record/open_metrics.h"

namespace ergometer::record {

/// Serves GET and HEAD of /metrics, /healthz and a page at / that leads there, over HTTP. It waits
/// in one thread and answers in two more; idle it uses no processor time. There is no TLS and no
/// password: what it shows, anyone sees who reaches the address.
class MetricsServer {
 public:
  /// Makes the page; `accept` is the request's header. Called from the server's threads, possibly
  /// from two at a time.
  using Page = std::function<MetricsPage(std::string_view accept)>;

  /// `listen`: "127.0.0.1:9400", "[::1]:9400", ":9400" (every address), port 0 for any free one.
  /// Input error: no such form. Of kind kMissing: the address is in use, is not this machine's, or
  /// the port needs root.
  static base::Result<MetricsServer> start(const std::string& listen, Page page);
  MetricsServer(MetricsServer&&) noexcept;
  MetricsServer& operator=(MetricsServer&&) noexcept;
  ~MetricsServer();  ///< lets answers that are under way end

  /// Where it listens, with the port it got: "127.0.0.1:9400".
  const std::string& address() const;

 private:
  struct State;
  explicit MetricsServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::record
