#pragma once

#include <string>
#include <vector>

#include "workload/shapes.h"
#include "workload/workload.h"

namespace ergometer::workload {

/// Bytes read and written, as long as a kernel that streams would take for them.
struct Moved {
  double bytes = 0;
  double issued = 0;  ///< of them, those of kernels that what the SMs issue binds
  constexpr Moved(double streamed = 0) : bytes(streamed) {}
  constexpr Moved(double all, double by_issue) : bytes(all), issued(by_issue) {}
  friend constexpr Moved operator+(Moved a, Moved b) {
    return {a.bytes + b.bytes, a.issued + b.issued};
  }
  friend constexpr Moved operator*(Moved a, double times) {
    return {a.bytes * times, a.issued * times};
  }
  friend constexpr Moved operator*(double times, Moved a) { return a * times; }
};

/// Appends operators and joins to one of a block's lists. Forward work carries `pass`, so that the
/// same functions write the forward list and everything that is recomputed.
///
///   BlockWriter writer(job, shapes, workload, block.forward, Pass::kForward);
///   writer.memory({Module::kNorm, "input_norm", 4.0 * tokens * hidden});
class BlockWriter {
 public:
  BlockWriter(const spec::Job& job, const Shapes& shapes, Workload& workload,
              std::vector<Item>& list, Pass pass)
      : job_(job), shapes_(shapes), workload_(workload), list_(list), pass_(pass) {}

  const spec::Job& job() const { return job_; }
  const spec::Model& model() const { return job_.model; }
  const Shapes& shapes() const { return shapes_; }
  Pass pass() const { return pass_; }
  /// The same list, written to as recomputation.
  BlockWriter recomputing() const { return {job_, shapes_, workload_, list_, Pass::kRecompute}; }

  /// Issues `op` on `stream`, `times` times in a row.
  void add(Operator op, Stream stream = Stream::kCompute, int64_t times = 1);
  void join(Stream stream, Stream on);

  /// The same list, for a kernel of other shapes.
  BlockWriter shaped(const Shapes& shapes) const { return {job_, shapes, workload_, list_, pass_}; }

  struct Memory {
    Module module;
    std::string name;
    Moved moved;
    int kernels = 1;
    int expert_casts = 0;
    bool inner = false;  ///< launched from inside another operator's call
  };
  /// A kernel bound by memory, in the writer's own pass or in another.
  void memory(Memory work) { memory(std::move(work), pass_); }
  void memory(Memory work, Pass pass);

  struct Collective {
    Module module;
    std::string name;
    CollectiveKind kind;
    GroupKind group;
    double bytes;
    Stream stream = Stream::kCompute;
    TokenRouting routing = {};
    double copied_bytes = 0;  ///< HBM traffic of copies that belong to it
  };
  /// Nothing is written for a group of one rank.
  void collective(Collective work) { collective(std::move(work), pass_); }
  void collective(Collective work, Pass pass);

 private:
  const spec::Job& job_;
  const Shapes& shapes_;
  Workload& workload_;
  std::vector<Item>& list_;
  Pass pass_;
};

}  // namespace ergometer::workload
