#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "run/host_clock.h"

namespace ergometer::record {

// How far two hosts' clocks are apart: one asks, the other answers, a datagram each, with the four
// times of NTP (RFC 5905, section 8). The clocks are read here and nothing is set; what the
// answers mean is found when recordings are merged.

/// "HOST:PORT", "[ADDRESS]:PORT" or "PORT".
struct Endpoint {
  std::string host;  ///< empty: any address of this machine
  uint16_t port = 0;
};
Result<Endpoint> parse_endpoint(std::string_view text);

/// A UDP socket that closes itself.
class Socket {
 public:
  explicit Socket(int handle = -1) : handle_(handle) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int get() const { return handle_; }

 private:
  int handle_;
};

/// The port that a socket is bound to; 0: none.
uint16_t port_of(int socket);

/// Tells the time to whoever asks, until it is destroyed.
class ClockServer {
 public:
  /// Port 0 takes any that is free. An error of kind kMissing when the address cannot be had.
  static Result<ClockServer> listen(const Endpoint& at, const std::string& host);
  ClockServer(ClockServer&&) = default;
  uint16_t port() const { return port_; }

 private:
  ClockServer(Socket socket, uint16_t port, const std::string& host);

  uint16_t port_ = 0;
  std::jthread thread_;
};

/// Asks one other host.
class ClockClient {
 public:
  /// The name is looked up here, once. Input error when it has no address.
  static Result<ClockClient> open(const Endpoint& peer);
  /// One question; nothing when no answer came in time. A late answer is never taken for another's.
  std::optional<run::ClockProbe> ask(std::chrono::milliseconds patience);

 private:
  explicit ClockClient(Socket socket) : socket_(std::move(socket)) {}

  Socket socket_;
  uint64_t questions_ = 0;
};

}  // namespace ergometer::record
