// The part "redfish" of the program, with redfish_client.cpp.
#include "record/bmc/redfish_client.h"

extern "C" __attribute__((visibility("default"))) void ergometer_make_redfish(
    const ergometer::record::RedfishOptions& options,
    ergometer::Result<std::unique_ptr<ergometer::record::RedfishClient>>& made) {
  made = ergometer::record::redfish_client(options);
}
