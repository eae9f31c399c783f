#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace ergometer::record {

struct RedfishOptions {
  std::string url;  ///< "https://10.0.0.5" or "https://bmc:8443/": what stands behind is ignored
  std::string credentials;  ///< a file with "user:password", which its owner alone may read
  std::string certificate;  ///< PEM file, trusted
  bool insecure = false;    ///< any certificate will do
  double connect_limit_s = 5, answer_limit_s = 10;
};

/// A connection to a node's controller. Logs in by a session where the service has them, so that
/// the password crosses the network once, else by basic authentication; logs out at its end.
class RedfishClient {
 public:
  /// Asks nothing yet. Input errors: a URL or a file of credentials that cannot be used; plain HTTP
  /// to another machine, which would show the password.
  static base::Result<RedfishClient> make(const RedfishOptions& options);
  RedfishClient(RedfishClient&&) noexcept;
  ~RedfishClient();

  /// The answer to a GET. An error of kind kMissing when there is none, or one that is no success.
  base::Result<std::string> get(const std::string& path);

 private:
  struct State;
  explicit RedfishClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::record
