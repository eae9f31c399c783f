#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "base/shared_library.h"
#include "record/amd/sensors.h"
#include "record/call_costs.h"

namespace ergometer::record::amd {

/// What a function that the library lacks returns; no status of AMD SMI or ROCm SMI is negative.
inline constexpr int kMissing = -1;

/// A function of the library, by the name under which it is found and its calls are counted.
template <class... Arguments>
struct Call {
  const char* name;
  int (*function)(Arguments...) = nullptr;

  int operator()(Arguments... arguments) const { return function(arguments...); }
  int timed(CallCosts& costs, Arguments... arguments) const {
    return costs.timed(costs.slot(name), [&] { return function(arguments...); });
  }
};

/// Finds functions that every release has.
template <class... Calls>
Result<void> find(const base::SharedLibrary& library, Calls&... calls) {
  Result<void> found;
  ((found = found ? library.find(calls.name, calls.function) : found), ...);
  return found;
}

/// Finds functions that releases lack: there their calls return kMissing.
template <class... Calls>
void find_if_there(const base::SharedLibrary& library, Calls&... calls) {
  const auto find_one = [&]<class... Arguments>(Call<Arguments...>& call) {
    library.find_if_there(call.name, call.function);
    if (call.function == nullptr) call.function = [](Arguments...) { return kMissing; };
  };
  (find_one(calls), ...);
}

/// What an answer is worth: N/A is read as no number.
inline Status status_of(int answer, int good, int refused, const Value& value) {
  if (answer == refused) return Status::kRefused;
  return answer == good && !std::isnan(value.value) ? Status::kGood : Status::kNone;
}

/// The energy counter, which both libraries have: its counts, what one is worth, and when.
int read_energy(const auto& call, CallCosts& costs, auto gpu, Value& value) {
  uint64_t count = 0, time_ns = 0;
  float microjoules = 0;
  const int status = call.timed(costs, gpu, &count, &microjoules, &time_ns);
  value.value =
      count == UINT64_MAX ? NAN : static_cast<double>(count) * joules_per_count(microjoules);
  value.boot_time_ns = static_cast<int64_t>(time_ns);
  return status;
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
