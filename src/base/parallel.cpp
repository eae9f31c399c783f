#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace ergometer::base {

void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  const auto take_turns = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take_turns);
  take_turns();
}

}  // namespace ergometer::base
