#include <sys/socket.h>

#include "serve/channel.h"

namespace ergometer::serve {
namespace {

class PlainChannel : public Channel {
 public:
  explicit PlainChannel(int socket) : socket_(socket) {}
  ssize_t read(char* to, size_t size) override { return ::recv(socket_, to, size, 0); }
  ssize_t write(const char* from, size_t size, bool more) override {
    return ::send(socket_, from, size, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
  }
  void end() override { ::shutdown(socket_, SHUT_WR); }

 private:
  int socket_;
};

}  // namespace

std::unique_ptr<Channel> plain_channel(int socket) {
  return std::make_unique<PlainChannel>(socket);
}

}  // namespace ergometer::serve
