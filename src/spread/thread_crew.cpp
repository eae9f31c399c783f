#include "base/parallel.h"
#include "spread/pool.h"

namespace ergometer::spread {
namespace {

class ThreadCrew : public Crew {
 public:
  Result<void> run(const Task& task) override {
    Pool pool(task);
    const size_t threads = std::max<size_t>(1, std::min(task.threads, task.pieces.size()));
    base::parallel_for(threads, threads, [&](size_t) {
      try {
        const Worker work = task.worker();
        while (const auto piece = pool.next()) pool.answer(*piece, work(*piece));
      } catch (...) {
        pool.end();  // the other threads end, too, and what they answered is kept
        throw;
      }
    });
    return pool.result();
  }
};

}  // namespace

std::unique_ptr<Crew> thread_crew() { return std::make_unique<ThreadCrew>(); }

}  // namespace ergometer::spread
