// The part "redfish" of the program, with redfish_client.cpp.
#include "record/bmc/redfish_part.h"

namespace ergometer::record {
namespace {

class Connection : public RedfishConnection {
 public:
  explicit Connection(RedfishClient client) : client_(std::move(client)) {}
  base::Result<std::string> get(const std::string& path) override { return client_.get(path); }

 private:
  RedfishClient client_;
};

base::Result<std::unique_ptr<RedfishConnection>> connect(const RedfishOptions& options) {
  ERGOMETER_ASSIGN(RedfishClient client, RedfishClient::make(options));
  return std::make_unique<Connection>(std::move(client));
}

}  // namespace
}  // namespace ergometer::record

extern "C" __attribute__((visibility("default"))) void ergometer_connect_redfish(
    const ergometer::record::RedfishOptions& options,
    ergometer::base::Result<std::unique_ptr<ergometer::record::RedfishConnection>>& made) {
  made = ergometer::record::connect(options);
}
