#include "workload/block/layer.h"
#include "workload/block/linear.h"
#include "workload/block/modules.h"

namespace ergometer::workload {
namespace {

// Loss kernels, bytes per logit. TE's fused kernel: an online softmax over logits whose gradient
// replaces them, a pass of read and write each way; the native one casts to FP32 and takes several
// passes. Logits that are in FP32 already need no cast, nor do their gradients.
constexpr double kNativeLossForward = 24, kNativeLossBackward = 12;
constexpr double kCast = 2 + 4;  // of these, from 16 bit and back
// Of transformers, which casts logits to FP32, accelerate once more for what it returns, and does
// log-softmax and its gradient by PyTorch's kernels: 61 bytes on one H100 as long as streaming ones
// take (tests/data/trainer), here at the rate of the loss.
constexpr double kModulesLossForward = 23.5, kModulesLossBackward = 17.5;
constexpr int kNativeLossForwardKernels = 8, kNativeLossBackwardKernels = 4;

/// Width of the token embedding; narrower than the hidden size in OPT-350M.
int64_t embedding_width(const spec::Model& model) {
  return model.embedding_dim > 0 ? model.embedding_dim : model.hidden;
}

/// A linear layer with the same weights on every TP rank, on the rank's part of the sequence.
Linear replicated_linear(const BlockWriter& writer, const char* name, Module module, int64_t in,
                         int64_t out) {
  Linear linear = make_linear(writer, name, module, in, out);
  linear.rows = static_cast<double>(writer.shapes().shard_tokens);
  linear.model_rows = linear.rows * writer.shapes().token_share();
  linear.fp8 = false;
  return linear;
}

Linear head_linear(const BlockWriter& writer) {
  Linear linear = make_linear(writer, "head", Module::kHead, embedding_width(writer.model()),
                              writer.shapes().vocab);
  linear.fp8 = false;
  return linear;
}

double embedding_bytes(const BlockWriter& writer) {
  return writer.shapes().element * static_cast<double>(writer.shapes().tokens) *
         static_cast<double>(embedding_width(writer.model()));
}

double shard_bytes(const BlockWriter& writer) {
  const Shapes& shapes = writer.shapes();
  return shapes.element * shapes.shard_elements();
}

/// The loader that does not keep up: the GPU has nothing to do until the micro batch is there.
void wait_for_data(BlockWriter& writer) {
  const double seconds = writer.job().software.parameters.value_or("data.micro_batch", 0);
  if (seconds <= 0 || !writer.shapes().training) return;
  Operator wait;
  wait.pass = writer.pass();
  wait.module = Module::kEmbedding;
  wait.name = "data_wait";
  wait.kernels = 0;
  wait.host_wait_s = seconds;
  writer.add(std::move(wait));
}

void lookup_forward(BlockWriter& writer) {
  writer.memory({Module::kEmbedding, "embedding", 2 * embedding_bytes(writer)});
  tensor_reduce(writer, Module::kEmbedding, embedding_bytes(writer), writer.pass());
}

/// The rows of the table that occur in the micro batch are read and written once a token. Only the
/// table's gradient needs any of this: zero-bubble schedules may postpone it.
void lookup_backward(BlockWriter& writer) {
  const Shapes& shapes = writer.shapes();
  if (shapes.lora) return;
  if (shapes.sequence_parallel)
    tensor_gather(writer, Module::kEmbedding, embedding_bytes(writer), Pass::kWeight);
  writer.memory({Module::kEmbedding, "embedding_wgrad",
                 embedding_bytes(writer) * (1 + 2 * shapes.gradient / shapes.element)},
                Pass::kWeight);
}

void loss_all_reduce(BlockWriter& writer, double bytes_per_token) {
  writer.collective({Module::kLoss, "loss_all_reduce", CollectiveKind::kAllReduce,
                     GroupKind::kTensor,
                     bytes_per_token * static_cast<double>(writer.shapes().tokens)});
}

bool fuses_loss(const spec::Job& job) {
  return job.training.fused_cross_entropy || job.training.linear_cross_entropy;
}

/// Bytes that the loss moves for a logit.
struct LossBytes {
  double forward = 0, backward = 0;
};

LossBytes loss_bytes(const BlockWriter& writer) {
  const Shapes& shapes = writer.shapes();
  if (fuses_loss(writer.job())) return {2 * shapes.element, 2 * shapes.element};
  const double cast = shapes.element < 4 ? 0 : kCast;  // that there is none of
  if (shapes.modules) return {kModulesLossForward - 2 * cast, kModulesLossBackward - cast};
  return {kNativeLossForward - cast, kNativeLossBackward - cast};
}

double logits(const Shapes& shapes) {
  return static_cast<double>(shapes.tokens) * static_cast<double>(shapes.vocab);
}

/// Vocabulary-parallel cross entropy: maximum, the target's logit and the sum of exponentials cross
/// the TP group; the fused version sends the last two together.
void loss_forward(BlockWriter& writer) {
  const bool fused = fuses_loss(writer.job());
  writer.memory({Module::kLoss, "cross_entropy",
                 logits(writer.shapes()) * loss_bytes(writer).forward,
                 fused ? 2 : kNativeLossForwardKernels});
  loss_all_reduce(writer, 4);
  loss_all_reduce(writer, fused ? 8 : 4);
  if (!fused) loss_all_reduce(writer, 4);
}

void loss_backward(BlockWriter& writer) {
  const bool fused = fuses_loss(writer.job());
  writer.memory({Module::kLoss, "cross_entropy_backward",
                 logits(writer.shapes()) * loss_bytes(writer).backward,
                 fused ? 1 : kNativeLossBackwardKernels},
                Pass::kBackward);
}

/// A compiler makes it part of the loss.
void cap_logits(BlockWriter& writer, bool backward) {
  if (!writer.model().capped_logits || !writer.shapes().modules) return;
  const ModuleWork cap = module_cap(writer, logits(writer.shapes()), backward);
  writer.memory({Module::kHead, backward ? "logit_cap_backward" : "logit_cap", cap.moved,
                 cap.kernels, 0, true},
                backward ? Pass::kBackward : writer.pass());
}

/// Software whose host waits for the loss and for the head's gradient: no launch of a layer then
/// hides behind the head. Of the loss it is known: vocabulary-parallel cross entropy indexes logits
/// by a mask, and PyTorch counts a mask's elements on the host.
void wait_for_head(BlockWriter& writer, const char* name, Pass pass) {
  constexpr double kBytes = 4;
  if (writer.job().software.parameters.value_or("host.waits_for_head", 0) > 0)
    writer.memory({Module::kLoss, name, kBytes}, pass);
}

bool divides_vocabulary(const BlockWriter& writer) {
  return writer.job().parallelism.divides_vocabulary();
}

/// Whether the first pass over the output layer makes the gradient of its input.
bool makes_gradient_first(const BlockWriter& writer) {
  return writer.job().parallelism.vocabulary == spec::VocabularyParallel::kOneBarrier;
}

}  // namespace

void embedding_forward(BlockWriter& writer) {
  const spec::Model& model = writer.model();
  const Shapes& shapes = writer.shapes();
  wait_for_data(writer);
  if (!divides_vocabulary(writer)) lookup_forward(writer);
  if (embedding_width(model) != model.hidden)
    linear_forward(writer, replicated_linear(writer, "embedding_projection", Module::kEmbedding,
                                             embedding_width(model), model.hidden));
  if (model.positions == spec::PositionKind::kLearned)
    writer.memory({Module::kEmbedding, "position_add", 3 * shard_bytes(writer)});
  if (model.embedding_norm) norm_forward(writer, "embedding_norm", false);
  if (model.dropout > 0 && shapes.training)
    writer.memory(
        {Module::kEmbedding, "embedding_dropout", (2 + 1 / shapes.element) * shard_bytes(writer)});
}

void embedding_backward(BlockWriter& writer) {
  const spec::Model& model = writer.model();
  const Shapes& shapes = writer.shapes();
  if (shapes.lora) return;  // nothing here is trained, nothing lies before it
  if (model.dropout > 0)
    writer.memory({Module::kEmbedding, "embedding_dropout_backward",
                   (2 + 1 / shapes.element) * shard_bytes(writer)},
                  Pass::kBackward);
  if (model.embedding_norm) norm_backward(writer, "embedding_norm_backward", false);
  if (model.positions == spec::PositionKind::kLearned)
    writer.memory({Module::kEmbedding, "position_wgrad",
                   shard_bytes(writer) * (1 + 2 * shapes.gradient / shapes.element)},
                  Pass::kWeight);
  if (embedding_width(model) != model.hidden)
    linear_backward(writer, replicated_linear(writer, "embedding_projection", Module::kEmbedding,
                                              embedding_width(model), model.hidden));
  if (!divides_vocabulary(writer)) lookup_backward(writer);
}

void head_forward(BlockWriter& writer) {
  const spec::Model& model = writer.model();
  if (model.final_norm) norm_forward(writer, "final_norm", false);
  if (divides_vocabulary(writer)) return;
  if (embedding_width(model) != model.hidden)
    linear_forward(writer, replicated_linear(writer, "head_projection", Module::kHead, model.hidden,
                                             embedding_width(model)));
  column_forward(writer, head_linear(writer));
  cap_logits(writer, false);
  if (!writer.shapes().training) return;
  loss_forward(writer);
  wait_for_head(writer, "loss_to_host", Pass::kForward);
}

void head_backward(BlockWriter& writer) {
  const spec::Model& model = writer.model();
  if (divides_vocabulary(writer)) {
    if (model.final_norm) norm_backward(writer, "final_norm_backward", false);
    return;
  }
  loss_backward(writer);
  cap_logits(writer, true);
  column_backward(writer, head_linear(writer));
  wait_for_head(writer, "head_gradient_to_host", Pass::kBackward);
  if (embedding_width(model) != model.hidden)
    linear_backward(writer, replicated_linear(writer, "head_projection", Module::kHead,
                                              model.hidden, embedding_width(model)));
  if (model.final_norm) norm_backward(writer, "final_norm_backward", false);
}

void vocabulary_input(BlockWriter& writer) { lookup_forward(writer); }

// With one barrier the gradient of the input is made of the softmax over the rank's own words, and
// scaled when the maximum and the sum over all words are there; the target's row of the matrix is
// taken off it.
void vocabulary_output(BlockWriter& writer) {
  const Linear linear = head_linear(writer);
  column_forward(writer, linear);
  loss_forward(writer);
  if (!makes_gradient_first(writer)) return;
  linear_dgrad(writer, linear);
  writer.memory({Module::kHead, "target_rows", 3 * embedding_bytes(writer)}, Pass::kBackward);
  if (writer.shapes().tp > 1)
    tensor_reduce(writer, Module::kHead, embedding_bytes(writer), Pass::kBackward);
}

void vocabulary_output_gradient(BlockWriter& writer) {
  const Linear linear = head_linear(writer);
  loss_backward(writer);
  if (!makes_gradient_first(writer)) return column_backward(writer, linear);
  writer.memory({Module::kHead, "gradient_rescale", 2 * shard_bytes(writer)}, Pass::kBackward);
  if (writer.shapes().sequence_parallel)
    tensor_gather(writer, Module::kHead, embedding_bytes(writer), Pass::kWeight);
  linear_wgrad(writer, linear);
}

void vocabulary_input_gradient(BlockWriter& writer) { lookup_backward(writer); }

void mtp_layer_forward(BlockWriter& writer) {
  const spec::Model& model = writer.model();
  norm_forward(writer, "mtp_embedding_norm", false);
  norm_forward(writer, "mtp_hidden_norm", false);
  writer.memory({Module::kHead, "mtp_concatenate", 4 * shard_bytes(writer)});
  linear_forward(writer, replicated_linear(writer, "mtp_projection", Module::kHead,
                                           2 * model.hidden, model.hidden));
  layer_forward(writer, model.mtp_layer());
}

void mtp_forward(BlockWriter& writer) {
  lookup_forward(writer);
  mtp_layer_forward(writer);
  head_forward(writer);
}

void mtp_backward(BlockWriter& writer) {
  const spec::Model& model = writer.model();
  head_backward(writer);
  layer_backward(writer, model.mtp_layer());
  linear_backward(writer, replicated_linear(writer, "mtp_projection", Module::kHead,
                                            2 * model.hidden, model.hidden));
  norm_backward(writer, "mtp_hidden_norm_backward", true);
  norm_backward(writer, "mtp_embedding_norm_backward", false);
  lookup_backward(writer);
}

}  // namespace ergometer::workload
