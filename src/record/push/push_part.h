#pragma once

#include "record/push/push_client.h"

namespace ergometer::record {

/// A PushClient behind an interface.
class PushConnection {
 public:
  virtual ~PushConnection() = default;
  virtual base::Result<PushAnswer> post(const std::string& lines) = 0;
};

/// What the part "push" exports under the name kConnectPush.
inline constexpr const char* kConnectPush = "ergometer_connect_push";
using ConnectPush = void(const PushTarget& target,
                         base::Result<std::unique_ptr<PushConnection>>& made);

}  // namespace ergometer::record
