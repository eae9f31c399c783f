// The part "tls" of the program, with tls_channel.cpp.
#include "serve/channel.h"

extern "C" __attribute__((visibility("default"))) void ergometer_make_tls(
    const std::string& certificate, const std::string& key, const std::string& authorities,
    ergometer::Result<ergometer::serve::ChannelMaker>& made) {
  made = ergometer::serve::tls_channels(certificate, key, authorities);
}
