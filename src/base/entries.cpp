#include "base/entries.h"

#include <system_error>

namespace ergometer::base {

void for_each_entry(const std::string& folder,
                    const std::function<void(const std::filesystem::path&)>& take) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    take(at->path());
}

}  // namespace ergometer::base
