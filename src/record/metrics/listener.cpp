#include "record/metrics/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/text.h"

namespace ergometer::record {
namespace {

constexpr int kQueued = 1024;  ///< connections that the kernel keeps until they are accepted

struct Address {
  std::string host;
  int port = 0;
};

Result<Address> parse_listen(const std::string& listen) {
  const auto wrong = [&] {
    return input_error(
        "address to listen at '{}': ADDRESS:PORT is expected, such as 127.0.0.1:9400, [::1]:9400 "
        "or :9400 for every address; port 0 takes a free one",
        listen);
  };
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return wrong();
  const auto port = base::parse_integer(listen.substr(colon + 1));
  constexpr int64_t kHighest = 65535;
  if (!port || *port < 0 || *port > kHighest) return wrong();
  std::string host = listen.substr(0, colon);
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (brackets) host = host.substr(1, host.size() - 2);
  if (!brackets && host.find(':') != std::string::npos) return wrong();
  return Address{host.empty() ? "0.0.0.0" : host, static_cast<int>(*port)};
}

/// A socket that listens; none, with errno set or 0, where that cannot be.
Socket listen_at(const Address& address) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  errno = 0;
  if (::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found) !=
      0) {
    errno = 0;
    return Socket();
  }
  Socket result;
  for (const addrinfo* at = found; at != nullptr && result.get() < 0; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    if (socket.get() >= 0 &&
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        ::listen(socket.get(), kQueued) == 0)
      result = std::move(socket);
  }
  const int error = errno;
  ::freeaddrinfo(found);
  errno = error;
  return result;
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  constexpr uint32_t kLoopbackNet = 127;
  return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == kLoopbackNet;
}

bool listens_to_this_machine_alone(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) == 0 &&
         is_loopback(bound);
}

}  // namespace

bool must_wait(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

Result<Listener> Listener::open(const std::string& listen) {
  ERGOMETER_ASSIGN(const Address address, parse_listen(listen));
  Listener result{listen_at(address), {}, false};
  const int socket = result.socket.get();
  if (socket < 0) {
    const char* const why = errno != 0 ? ::strerror(errno) : "no such address";
    return missing_error("cannot listen at {}: {}", listen, why);
  }
  const bool v6 = address.host.find(':') != std::string::npos;
  result.address =
      fmt::format("{0}{2}{1}:{3}", v6 ? "[" : "", v6 ? "]" : "", address.host, port_of(socket));
  result.loopback = listens_to_this_machine_alone(socket);
  return result;
}

}  // namespace ergometer::record
