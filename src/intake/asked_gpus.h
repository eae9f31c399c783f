#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// How many GPUs a file asks for, and where; 0: it does not say.
struct AskedGpus {
  int64_t gpus = 0;
  std::string where, key;
  bool starts_all = true;  ///< every one of them has a process
  std::string open{};      ///< not empty: why the number is not known
};

/// Sets them where every one has a process, or leaves them open where their number is. Refused: a
/// command that starts another number.
Result<void> take_gpus(const AskedGpus& asked, Reading& reading);

}  // namespace ergometer::intake
