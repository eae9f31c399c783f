#include "record/metrics/metrics_server.h"

#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <thread>

namespace ergometer::record {
namespace {

MetricsPage echo(std::string_view accept) {
  return {"text/plain; version=0.0.4; charset=utf-8", "accept " + std::string(accept) + "\n"};
}

Result<MetricsServer> start(const std::string& listen) {
  return MetricsServer::start(listen, echo);
}

httplib::Client client(const MetricsServer& server) {
  return httplib::Client("http://" + server.address());
}

TEST(MetricsServer, ServesItsPages) {
  const auto server = start("127.0.0.1:0");
  ASSERT_TRUE(server) << server.error().message;
  auto http = client(*server);
  const auto metrics = http.Get("/metrics", {{"Accept", "x/y"}});
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->status, 200);
  EXPECT_EQ(metrics->body, "accept x/y\n");
  EXPECT_EQ(metrics->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(http.Get("/healthz")->body, "ok\n");
  EXPECT_NE(http.Get("/")->body.find("href=\"/metrics\""), std::string::npos);
  EXPECT_EQ(http.Get("/other")->status, 404);
  const auto head = http.Head("/metrics");
  EXPECT_EQ(head->status, 200);
  EXPECT_TRUE(head->body.empty());
  EXPECT_NE(http.Post("/metrics", "x", "text/plain")->status, 200);
}

TEST(MetricsServer, ClientsThatKeepTheirConnectionLeaveRoomForOthers) {
  const auto server = start("127.0.0.1:0");
  ASSERT_TRUE(server);
  std::vector<httplib::Client> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(client(*server));
    clients.back().set_keep_alive(true);
    clients.back().set_read_timeout(4);
    const auto answer = clients.back().Get("/healthz");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
  }
}

int connect_to(const MetricsServer& server) {
  const int port = std::stoi(server.address().substr(server.address().rfind(':') + 1));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

/// Asks and goes away without waiting.
void ask_and_leave(const MetricsServer& server) {
  const int socket = connect_to(server);
  constexpr std::string_view kRequest = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_GT(::write(socket, kRequest.data(), kRequest.size()), 0);
  ::close(socket);
}

TEST(MetricsServer, AClientThatLeavesEndsNothing) {
  // A server of another test may have left it ignored.
  struct sigaction as_ever = {};
  as_ever.sa_handler = SIG_DFL;
  ASSERT_EQ(::sigaction(SIGPIPE, &as_ever, nullptr), 0);
  const auto server = MetricsServer::start("127.0.0.1:0", [](std::string_view) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    constexpr size_t kMuch = 4 << 20;
    return MetricsPage{"application/octet-stream", std::string(kMuch, 'x')};
  });
  ASSERT_TRUE(server);
  for (int i = 0; i < 5; ++i) ask_and_leave(*server);
  EXPECT_TRUE(client(*server).Get("/healthz"));
  // Programs that this one starts get the signal as ever.
  struct sigaction now = {};
  ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(MetricsServer, APageWithoutMemoryCostsItsClientsOnly) {
  const auto server = MetricsServer::start(
      "127.0.0.1:0", [](std::string_view) -> MetricsPage { throw std::bad_alloc(); });
  ASSERT_TRUE(server);
  EXPECT_FALSE(client(*server).Get("/metrics"));
  EXPECT_TRUE(client(*server).Get("/healthz"));
}

/// Sends the beginning of a request and then a byte every 50 ms, as long as it is let, at most 8 s.
class SlowClient {
 public:
  explicit SlowClient(const MetricsServer& server)
      : socket_(connect_to(server)), thread_([this](const std::stop_token& stop) {
          std::string_view text = "GET /metrics HTTP/1.1\r\nX: ";
          for (int i = 0; i < 160 && !stop.stop_requested(); ++i) {
            if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return;
            text = "x";
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
          }
        }) {}
  ~SlowClient() {
    thread_.request_stop();
    thread_.join();
    ::close(socket_);
  }
  int socket() const { return socket_; }

 private:
  int socket_;
  std::jthread thread_;
};

double seconds_of(const std::function<void()>& action) {
  const auto from = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

TEST(MetricsServer, ItsEndWaitsForNoClient) {
  std::optional<MetricsServer> server = *start("127.0.0.1:0");
  const SlowClient slow(*server), slower(*server);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(seconds_of([&] { server.reset(); }), 2);
}

TEST(MetricsServer, SlowClientsLeaveRoomForOthers) {
  const auto server = start("127.0.0.1:0");
  ASSERT_TRUE(server);
  const SlowClient a(*server), b(*server), c(*server);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  auto http = client(*server);
  http.set_read_timeout(2);
  const auto answer = http.Get("/healthz");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "ok\n");
}

TEST(MetricsServer, ARequestHasItsTimeHoweverManyBytesCome) {
  const auto server = MetricsServer::start("127.0.0.1:0", echo, std::chrono::milliseconds(300));
  ASSERT_TRUE(server);
  const SlowClient slow(*server);
  char byte = 0;
  EXPECT_LT(seconds_of([&] { EXPECT_LE(::recv(slow.socket(), &byte, 1, 0), 0); }), 3);
}

TEST(MetricsServer, EndlessHeadersAreRefused) {
  const auto server = start("127.0.0.1:0");
  ASSERT_TRUE(server);
  const int socket = connect_to(*server);
  const std::string headers = "GET /metrics HTTP/1.1\r\n" + std::string(12000, 'x');
  ASSERT_GT(::send(socket, headers.data(), headers.size(), MSG_NOSIGNAL), 0);
  std::string answer(12, ' ');
  ASSERT_EQ(::recv(socket, answer.data(), answer.size(), MSG_WAITALL), 12);
  EXPECT_EQ(answer, "HTTP/1.1 431");
  ::close(socket);
}

TEST(MetricsServer, IdleConnectionsTakeFewDescriptors) {
  const auto server = start("127.0.0.1:0");
  ASSERT_TRUE(server);
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  std::vector<int> sockets;
  constexpr int kMany = 61;
  for (int i = 0; i < kMany; ++i) sockets.push_back(connect_to(*server));
  EXPECT_TRUE(client(*server).Get("/healthz"));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LE(open_files() - before, kMany + static_cast<int>(MetricsServer::kMostConnections) + 1);
  for (const int socket : sockets) ::close(socket);
}

TEST(MetricsServer, AnAddressInUse) {
  const auto first = start("127.0.0.1:0");
  ASSERT_TRUE(first);
  const auto second = start(first->address());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, base::ErrorKind::kMissing);
  EXPECT_EQ(second.error().message,
            "cannot listen at " + first->address() + ": Address already in use");
}

TEST(MetricsServer, IsThereAgainAtTheSameAddress) {
  std::string address;
  {
    const auto first = start("127.0.0.1:0");
    ASSERT_TRUE(first);
    address = first->address();
    EXPECT_TRUE(client(*first).Get("/healthz"));
  }
  EXPECT_TRUE(start(address));
}

TEST(MetricsServer, StopsBeforeItBegan) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(start("127.0.0.1:0"));
}

TEST(MetricsServer, AddressesThatAreNone) {
  for (const char* listen : {"", "9400", "localhost", "127.0.0.1:", "127.0.0.1:x", "::1:9400",
                             "127.0.0.1:65536", "127.0.0.1:-1"}) {
    const auto server = start(listen);
    ASSERT_FALSE(server) << listen;
    EXPECT_EQ(server.error().kind, base::ErrorKind::kInput) << listen;
  }
  const auto elsewhere = start("192.0.2.1:9400");  // an address for documents: nobody's
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().kind, base::ErrorKind::kMissing);
}

}  // namespace
}  // namespace ergometer::record
