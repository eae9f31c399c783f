// The part "push" of the program, with push_client.cpp.
#include "record/push/push_client.h"

extern "C" __attribute__((visibility("default"))) void ergometer_make_push(
    const ergometer::record::PushTarget& target,
    ergometer::Result<std::unique_ptr<ergometer::record::PushClient>>& made) {
  made = ergometer::record::push_client(target);
}
