#pragma once

#include <utility>

#include "base/shared_library.h"

namespace ergometer::record::amd {

/// What a function that the library lacks returns; no status of AMD SMI or ROCm SMI is negative.
inline constexpr int kMissing = -1;

/// Sets `function` to the symbol, or to one that returns kMissing: other releases have other ones.
template <class... Arguments>
void find(const base::SharedLibrary& library, const char* symbol, int (*&function)(Arguments...)) {
  library.find_if_there(symbol, function);
  if (function == nullptr) function = [](Arguments...) { return kMissing; };
}

/// AMD SMI or ROCm SMI, opened, and shut down once started; its GPUs share it.
template <class Functions>
struct SmiLibrary {
  explicit SmiLibrary(base::SharedLibrary opened) : library(std::move(opened)) {}
  SmiLibrary(const SmiLibrary&) = delete;
  SmiLibrary& operator=(const SmiLibrary&) = delete;
  ~SmiLibrary() {
    if (started) call.shutdown();
  }

  base::SharedLibrary library;
  Functions call{};
  bool started = false;
};

}  // namespace ergometer::record::amd
