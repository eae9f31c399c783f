#include "base/program_part.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

namespace ergometer::base {
namespace {

tl::unexpected<Error> cannot_load(const char* part, const std::string& why) {
  return missing_error("the program's part '{}' cannot be loaded: {}", part, why);
}

}  // namespace

Result<void*> find_in_part(const char* part, const char* function) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return cannot_load(part, error.message());
  const fs::path folder = program.parent_path();
  const std::string file = fmt::format("lib/ergometer/{}.so", part);
  for (const fs::path& path : {folder / file, folder.parent_path() / file}) {
    if (!fs::exists(path, error)) continue;
    // Global: plugins of what it links look for their library's names. Never closed: what it made
    // lives as long as its users.
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return cannot_load(part, dlerror());
    if (void* const found = dlsym(handle, function)) return found;
    return cannot_load(part, fmt::format("{} is of another version", path.string()));
  }
  return cannot_load(part,
                     fmt::format("{} is missing beside {} and its folder", file, program.string()));
}

}  // namespace ergometer::base
