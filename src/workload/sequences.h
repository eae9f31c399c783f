#pragma once

#include <cstdint>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::workload {

/// One micro batch of documents on one data-parallel replica.
struct MicroBatch {
  std::vector<int64_t>
      lengths;              ///< tokens that attend to each other: documents, padded if so asked
  int64_t tokens = 0;       ///< computed, padding included
  int64_t real_tokens = 0;  ///< of documents
  int64_t tiles = 0;        ///< of images, where samples have some
  double real_pairs = 0;    ///< `pairs` of documents without padding

  /// (query, key) pairs under the causal mask, without the tiles' edges.
  double pairs() const;
};

/// Lengths drawn from a distribution of text, which is not even. Same seed and step, same lengths.
std::vector<int64_t> draw_lengths(const spec::SequenceLengths& lengths, uint64_t seed, int64_t step,
                                  size_t count);

/// The micro batches of one step, drawn: [micro batch * dp + replica]. Same job and step, same
/// documents. Each document is one sample of the batch, cut at `seq_length`; packed, a sample is as
/// many documents as fill a sequence, and what is cut off the last begins the next.
///   packed         tokens: micro batch x seq_length; documents attend to themselves alone
///   padded         each sample as long as the longest of its micro batch
///   padded-to-seq  each as long as seq_length
///   variable       documents behind each other without padding, micro batches of unlike length
/// Balanced: samples in order of their cost, as many alike beside each other as there are ranks to
/// take them, the costliest micro batch to the replica that has had least.
std::vector<MicroBatch> draw_step(const spec::Job& job, int64_t step);

/// How much work a micro batch is, in tokens of matrix products: attention's pairs and images'
/// tiles at their FLOPs.
class CostInTokens {
 public:
  explicit CostInTokens(const spec::Model& model);
  double operator()(const MicroBatch& batch) const;

 private:
  double of_pair_ = 0, of_tile_ = 0, of_token_ = 0;  ///< FLOPs
};

}  // namespace ergometer::workload
