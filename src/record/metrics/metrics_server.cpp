#include "record/metrics/metrics_server.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "record/metrics/http_exchange.h"
#include "record/metrics/listener.h"

namespace ergometer::record {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLastAnswers{500};   ///< what is being answered gets it at the end
constexpr milliseconds kNoDescriptor{100};  ///< before one looks for a free one again
constexpr int kBacklog = 16;                ///< accepted at a time

constexpr const char* kIndex =
    "<!doctype html><title>Ergometer</title><h1>Ergometer</h1>\n"
    "<p>Latest readings for Prometheus: <a href=\"/metrics\">/metrics</a></p>\n";

std::string answer_to(std::string_view text, const MetricsServer::Page& page) {
  const auto request = parse_request(text);
  constexpr const char* kPlain = "text/plain";
  if (!request) return http_answer("400 Bad Request", kPlain, "no HTTP request\n", true);
  const bool whole = request->method == "GET";
  if (!whole && request->method != "HEAD")
    return http_answer("405 Method Not Allowed", kPlain, "GET or HEAD\n", true);
  if (request->path == "/metrics") {
    const MetricsPage made = page(request->accept);
    return http_answer("200 OK", made.content_type, made.body, whole);
  }
  if (request->path == "/healthz") return http_answer("200 OK", kPlain, "ok\n", whole);
  if (request->path == "/") return http_answer("200 OK", "text/html; charset=utf-8", kIndex, whole);
  return http_answer("404 Not Found", kPlain, "no such page\n", whole);
}

/// One client: its request is read, answered, and what else it sends thrown away until it closes;
/// closing first would take the answer from a client that still sends.
class Connection {
 public:
  Connection(Socket socket, Clock::time_point until) : socket_(std::move(socket)), until_(until) {}

  pollfd wants() const {
    return {socket_.get(), static_cast<short>(answering() ? POLLOUT : POLLIN), 0};
  }
  bool answering() const { return sent_ < answer_.size(); }
  Clock::time_point until() const { return until_; }

  /// As far as it goes without waiting; false: it is over.
  bool go_on(const MetricsServer::Page& page) {
    if (answer_.empty() && !read_request(page)) return false;
    if (answering()) return write_answer();
    return answer_.empty() || throw_away();
  }

 private:
  bool read_request(const MetricsServer::Page& page) {
    std::array<char, 4096> piece;
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), 0);
      if (must_wait(got)) return true;
      if (got <= 0) return false;
      request_.append(piece.data(), static_cast<size_t>(got));
      if (is_whole_request(request_)) {
        answer_ = answer_to(request_, page);
        return true;
      }
      if (request_.size() > MetricsServer::kMostRequestBytes) {
        answer_ = http_answer("431 Request Header Fields Too Large", "text/plain",
                              "a request of more bytes than are read\n", true);
        return true;
      }
    }
  }

  bool write_answer() {
    while (answering()) {
      const ssize_t put =
          ::send(socket_.get(), answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL);
      if (must_wait(put)) return true;
      if (put <= 0) return false;
      sent_ += static_cast<size_t>(put);
    }
    ::shutdown(socket_.get(), SHUT_WR);
    return throw_away();
  }

  bool throw_away() {
    std::array<char, 4096> piece;
    const ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), 0);
    if (got > 0) thrown_away_ += static_cast<size_t>(got);
    constexpr size_t kEnough = size_t{1} << 16;
    return (got > 0 && thrown_away_ < kEnough) || must_wait(got);
  }

  Socket socket_;
  Clock::time_point until_;
  std::string request_, answer_;
  size_t sent_ = 0, thrown_away_ = 0;
};

class Loop {
 public:
  Loop(Socket listener, int wake, MetricsServer::Page page, milliseconds request_time)
      : listener_(std::move(listener)),
        wake_(wake),
        page_(std::move(page)),
        request_time_(request_time) {
    files_.reserve(MetricsServer::kMostConnections + 2);
  }

