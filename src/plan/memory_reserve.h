#pragma once

#include "plan/stages.h"
#include "spec/job/job.h"

namespace ergometer::plan {

inline constexpr double kElementBytes = 2;  ///< activations of 16 bits

/// Whole-sequence tensors that asynchronous tensor-parallel collectives hold while the host runs
/// ahead of the GPU, bytes on one rank of the stage:
///
///   E = min(3.25 layers, 65) w        w = mbs (seq / cp) hidden 2 B, one such tensor
///
/// 0 without sequence-parallel tensors. 3.25 a layer and 65 in all are fitted to the memory that
/// runs of nanotron had reserved beyond their peak: 51 of these tensors with 16 layers, 58 to 77
/// with 28 and 32. No run of another framework was compared.
double held_tensor_bytes(const spec::Job& job, const Stage& stage);

/// `memory.fragmentation` of software that does not say.
inline constexpr double kFragmentation = 0.05;

/// What PyTorch's allocator needs on one rank beyond the tensors that are alive, and cannot give
/// back: holes between blocks of unlike size and age. With A bytes of activations, loss and
/// gradients made since the step began at the fullest moment,
///
///   R = memory.fragmentation A + memory.held E                                        [B]
///
/// Model states are allocated once and lie side by side; what every micro batch allocates and frees
/// leaves holes in proportion. Of the tensors that collectives hold, most come back when the
/// allocator waits for the GPU, but not those whose segments lasting tensors have moved into.
/// Worked: A = 20 GiB, E = 4 GiB, 0.4 and 0.35 (nanotron): R = 8 + 1.4 = 9.4 GiB.
struct Reserve {
  double share = 0;  ///< of A
  double held = 0;   ///< bytes
  double bytes(double active) const { return active > 0 ? share * active + held : 0; }
};
Reserve memory_reserve(const spec::Job& job, const Stage& stage);

}  // namespace ergometer::plan
