#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ergometer::base {

void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr problem;
  const auto take_turns = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::scoped_lock lock(mutex);
      if (!problem) problem = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take_turns);
    } catch (const std::exception&) {
      // The machine has no room for so many threads: those that there are do the work.
    }
    take_turns();
  }
  if (problem) std::rethrow_exception(problem);
}

}  // namespace ergometer::base
