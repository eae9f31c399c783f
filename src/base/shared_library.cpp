#include "base/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ergometer::base {

Result<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& names, const char* hint) {
  for (const std::string& name : names) {
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    SharedLibrary library;
    library.name_ = name;
    library.handle_ = std::shared_ptr<void>(handle, [](void* it) { dlclose(it); });
    return library;
  }
  return missing_error("this machine lacks {}: {}", fmt::join(names, ", "), hint);
}

Result<void*> SharedLibrary::address(const char* symbol) const {
  if (void* const found = dlsym(handle_.get(), symbol)) return found;
  return missing_error("{} lacks {}: too old a driver", name_, symbol);
}

}  // namespace ergometer::base
