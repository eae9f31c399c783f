#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "run/gpu_trace.h"

namespace ergometer::engine {

/// A stretch in which a rank's compute stream waits, and for whom or what.
struct NamedWait {
  int64_t from_ns = 0, to_ns = 0;
  std::string what;
};

/// Puts waits into the gaps of a compute stream: `work` in order of time without overlaps, of a
/// step of `step_ns`. A gap that no wait explains is the host's, which has not launched yet; behind
/// the last work it is the end of the step, which others are still at. Afterwards durations add up
/// to the step.
void fill_gaps(const std::vector<NamedWait>& waits, int64_t step_ns,
               std::vector<run::PipelineTask>& work);

/// Which stages are at the ends of a plan's messages, by the message's number.
class MessageEnds {
 public:
  explicit MessageEnds(const plan::Plan& plan);
  int64_t from(int32_t message) const { return ends_[static_cast<size_t>(message)].from; }
  int64_t to(int32_t message) const { return ends_[static_cast<size_t>(message)].to; }

 private:
  struct Ends {
    int64_t from = -1, to = -1;
  };
  std::vector<Ends> ends_;
};

/// Tells, along one rank's program, what its compute stream waits for.
class WaitNames {
 public:
  WaitNames(const plan::Plan& plan, const MessageEnds& ends);
  /// Each instruction in order, those of other streams as well.
  void follow(const plan::Instruction& it);
  /// Of a message, a join or a wait: "stage 2", "send to stage 2", or the operator's name.
  std::string name(const plan::Instruction& it) const;

 private:
  std::string message_name(int32_t message, bool sends) const;

  const plan::Plan& plan_;
  const MessageEnds& ends_;
  /// The last message of every stream, and that of every event; the instruction, or null.
  std::vector<const plan::Instruction*> by_stream_, by_event_;
};

}  // namespace ergometer::engine
