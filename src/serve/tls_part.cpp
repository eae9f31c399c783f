// Stands in for tls_channel.cpp in the program, which loads it, and OpenSSL with it, when readings
// are to be taken over TLS.
#include "base/program_part.h"
#include "serve/channel.h"

namespace ergometer::serve {

Result<ChannelMaker> tls_channels(const std::string& certificate, const std::string& key,
                                  const std::string& authorities) {
  return base::make_in_part<ChannelMaker>("tls", kMakeTls, certificate, key, authorities);
}

}  // namespace ergometer::serve
