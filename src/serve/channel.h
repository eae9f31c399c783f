#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace ergometer::serve {

/// What a connection's bytes go through, on a socket that does not block. Returns as recv and send
/// do: -1 with EAGAIN where one has to wait, 0 or -1 where it is over.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual ssize_t read(char* to, size_t size) = 0;
  /// `more`: other bytes follow at once.
  virtual ssize_t write(const char* from, size_t size, bool more) = 0;
  virtual void end() = 0;  ///< nothing is written any more
};
using ChannelMaker = std::function<std::unique_ptr<Channel>(int socket)>;

/// Bytes as they are.
std::unique_ptr<Channel> plain_channel(int socket);

/// TLS 1.2 and later, by OpenSSL, with a certificate (its chain behind it) and its key in PEM
/// files. `authorities`: who comes has to show a certificate that one of these in a PEM file
/// signed; empty: anyone may come. Input errors: files that cannot be used; a key that others may
/// read.
Result<ChannelMaker> tls_channels(const std::string& certificate, const std::string& key,
                                  const std::string& authorities);

/// What the part "tls" exports under the name kMakeTls: the same.
inline constexpr const char* kMakeTls = "ergometer_make_tls";

}  // namespace ergometer::serve
