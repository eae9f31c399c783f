#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ergometer::serve {

struct ServeOptions {
  std::string listen = "127.0.0.1:9500";
  std::string follow;            ///< a folder of growing Runs to watch too; empty: none
  std::string folder;            ///< where a Run a job is kept
  std::string token;             ///< what recorders have to say; empty: nothing
  std::string certificate, key;  ///< PEM files; empty: no TLS
  std::string authorities;       ///< PEM file: who comes is signed by one of these; empty: anyone
  std::string scrape;            ///< a file of recorders to ask (scraper.h); empty: none
  std::string rules;             ///< a rules file, or "standard"; empty: no alerts
  /// Whether the rules are to be read again now; asked once a second.
  std::function<bool()> reload = {};
};

/// Takes what recorders push (docs/push-format.md), keeps it in a Run a job, and serves the page,
/// at
/// `/`, of what goes on now.
///
/// Batches of a quarter of a second go to disk in one transaction a job, and are acknowledged
/// behind it. Memory is bounded by what may be kept of nodes and devices, and by HttpServer's
/// bounds.
class Service {
 public:
  static constexpr size_t kMostJobs = 256;        ///< that are kept in memory; then the idlest goes
  static constexpr size_t kMostDevices = 131072;  ///< of all jobs
  static constexpr size_t kMostRecorders = 16384;  ///< of a job
  using Say = std::function<void(const std::string&)>;

  /// Input errors: no such address; files of TLS that cannot be used; other machines would reach it
  /// and there is no token; `folder` is none. Of kind kMissing: the address cannot be had.
  static Result<Service> start(const ServeOptions& options, Say say);
  Service(Service&&) noexcept;
  ~Service();

  const std::string& address() const;
  /// Until `stop` says so; then what waits is written and acknowledged.
  Result<void> run(const std::function<bool()>& stop);

 private:
  struct State;
  explicit Service(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::serve
