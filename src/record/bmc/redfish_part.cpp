// Stands in for redfish_client.cpp in the program, which loads it, and OpenSSL with it, when a
// controller is to be asked.
#include "base/program_part.h"
#include "record/bmc/redfish_client.h"

namespace ergometer::record {

Result<std::unique_ptr<RedfishClient>> redfish_client(const RedfishOptions& options) {
  return base::make_in_part<std::unique_ptr<RedfishClient>>("redfish", kMakeRedfish, options);
}

}  // namespace ergometer::record
