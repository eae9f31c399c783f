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
  virtual ~RedfishClient() = default;
  /// The answer to a GET. An error of kind kMissing when there is none, or one that is no success.
  virtual Result<std::string> get(const std::string& path) = 0;
};

/// Asks nothing yet. Input errors: a URL or a file of credentials that cannot be used; plain HTTP
/// to another machine, which would show the password.
Result<std::unique_ptr<RedfishClient>> redfish_client(const RedfishOptions& options);

/// What the part "redfish" exports under the name kMakeRedfish: the same.
inline constexpr const char* kMakeRedfish = "ergometer_make_redfish";

}  // namespace ergometer::record
