#pragma once

#include <string>
#include <vector>

#include "base/shared_library.h"
#include "record/nvml/api.h"

namespace ergometer::record::nvml {

/// NVML, opened and started; stopped again by the destructor. All that this program knows of
/// NVIDIA's driver comes through here.
class Library {
 public:
  /// The first of `names` that opens. Errors are of kind kMissing; `hint` says what it is for.
  static Result<Library> open(const std::vector<std::string>& names, const char* hint);
  Library(Library&& other) noexcept;
  Library& operator=(Library&&) = delete;
  ~Library();

  const Functions& call() const { return call_; }
  /// An error of kind kMissing unless `status` is kSuccess: "NVML: power: GPU is lost".
  Result<void> check(int status, const std::string& what) const;
  std::string text(int status) const { return call_.error_string(status); }
  /// Stops and starts it: GPUs that were reset are found again. Handles from before are no longer
  /// valid.
  Result<void> restart();

 private:
  explicit Library(base::SharedLibrary library) : library_(std::move(library)) {}
  Result<void> find_functions();

  base::SharedLibrary library_;
  Functions call_{};
  bool open_ = false;
};

}  // namespace ergometer::record::nvml
