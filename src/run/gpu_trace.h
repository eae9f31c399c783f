#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace ergometer::run {

/// What a GPU event is, by the definitions of docs/guide/read-a-trace.md.
enum class GpuClass : uint8_t {
  kCompute,        ///< kernels, other than those of a collective library
  kCommunication,  ///< kernels whose name holds "nccl" or "rccl"
  kMemory,         ///< copies and sets
};

/// One kernel, copy or set, as a profiler recorded it. Times are those of the trace's clock.
struct GpuEvent {
  static constexpr uint32_t kNone = ~uint32_t{0};
  int64_t start_ns = 0, duration_ns = 0;
  int64_t correlation = -1;     ///< joins the call that launched it; -1: not recorded
  uint32_t name = 0;            ///< into `RankTrace::names`
  uint32_t collective = kNone;  ///< into `RankTrace::collectives`
  int32_t device = -1, stream = -1;
  GpuClass kind = GpuClass::kCompute;

  int64_t end_ns() const { return start_ns + duration_ns; }
};

/// What PyTorch notes about the collective behind a kernel; -1 and empty where it does not.
struct Collective {
  std::string name;         ///< "allreduce", "_allgather_base", ...
  std::string group;        ///< "Process Group Name"
  std::string description;  ///< "Process Group Description"
  std::string dtype;        ///< "Float", "BFloat16", ...
  int64_t in_elements = -1, out_elements = -1, group_size = -1, sequence = -1;
};

/// The call on the CPU that put work on a GPU.
struct Launch {
  int64_t correlation = -1, external_id = -1;
  int64_t start_ns = 0, duration_ns = 0;
  int64_t thread = -1;
  uint32_t name = GpuEvent::kNone;  ///< into `RankTrace::names`: "cudaLaunchKernel"
};

/// A training step as the CPU marked it (`ProfilerStep#N`).
struct StepMark {
  int64_t number = 0, start_ns = 0, end_ns = 0;
};

/// An operator of the framework on the CPU, whose launches carry its external id.
struct Operator {
  uint32_t name = 0;                  ///< into `RankTrace::names`: "aten::mm"
  uint32_t shapes = GpuEvent::kNone;  ///< the same: "[[4096, 1024], [1024, 4096]]"
  uint32_t dtypes = GpuEvent::kNone;  ///< the same: "[\"c10::BFloat16\", \"c10::BFloat16\"]"
  uint32_t values = GpuEvent::kNone;  ///< the same, of those that need it: "[\"\", \"[1, 1]\"]"
  int64_t external_id = -1;           ///< joins `Launch::external_id`
  int64_t record_function_id = -1;    ///< joins an execution trace's `rf_id`
  int64_t sequence = -1;              ///< joins forward and backward
  int64_t forward_thread = -1;        ///< set in backward: where its forward ran
  int64_t thread = -1;
  int64_t start_ns = 0, duration_ns = 0;
};

/// A stretch that the program named: an NVTX range, a user annotation, its twin on a GPU's stream.
struct Range {
  uint32_t name = 0;  ///< into `RankTrace::names`
  bool gpu = false;   ///< `thread` is a stream
  int64_t thread = -1;
  int64_t start_ns = 0, duration_ns = 0;
};

/// A piece of a pipeline stage's work, where a file tells it as such.
struct PipelineTask {
  enum class Kind : uint8_t {
    kForward,
    kBackward,  ///< of inputs and weights together
    kBackwardInput,
    kBackwardWeight,
    kSend,
    kReceive,
    kOptimizer,
    kOther,
    kGradientReduction,   ///< of data parallel ranks; of vectors that tensor parallel ranks share
    kParameterGather,     ///< of data parallel ranks
    kEmbeddingReduction,  ///< between the first and the last stage
    kGradientNorm,        ///< the sum of squares and its reduction over all ranks
    kHost,                ///< the GPU stands still for the host's work
    kWait,                ///< for whom or what: `what`
  };
  Kind kind = Kind::kOther;
  int64_t step = -1, micro_batch = -1, chunk = -1;
  int64_t start_ns = 0, duration_ns = 0;
  bool beside = false;    ///< on a stream beside the compute stream
  std::string what = {};  ///< the operator; of a wait what is waited for; empty: not known
};

/// Entries of a file that are not part of the trace, and why.
struct Dropped {
  std::string file, reason;
  int64_t count = 0;
};

/// What one file tells of one rank's GPUs. Events stand in the file's order.
struct RankTrace {
  int64_t rank = -1;  ///< -1: neither the file nor its name says
  std::string file;   ///< as the user named it; "a.tar.gz/b.json" inside an archive
  int64_t world_size = -1;
  int64_t base_time_ns = 0;  ///< epoch time of the clock's zero; 0: the clock is epoch time
  std::string gpu;           ///< the device's name, where the file says
  std::vector<std::string> names;
  std::vector<GpuEvent> events;
  std::vector<Collective> collectives;
  std::vector<Launch> launches;     ///< in order of correlation
  std::vector<Launch> waits;        ///< for a GPU, and long calls that launch nothing; by time
  std::vector<StepMark> steps;      ///< in order of time
  std::vector<Operator> operators;  ///< that launched GPU events and those around, in order of time
  std::vector<Range> ranges;        ///< in order of time
  std::vector<PipelineTask> tasks;  ///< in order of time
  int64_t stage = -1, stages = -1;  ///< of the pipeline, where the file says
  std::vector<Dropped> dropped;     ///< by reason, in the order in which they came up
  bool truncated = false;           ///< the file ends in the middle
};

/// The call that put an event on the GPU; null where the trace does not have it.
inline const Launch* launch_of(const RankTrace& trace, const GpuEvent& event) {
  const auto found = std::lower_bound(
      trace.launches.begin(), trace.launches.end(), event.correlation,
      [](const Launch& launch, int64_t wanted) { return launch.correlation < wanted; });
  const bool is_it = event.correlation >= 0 && found != trace.launches.end() &&
                     found->correlation == event.correlation;
  return is_it ? &*found : nullptr;
}

}  // namespace ergometer::run
