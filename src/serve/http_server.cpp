#include "serve/http_server.h"

#include <fmt/format.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"

namespace ergometer::serve {
namespace {

using Clock = std::chrono::steady_clock;
using record::HttpRequest;

constexpr std::chrono::milliseconds kLook{250};
constexpr int kEvents = 256;
constexpr uint64_t kListener = 0;  ///< instead of a connection's number

const char* reason_of(int status) {
  constexpr std::array kReasons = std::to_array<std::pair<int, const char*>>({
      {200, "OK"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {409, "Conflict"},
      {411, "Length Required"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {431, "Request Header Fields Too Large"},
      {503, "Service Unavailable"},
      {507, "Insufficient Storage"},
  });
  for (const auto& [number, reason] : kReasons)
    if (number == status) return reason;
  return "Error";
}

}  // namespace

struct HttpConnection {
  enum class Doing : uint8_t { kReading, kWaiting, kAnswering, kClosing };

  record::Socket socket;
  std::unique_ptr<Channel> channel;
  Doing doing = Doing::kReading;
  Clock::time_point until;
  std::string input;
  size_t head_bytes = 0, body_bytes = 0;  ///< of the request that is read; 0: no head yet
  HttpRequest head;
  std::string head_out;  ///< of the answer
  std::shared_ptr<const std::string> body_out;
  size_t sent = 0, thrown_away = 0;
  bool keep = true;  ///< for another request
};

namespace {

bool wants_to_stay(const HttpRequest& head) {
  return !head.http_1_0 && ::strcasecmp(head.connection.c_str(), "close") != 0;
}

}  // namespace

HttpAnswer plain_answer(int status, std::string text) {
  return {status, "text/plain", std::make_shared<const std::string>(std::move(text)), {}};
}

struct HttpServer::State {
  record::Listener listener;
  ChannelMaker make_channel;
  HttpHandler& handler;
  record::Socket poll;
  std::unordered_map<uint64_t, HttpConnection> connections;
  uint64_t latest = kListener;
  size_t waiting_bytes = 0;  ///< in all `input`s
  bool deaf = false;         ///< to who comes: no descriptor is left

  bool watch(int socket, uint64_t number, uint32_t events, int change) const;
  void accept();
  void hear_again();
  bool go_on(uint64_t number, HttpConnection& at);
  bool read(HttpConnection& at);
  bool read_requests(uint64_t number, HttpConnection& at);
  bool begin(HttpConnection& at);
  bool refuse_head(HttpConnection& at, const std::optional<HttpAnswer>& why);
  void set_answer(HttpConnection& at, const HttpAnswer& answer);
  bool write(uint64_t number, HttpConnection& at);
  bool throw_away(HttpConnection& at) const;
  void take_off(HttpConnection& at, size_t bytes);
  void close(uint64_t number);
  void close_late(Clock::time_point now);
  void turn(int patience_ms);
};

bool HttpServer::State::watch(int socket, uint64_t number, uint32_t events, int change) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  return ::epoll_ctl(poll.get(), change, socket, &event) == 0;
}

void HttpServer::State::accept() {
  for (;;) {
    record::Socket socket(
        ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
      // Who comes stays in line, and would be told of again and again.
      deaf = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (deaf) watch(listener.socket.get(), kListener, 0, EPOLL_CTL_MOD);
      return;
    }
    if (connections.size() >= kMostConnections) continue;  // closed again
    const uint64_t number = ++latest;
    if (!watch(socket.get(), number, EPOLLIN, EPOLL_CTL_ADD)) continue;
    HttpConnection& made = connections[number];
    made.channel = make_channel(socket.get());
    made.socket = std::move(socket);
    made.until = Clock::now() + kRequestTime;
  }
}

void HttpServer::State::hear_again() {
  if (deaf) deaf = !watch(listener.socket.get(), kListener, EPOLLIN, EPOLL_CTL_MOD);
}

void HttpServer::State::take_off(HttpConnection& at, size_t bytes) {
  at.input.erase(0, bytes);
  waiting_bytes -= bytes;
}

void HttpServer::State::close(uint64_t number) {
  const auto at = connections.find(number);
  if (at == connections.end()) return;
  waiting_bytes -= at->second.input.size();
  connections.erase(at);
}

void HttpServer::State::set_answer(HttpConnection& at, const HttpAnswer& answer) {
  at.head_out = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nX-Content-Type-Options: "
      "nosniff\r\nCache-Control: no-store\r\n{}{}\r\n",
      answer.status, reason_of(answer.status), answer.type, answer.body->size(), answer.headers,
      at.keep ? "" : "Connection: close\r\n");
  at.body_out = answer.body;
  if (at.head.method == "HEAD") at.body_out = std::make_shared<const std::string>();
  at.sent = 0;
  at.doing = HttpConnection::Doing::kAnswering;
  at.until = Clock::now() + kAnswerTime;
}

/// Answers by the head alone. What follows of such a request is not read as another.
bool HttpServer::State::refuse_head(HttpConnection& at, const std::optional<HttpAnswer>& why) {
  if (!why) return true;
  at.keep = false;
  set_answer(at, *why);
  return false;
}

/// Looks at a request's head, once. False: it is answered already.
bool HttpServer::State::begin(HttpConnection& at) {
  const auto parsed = record::parse_request(std::string_view(at.input).substr(0, at.head_bytes));
  if (!parsed) return refuse_head(at, plain_answer(400, "no HTTP request\n"));
  at.head = *parsed;
  at.keep = wants_to_stay(at.head);
  if (!at.head.transfer_encoding.empty())
    return refuse_head(at, plain_answer(411, "a Content-Length is expected\n"));
  const auto length =
      at.head.content_length.empty() ? 0 : base::parse_integer(at.head.content_length);
  if (!length || *length < 0) return refuse_head(at, plain_answer(400, "no Content-Length\n"));
  if (*length > static_cast<int64_t>(kMostBodyBytes))
    return refuse_head(at, plain_answer(413, "more bytes than are read\n"));
  at.body_bytes = static_cast<size_t>(*length);
  return refuse_head(at, handler.refuse(at.head));
}

bool HttpServer::State::read(HttpConnection& at) {
  std::array<char, 16384> piece;
  const size_t most = kMostHeadBytes + kMostBodyBytes;
  while (at.input.size() <= most) {
    const ssize_t got = at.channel->read(piece.data(), piece.size());
    if (record::must_wait(got)) return true;
    if (got <= 0) return false;
    if (at.input.empty()) at.until = Clock::now() + kRequestTime;
    at.input.append(piece.data(), static_cast<size_t>(got));
    waiting_bytes += static_cast<size_t>(got);
    if (waiting_bytes > kMostWaitingBytes) {
      refuse_head(at, plain_answer(503, "too many requests at once\n"));
      take_off(at, at.input.size());
      return true;
    }
  }
  return true;
}

/// As far as whole requests are there; false: it is over.
bool HttpServer::State::read_requests(uint64_t number, HttpConnection& at) {
  while (at.doing == HttpConnection::Doing::kReading) {
    if (at.head_bytes == 0) {
      at.head_bytes = record::head_length(at.input);
      if (at.head_bytes == 0 && at.input.size() <= kMostHeadBytes) return true;
      if (at.head_bytes == 0 || at.head_bytes > kMostHeadBytes)
        refuse_head(at, plain_answer(431, "a head of more bytes than are read\n"));
      else
        begin(at);
    }
    if (at.doing == HttpConnection::Doing::kReading) {
      const size_t whole = at.head_bytes + at.body_bytes;
      if (at.input.size() < whole) return true;
      at.doing = HttpConnection::Doing::kWaiting;
      at.until = Clock::time_point::max();
      const auto body = std::string_view(at.input).substr(at.head_bytes, at.body_bytes);
      const auto answer = handler.handle(at.head, body, number);
      take_off(at, whole);
      if (answer) set_answer(at, *answer);
    } else {
      take_off(at, at.input.size());
    }
    if (at.doing == HttpConnection::Doing::kAnswering && !write(number, at)) return false;
  }
  return true;
}

/// As far as it goes without waiting; false: it is over.
bool HttpServer::State::write(uint64_t number, HttpConnection& at) {
  const size_t head = at.head_out.size(), all = head + at.body_out->size();
  while (at.sent < all) {
    const std::string& from = at.sent < head ? at.head_out : *at.body_out;
    const size_t offset = at.sent < head ? at.sent : at.sent - head;
    const bool more = at.sent < head && all > head;
    const ssize_t put = at.channel->write(from.data() + offset, from.size() - offset, more);
    if (record::must_wait(put)) return watch(at.socket.get(), number, EPOLLOUT, EPOLL_CTL_MOD);
    if (put <= 0) return false;
    at.sent += static_cast<size_t>(put);
  }
  at.body_out.reset();
  at.head_bytes = at.body_bytes = 0;
  at.doing = at.keep ? HttpConnection::Doing::kReading : HttpConnection::Doing::kClosing;
  at.until = Clock::now() + (at.keep ? kIdleTime : kRequestTime);
  if (!at.keep) at.channel->end();
  return watch(at.socket.get(), number, EPOLLIN, EPOLL_CTL_MOD);
}

/// Closing first would take the answer from a client that still sends.
bool HttpServer::State::throw_away(HttpConnection& at) const {
  std::array<char, 16384> piece;
  const ssize_t got = ::recv(at.socket.get(), piece.data(), piece.size(), 0);
  if (got > 0) at.thrown_away += static_cast<size_t>(got);
  return (got > 0 && at.thrown_away <= kMostBodyBytes) || record::must_wait(got);
}

bool HttpServer::State::go_on(uint64_t number, HttpConnection& at) {
  switch (at.doing) {
    case HttpConnection::Doing::kReading:
      return read(at) && (at.doing == HttpConnection::Doing::kReading || write(number, at)) &&
             read_requests(number, at);
    case HttpConnection::Doing::kWaiting: {
      // Whoever sends more before the answer waits; whoever hung up goes.
      char next = 0;
      const ssize_t got = ::recv(at.socket.get(), &next, 1, MSG_PEEK);
      if (got > 0) return watch(at.socket.get(), number, 0, EPOLL_CTL_MOD);
      return record::must_wait(got);
    }
    case HttpConnection::Doing::kAnswering: return write(number, at) && read_requests(number, at);
    case HttpConnection::Doing::kClosing: return throw_away(at);
  }
  return false;
}

void HttpServer::State::close_late(Clock::time_point now) {
  std::vector<uint64_t> late;
  for (const auto& [number, at] : connections)
    if (now >= at.until) late.push_back(number);
  for (const uint64_t number : late) close(number);
}

void HttpServer::State::turn(int patience_ms) {
  std::array<epoll_event, kEvents> events;
  const int count = ::epoll_wait(poll.get(), events.data(), kEvents, patience_ms);
  for (int i = 0; i < count; ++i) {
    const uint64_t number = events[static_cast<size_t>(i)].data.u64;
    if (number == kListener) {
      accept();
      continue;
    }
    const auto at = connections.find(number);
    if (at == connections.end()) continue;
    try {
      if (!go_on(number, at->second)) close(number);
    } catch (const std::bad_alloc&) {
      close(number);  // its client asks again
    }
  }
}

HttpServer::HttpServer(record::Listener listener, ChannelMaker make_channel, HttpHandler& handler)
    : state_(new State{.listener = std::move(listener),
                       .make_channel = std::move(make_channel),
                       .handler = handler,
                       .poll = record::Socket(::epoll_create1(EPOLL_CLOEXEC)),
                       .connections = {}}) {}
HttpServer::~HttpServer() = default;

Result<void> HttpServer::run(const std::function<bool()>& stop) {
  State& state = *state_;
  if (!state.watch(state.listener.socket.get(), kListener, EPOLLIN, EPOLL_CTL_ADD))
    return missing_error("cannot wait for connections: {}", ::strerror(errno));
  auto looked = Clock::now();
  while (!stop()) {
    const auto now = Clock::now();
    const auto wanted = std::min(state.handler.look(now), now + kLook);
    if (now - looked >= kLook) {
      state.close_late(now);
      state.hear_again();
      looked = now;
    }
    const auto patience = std::chrono::ceil<std::chrono::milliseconds>(wanted - Clock::now());
    state.turn(static_cast<int>(std::max<int64_t>(0, patience.count())));
  }
  return {};
}

void HttpServer::answer(Ticket ticket, const HttpAnswer& answer) {
  const auto at = state_->connections.find(ticket);
  if (at == state_->connections.end() || at->second.doing != HttpConnection::Doing::kWaiting)
    return;
  state_->set_answer(at->second, answer);
  if (!state_->write(ticket, at->second) || !state_->read_requests(ticket, at->second))
    state_->close(ticket);
}

size_t HttpServer::connections() const { return state_->connections.size(); }

}  // namespace ergometer::serve
