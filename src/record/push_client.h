#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace ergometer::record {

struct PushAnswer {
  int status = 0;  ///< of HTTP
  std::string body;
};

/// A connection to `ergometer serve`, or to a proxy before it: http:// or https://.
class PushClient {
 public:
  /// Connects to nobody yet. Input error: no such URL.
  static base::Result<PushClient> make(const std::string& url, const std::string& token);
  PushClient(PushClient&&) noexcept;
  ~PushClient();

  /// Sends lines of docs/push-format.md. An error of kind kMissing when no answer came in time.
  base::Result<PushAnswer> post(const std::string& lines);

 private:
  struct State;
  explicit PushClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::record
