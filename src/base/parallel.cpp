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
  std::once_flag first;
  std::exception_ptr thrown;
  const auto take_turns = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      std::call_once(first, [&] { thrown = std::current_exception(); });
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take_turns);
    take_turns();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace ergometer::base
