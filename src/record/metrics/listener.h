#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "record/clock_peer.h"

namespace ergometer::record {

/// A TCP socket that listens and does not block.
struct Listener {
  Socket socket;
  std::string address;    ///< with the port it got: "127.0.0.1:9400"
  bool loopback = false;  ///< no other machine reaches it

  /// `listen`: "127.0.0.1:9400", "[::1]:9400", ":9400" (every address), port 0 for any free one.
  /// Input error: no such form. Of kind kMissing: the address is in use, is not this machine's, or
  /// the port needs root.
  static Result<Listener> open(const std::string& listen);
};

/// Of a call on such a socket: whether it could do nothing yet, and is to be called again.
bool must_wait(ssize_t result);

}  // namespace ergometer::record
