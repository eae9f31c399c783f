#include "record/clock_peer.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "record/source.h"

namespace ergometer::record {
namespace {

constexpr uint64_t kMagic = 0x314b434f4c434745;  // "EGCLOCK1"
constexpr int kLookEveryMs = 100;                // how soon the server notices that it shall end
constexpr size_t kLongestName = 64;              // HOST_NAME_MAX

// Datagrams: numbers of 64 bits, least significant byte first.
//   question  magic, number
//   answer    magic, number, received, sent, then the name of the host
constexpr size_t kQuestionBytes = 16, kAnswerBytes = 32;
using Datagram = std::array<unsigned char, kAnswerBytes + kLongestName>;

void put(Datagram& to, size_t at, uint64_t value) {
  for (size_t i = 0; i < 8; ++i) to[at + i] = static_cast<unsigned char>(value >> (8 * i));
}
uint64_t get(const Datagram& from, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= uint64_t{from[at + i]} << (8 * i);
  return value;
}

bool readable(int socket, int patience_ms) {
  pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, patience_ms) > 0;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
Result<Addresses> look_up(const Endpoint& endpoint, int flags) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_DGRAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  const char* const host = endpoint.host.empty() ? nullptr : endpoint.host.c_str();
  const std::string port = fmt::format("{}", endpoint.port);
  const int status = ::getaddrinfo(host, port.c_str(), &wanted, &found);
  if (status != 0)
    return input_error("{}: {}; give HOST:PORT, such as node01:9401", endpoint.host,
                       ::gai_strerror(status));
  return Addresses(found, &::freeaddrinfo);
}

/// The first of the addresses with which `use` (bind, connect) works; errno tells of the last.
template <class Use>
Socket open_socket(const addrinfo* address, Use use) {
  for (; address != nullptr; address = address->ai_next) {
    Socket socket(::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0));
    if (socket.get() >= 0 && use(socket.get(), address->ai_addr, address->ai_addrlen) == 0)
      return socket;
  }
  return Socket();
}

void answer_one(int socket, const std::string& name) {
  Datagram datagram{};
  sockaddr_storage from{};
  socklen_t from_size = sizeof from;
  const ssize_t bytes = ::recvfrom(socket, datagram.data(), datagram.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &from_size);
  const int64_t received_ns = now_ns();
  // An answer is longer than its question by the times and the name alone: nothing to amplify with.
  if (bytes != static_cast<ssize_t>(kQuestionBytes) || get(datagram, 0) != kMagic) return;
  put(datagram, 16, static_cast<uint64_t>(received_ns));
  std::copy(name.begin(), name.end(), datagram.begin() + kAnswerBytes);
  put(datagram, 24, static_cast<uint64_t>(now_ns()));
  ::sendto(socket, datagram.data(), kAnswerBytes + name.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&from), from_size);
}

}  // namespace

uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return bound.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6&>(bound).sin6_port)
                                     : ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  Endpoint result;
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (problem != std::errc() || end != port.data() + port.size())
    return input_error("{}: '{}' is no port; give HOST:PORT with a port from 0 to 65535", text,
                       port);
  if (colon != std::string_view::npos) result.host = text.substr(0, colon);
  if (result.host.size() > 1 && result.host.front() == '[' && result.host.back() == ']')
    result.host = result.host.substr(1, result.host.size() - 2);
  return result;
}

Socket::Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}
Socket::~Socket() {
  if (handle_ >= 0) ::close(handle_);
}

ClockServer::ClockServer(Socket socket, uint16_t port, const std::string& host)
    : port_(port),
      thread_([socket = std::move(socket),
               name = host.substr(0, kLongestName)](const std::stop_token& stop) {
        while (!stop.stop_requested())
          if (readable(socket.get(), kLookEveryMs)) answer_one(socket.get(), name);
      }) {}

Result<ClockServer> ClockServer::listen(const Endpoint& at, const std::string& host) {
  ERGOMETER_ASSIGN(const Addresses addresses, look_up(at, AI_PASSIVE));
  Socket socket = open_socket(addresses.get(), ::bind);
  if (socket.get() < 0)
    return missing_error("cannot tell the time on {}:{}: {}", at.host, at.port,
                         std::strerror(errno));
  const uint16_t port = port_of(socket.get());
  return ClockServer(std::move(socket), port, host);
}

Result<ClockClient> ClockClient::open(const Endpoint& peer) {
  ERGOMETER_ASSIGN(const Addresses addresses, look_up(peer, 0));
  Socket socket = open_socket(addresses.get(), ::connect);
  if (socket.get() < 0)
    return missing_error("cannot ask {}:{} for its time: {}", peer.host, peer.port,
                         std::strerror(errno));
  return ClockClient(std::move(socket));
}

std::optional<run::ClockProbe> ClockClient::ask(std::chrono::milliseconds patience) {
  Datagram datagram{};
  put(datagram, 0, kMagic);
  put(datagram, 8, ++questions_);
  run::ClockProbe probe;
  probe.sent_ns = now_ns();
  if (::send(socket_.get(), datagram.data(), kQuestionBytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    return std::nullopt;
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !readable(socket_.get(), static_cast<int>(left.count())))
      return std::nullopt;
    const ssize_t bytes = ::recv(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    probe.received_ns = now_ns();
    if (bytes < 0) return std::nullopt;  // no one listens there
    if (bytes < static_cast<ssize_t>(kAnswerBytes) || get(datagram, 0) != kMagic ||
        get(datagram, 8) != questions_)
      continue;  // the answer to an earlier question
    probe.peer_received_ns = static_cast<int64_t>(get(datagram, 16));
    probe.peer_sent_ns = static_cast<int64_t>(get(datagram, 24));
    probe.peer.assign(datagram.begin() + kAnswerBytes, datagram.begin() + bytes);
    return probe;
  }
}

}  // namespace ergometer::record
