#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace ergometer::base {

/// Calls `take` with every path in a folder, in the file system's order; with none where it cannot
/// be read, and with those so far where that fails on the way, as it may on a network's.
void for_each_entry(const std::string& folder,
                    const std::function<void(const std::filesystem::path&)>& take);

}  // namespace ergometer::base
