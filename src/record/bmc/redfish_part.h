#pragma once

#include "record/bmc/redfish_client.h"

namespace ergometer::record {

/// A RedfishClient behind an interface.
class RedfishConnection {
 public:
  virtual ~RedfishConnection() = default;
  virtual base::Result<std::string> get(const std::string& path) = 0;
};

/// What the part "redfish" exports under the name kConnectRedfish.
inline constexpr const char* kConnectRedfish = "ergometer_connect_redfish";
using ConnectRedfish = void(const RedfishOptions&,
                            base::Result<std::unique_ptr<RedfishConnection>>& made);

}  // namespace ergometer::record
