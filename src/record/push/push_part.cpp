// Stands in for push_client.cpp in the program, which loads it, and OpenSSL with it, when readings
// are to be pushed.
#include "record/push/push_part.h"

#include "base/program_part.h"

namespace ergometer::record {

struct PushClient::State {
  std::unique_ptr<PushConnection> connection;
};

PushClient::PushClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
PushClient::PushClient(PushClient&&) noexcept = default;
PushClient::~PushClient() = default;

base::Result<PushClient> PushClient::make(const PushTarget& target) {
  ERGOMETER_ASSIGN(ConnectPush* const connect,
                   base::load_from_part<ConnectPush>("push", kConnectPush));
  base::Result<std::unique_ptr<PushConnection>> made;
  connect(target, made);
  ERGOMETER_ASSIGN(auto connection, std::move(made));
  return PushClient(std::make_unique<State>(State{std::move(connection)}));
}

base::Result<PushAnswer> PushClient::post(const std::string& lines) {
  return state_->connection->post(lines);
}

}  // namespace ergometer::record
