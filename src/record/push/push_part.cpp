// Stands in for push_client.cpp in the program, which loads it, and OpenSSL with it, when readings
// are to be pushed.
#include "base/program_part.h"
#include "record/push/push_client.h"

namespace ergometer::record {

Result<std::unique_ptr<PushClient>> push_client(const PushTarget& target) {
  return base::make_in_part<std::unique_ptr<PushClient>>("push", kMakePush, target);
}

}  // namespace ergometer::record
