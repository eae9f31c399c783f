#include "workload/vision.h"

#include "base/collection.h"

namespace ergometer::workload {
namespace {

int64_t norm(int64_t width, bool bias) { return width * (bias ? 2 : 1); }

int64_t in_parts(int64_t number, int64_t parts) { return (number + parts - 1) / parts; }

void set_tokens(Shapes& shapes) {
  shapes.tokens = shapes.batch * shapes.query_length;
  shapes.shard_tokens =
      shapes.sequence_parallel ? in_parts(shapes.tokens, shapes.tp) : shapes.tokens;
}

}  // namespace

TrainedParts trained_parts(const spec::Training& training) {
  const auto trains = [&](const char* part) { return !base::contains(training.freeze, part); };
  return {trains("vision"), trains("projector"), trains("language")};
}

spec::Job tower_job(const spec::Job& job) {
  spec::Job tower = job;
  tower.model = job.model.vision->tower;
  spec::Training& t = tower.training;
  if (t.precision == spec::Precision::kFp8 || t.precision == spec::Precision::kNvfp4)
    t.precision = spec::Precision::kBf16;
  t.fp8_attention = false;
  t.mode = spec::Mode::kPretrain;
  t.lora_rank = 0;
  t.micro_batch = job.micro_batch_tiles();
  t.seq_length = job.model.vision->tile_tokens;
  t.packed_mean_length = 0;
  t.sequence_lengths = {};
  return tower;
}

Shapes tower_shapes(const spec::Job& tower, const Shapes& decoder, const spec::Layer& layer) {
  Shapes shapes = shapes_of(tower);
  const TrainedParts trained = trained_parts(tower.training);
  shapes.training = decoder.training && trained.tower;
  shapes.lora = false;
  shapes.batch = shapes.tiles = decoder.tiles;
  if (layer.window > 0 && layer.window < shapes.query_length) {
    shapes.batch = in_parts(shapes.batch * shapes.query_length, layer.window);
    shapes.query_length = shapes.key_length = layer.window;
  }
  set_tokens(shapes);
  return shapes;
}

Shapes projector_shapes(const spec::Job& job, const spec::Job& tower, const Shapes& decoder) {
  Shapes shapes = tower_shapes(tower, decoder, {});
  const TrainedParts trained = trained_parts(job.training);
  shapes.training = decoder.training && trained.through_projector();
  shapes.lora = !trained.projector;
  shapes.query_length = shapes.key_length = job.model.vision->tokens();
  shapes.hidden = job.model.hidden;
  set_tokens(shapes);
  return shapes;
}

int64_t patch_parameters(const spec::Vision& vision) {
  const int64_t hidden = vision.tower.hidden;
  return hidden *
         (vision.patch_values + (vision.patch_bias ? 1 : 0) + (vision.class_token ? 1 : 0));
}

int64_t projector_parameters(const spec::Vision& vision, int64_t hidden) {
  return norm(vision.norm_width, vision.norm_bias) +
         vision.projector_inner * (vision.projector_in + 1) + hidden * (vision.projector_inner + 1);
}

}  // namespace ergometer::workload
