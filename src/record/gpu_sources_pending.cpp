// Stands in for the folders nvml/ and amd/; goes when they come.
#include "record/sources.h"

namespace ergometer::record {

Opened open_amd(const SourceOptions&) {
  return tl::unexpected(base::Error{base::ErrorKind::kMissing, "not built in"});
}

}  // namespace ergometer::record