  void run() {
    while (!ending_ || (answering() && Clock::now() < ends_)) {
      wait();
      try {
        serve(Clock::now());
      } catch (const std::bad_alloc&) {
        // The recording is what matters; clients ask again.
        connections_.clear();
        accepts_from_ = Clock::now() + kNoDescriptor;
      }
    }
  }

 private:
  void serve(Clock::time_point now) {
    std::erase_if(connections_, [&](Connection& connection) {
      return !connection.go_on(page_) || now >= connection.until();
    });
    if (!ending_) accept(now);
  }

  bool answering() const {
    return std::ranges::any_of(connections_,
                               [](const Connection& connection) { return connection.answering(); });
  }

  void wait() {
    files_.clear();
    auto until = ending_ ? ends_ : Clock::time_point::max();
    if (!ending_) files_.push_back({wake_, POLLIN, 0});
    if (!ending_ && Clock::now() >= accepts_from_) files_.push_back({listener_.get(), POLLIN, 0});
    if (Clock::now() < accepts_from_) until = std::min(until, accepts_from_);
    for (const Connection& connection : connections_) {
      files_.push_back(connection.wants());
      until = std::min(until, connection.until());
    }
    int patience_ms = -1;
    if (until != Clock::time_point::max())
      patience_ms = static_cast<int>(
          std::max<int64_t>(0, std::chrono::ceil<milliseconds>(until - Clock::now()).count()));
    ::poll(files_.data(), files_.size(), patience_ms);
    if (!ending_ && files_.front().revents != 0) {
      ending_ = true;
      ends_ = Clock::now() + kLastAnswers;
    }
  }

  void accept(Clock::time_point now) {
    for (int i = 0; i < kBacklog && now >= accepts_from_; ++i) {
      Socket socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.get() < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
          accepts_from_ = now + kNoDescriptor;
        return;
      }
      if (connections_.size() >= MetricsServer::kMostConnections) make_room();
      connections_.emplace_back(std::move(socket), now + request_time_);
      if (!connections_.back().go_on(page_)) connections_.pop_back();
    }
  }

  /// The oldest of those that are not being answered, or the oldest.
  void make_room() {
    const auto idle =
        std::ranges::find_if(connections_, [](const Connection& c) { return !c.answering(); });
    connections_.erase(idle == connections_.end() ? connections_.begin() : idle);
  }

  Socket listener_;
  int wake_;
  MetricsServer::Page page_;
  milliseconds request_time_;
  std::list<Connection> connections_;
  std::vector<pollfd> files_;  ///< as many as there may be: waiting asks for no memory
  bool ending_ = false;
  Clock::time_point ends_, accepts_from_;
};

}  // namespace

struct MetricsServer::State {
  Socket wake;  ///< an event, readable from when the server shall end
  std::string address;
  std::thread thread;

  ~State() {
    if (!thread.joinable()) return;
    const uint64_t one = 1;
    while (::write(wake.get(), &one, sizeof one) < 0 && errno == EINTR) {}
    thread.join();
  }
};

MetricsServer::MetricsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
MetricsServer::MetricsServer(MetricsServer&&) noexcept = default;
MetricsServer& MetricsServer::operator=(MetricsServer&&) noexcept = default;
MetricsServer::~MetricsServer() = default;

const std::string& MetricsServer::address() const { return state_->address; }

Result<MetricsServer> MetricsServer::start(const std::string& listen, Page page,
                                           std::chrono::milliseconds request_time) {
  ERGOMETER_ASSIGN(Listener listener, Listener::open(listen));
  auto state = std::make_unique<State>();
  state->wake = Socket(::eventfd(0, EFD_CLOEXEC));
  if (state->wake.get() < 0)
    return missing_error("cannot listen at {}: {}", listen, ::strerror(errno));
  state->address = listener.address;
  state->thread =
      std::thread([loop = std::make_unique<Loop>(std::move(listener.socket), state->wake.get(),
                                                 std::move(page), request_time)] { loop->run(); });
  return MetricsServer(std::move(state));
}

}  // namespace ergometer::record
