#include "cli/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/text.h"

namespace ergometer::cli {

Flag threads_flag() {
  return {"threads", "",        Flag::Takes::kValue,
          "N",       "running", "rows at a time; by default one a processor",
          {}};
}

base::Result<size_t> thread_count(const Arguments& arguments) {
  constexpr int64_t kMost = 1024;
  if (!arguments.has("threads")) return std::max(1u, std::thread::hardware_concurrency());
  const auto number = base::parse_integer(arguments.value("threads"));
  if (!number || *number < 1 || *number > kMost)
    return base::input_error(fmt::format("--threads: '{}' is not a number of threads from 1 to {}",
                                         arguments.value("threads"), kMost));
  return static_cast<size_t>(*number);
}

}  // namespace ergometer::cli
