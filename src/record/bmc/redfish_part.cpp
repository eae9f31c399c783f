// Stands in for redfish_client.cpp in the program, which loads it, and OpenSSL with it, when a
// controller is to be asked.
#include "record/bmc/redfish_part.h"

#include "base/program_part.h"

namespace ergometer::record {

struct RedfishClient::State {
  std::unique_ptr<RedfishConnection> connection;
};

RedfishClient::RedfishClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
RedfishClient::RedfishClient(RedfishClient&&) noexcept = default;
RedfishClient::~RedfishClient() = default;

base::Result<RedfishClient> RedfishClient::make(const RedfishOptions& options) {
  ERGOMETER_ASSIGN(ConnectRedfish* const connect,
                   base::load_from_part<ConnectRedfish>("redfish", kConnectRedfish));
  base::Result<std::unique_ptr<RedfishConnection>> made;
  connect(options, made);
  ERGOMETER_ASSIGN(auto connection, std::move(made));
  return RedfishClient(std::make_unique<State>(State{std::move(connection)}));
}

base::Result<std::string> RedfishClient::get(const std::string& path) {
  return state_->connection->get(path);
}

}  // namespace ergometer::record
