#pragma once

#include <string>

#include "report/summary/summary_text.h"
#include "study/proxy/proxy.h"

namespace ergometer::study::proxy {

/// Both jobs, what limits them side by side, and what the small one cannot keep.
std::string proxy_text(const Proxy& proxy, const report::TextStyle& style);

/// The same as a JSON document; docs/json.md has its names.
std::string proxy_json(const Proxy& proxy);

}  // namespace ergometer::study::proxy
