// The part "push" of the program, with push_client.cpp.
#include "record/push/push_part.h"

namespace ergometer::record {
namespace {

class PushConnectionOf : public PushConnection {
 public:
  explicit PushConnectionOf(PushClient client) : client_(std::move(client)) {}
  base::Result<PushAnswer> post(const std::string& lines) override { return client_.post(lines); }

 private:
  PushClient client_;
};

base::Result<std::unique_ptr<PushConnection>> connect_push(const PushTarget& target) {
  ERGOMETER_ASSIGN(PushClient client, PushClient::make(target));
  return std::make_unique<PushConnectionOf>(std::move(client));
}

}  // namespace
}  // namespace ergometer::record

extern "C" __attribute__((visibility("default"))) void ergometer_connect_push(
    const ergometer::record::PushTarget& target,
    ergometer::base::Result<std::unique_ptr<ergometer::record::PushConnection>>& made) {
  made = ergometer::record::connect_push(target);
}
