#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/push/push_client.h"
#include "serve/push_format.h"

namespace ergometer::serve {

/// A recorder, or another exporter of GPUs, that is asked for its /metrics.
struct ScrapeTarget {
  std::string url;   ///< "http://node1:9400/metrics"
  std::string host;  ///< of devices that name none: "node1"
  std::string job;
};

/// A target a line, "node1:9400 JOB" or a URL; the job may be missing, and is then "scraped". Input
/// errors: file and line, what was found and is allowed.
Result<std::vector<ScrapeTarget>> read_scrape_targets(const std::string& path);

/// What a page of a target says, as a push: numbered by the time, so that a server that is started
/// again goes on. Input error: it is no such page, or holds more than a push may.
Result<Push> push_of_page(const ScrapeTarget& target, const std::string& text, int64_t now_ns);

/// Asks targets once a second, as if they pushed: for recorders that serve Prometheus already. One
/// that does not answer is asked less often, once a minute at last; what it read meanwhile is in
/// its own file alone. The first step that a target tells may be one that is stored already, and is
/// left out.
class Scraper {
 public:
  static constexpr size_t kMostTargets = 4096, kMostWaiting = 4096;

  /// Input error: a URL that is none.
  static Result<Scraper> start(std::vector<ScrapeTarget> targets);
  Scraper(Scraper&&) noexcept;
  Scraper& operator=(Scraper&&) noexcept;
  ~Scraper();

  /// What came since the last call.
  std::vector<Push> take();
  /// What there is to say since the last call: once each, that a target begins to fail and why, and
  /// that it answers again.
  std::vector<std::string> news();

 private:
  struct Shared;
  explicit Scraper(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace ergometer::serve
