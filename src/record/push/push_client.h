#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"

namespace ergometer::record {

struct PushTarget {
  std::string url;                       ///< "http://monitor:9500"; empty: nothing is pushed
  std::string token;                     ///< empty: none is asked for
  std::string certificate;               ///< PEM file, trusted; empty: those that the system trusts
  std::string own_certificate, own_key;  ///< PEM files, of who asks; empty: none
  std::string named = "--push";          ///< what errors call it
  std::string type = "application/x-ndjson";  ///< of what is posted
  bool whole_url = false;                     ///< else it is posted to the URL's /push
  int most_s = 10;  ///< seconds that a request takes, to its answer's last byte
};

struct PushAnswer {
  int status = 0;  ///< of HTTP
  std::string body;
};

/// A connection to `ergometer serve`, or to a proxy before it: http:// or https://.
class PushClient {
 public:
  virtual ~PushClient() = default;
  /// Sends lines of docs/push-format.md. An error of kind kMissing when no answer came in time.
  virtual Result<PushAnswer> post(const std::string& lines) = 0;
  /// What the URL's page holds now, 8 MiB at most. An error likewise.
  virtual Result<PushAnswer> get() = 0;
};

/// Whether "node1:9500", "node1" or "[::1]:9500" names a port that there is, or none.
inline bool has_possible_port(std::string_view place) {
  constexpr int64_t kHighest = 65535;
  const size_t bracket = place.rfind(']');
  const size_t colon = place.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon == std::string_view::npos) return true;
  const auto port = base::parse_integer(place.substr(colon + 1));
  return port && *port >= 1 && *port <= kHighest;
}

/// Connects to nobody yet. Input errors: no such URL; a file that cannot be read or used; a key
/// that others may read. None holds what stands before an '@' in the URL: it is a secret.
Result<std::unique_ptr<PushClient>> push_client(const PushTarget& target);

/// What the part "push" exports under the name kMakePush: the same.
inline constexpr const char* kMakePush = "ergometer_make_push";

}  // namespace ergometer::record
