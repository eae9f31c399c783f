// The part "push" of the program, with push_client.cpp.
#include "record/push_part.h"

namespace ergometer::record {
namespace {

class PushConnectionOf : public PushConnection {
 public:
  explicit PushConnectionOf(PushClient client) : client_(std::move(client)) {}
  base::Result<PushAnswer> post(const std::string& lines) override { return client_.post(lines); }

 private:
  PushClient client_;
};

base::Result<std::unique_ptr<PushConnection>> connect_push(const std::string& url,
                                                           const std::string& token) {
  ERGOMETER_ASSIGN(PushClient client, PushClient::make(url, token));
  return std::make_unique<PushConnectionOf>(std::move(client));
}

}  // namespace
}  // namespace ergometer::record

extern "C" __attribute__((visibility("default"))) void ergometer_connect_push(
    const std::string& url, const std::string& token,
    ergometer::base::Result<std::unique_ptr<ergometer::record::PushConnection>>& made) {
  made = ergometer::record::connect_push(url, token);
}
