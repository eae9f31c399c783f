#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <string_view>

#include "base/collection.h"
#include "spec/job/sample_sizes.h"
#include "spec/resolve/resolve.h"
#include "spec/settings/setting_names.h"

namespace ergometer::spec {
namespace {

constexpr std::string_view kImagesName = "images_per_sample", kTilesName = "tiles_per_image",
                           kTokensName = "image_tokens", kFreezeName = "freeze",
                           kSamplesName = "samples", kPackingName = "sample_packing",
                           kRoundsName = "packing_rounds", kPackTilesName = "pack_tiles";

void refuse_images(SettingReader& read, const Model& model) {
  for (const std::string_view name : {kImagesName, kTilesName, kTokensName, kFreezeName,
                                      kSamplesName, kPackingName, kRoundsName, kPackTilesName})
    if (read.given(name))
      return read.refuse("{} needs a model with a vision tower; {} has none", read.said(name),
                         model.name);
}

/// An image that is one tile of its own size.
void read_any_size(SettingReader& read, Job& job) {
  if (read.given(kTilesName))
    return read.refuse("{}: {} takes an image whole; allowed: --image-tokens",
                       read.said(kTilesName), job.model.name);
  Training& t = job.training;
  Vision vision = *job.model.vision;
  t.tiles_per_image = 1;
  read.derive(kTilesName, "the model takes an image whole");
  t.tokens_per_image =
      read.integer(kTokensName, vision.tokens(), "an image of 448 x 448 pixels, assumed");
  vision.tile_tokens = t.tokens_per_image * vision.merged;
  job.model.vision = std::make_shared<const Vision>(std::move(vision));
}

void read_tile_count(SettingReader& read, Job& job) {
  const Vision& vision = *job.model.vision;
  if (read.given(kTokensName))
    return read.refuse("{}: {} cuts images into tiles of {} tokens; allowed: --tiles-per-image",
                       read.said(kTokensName), job.model.name, vision.tokens());
  Training& t = job.training;
  t.tiles_per_image = read.integer(kTilesName, vision.tiles_per_image,
                                   "the most that the model cuts an image into");
  t.tokens_per_image = t.tiles_per_image * vision.tokens();
  read.derive(kTokensName, "the tokens of its tiles");
}

void read_freeze(SettingReader& read, Job& job) {
  job.training.freeze = read.list(kFreezeName, "all parts are trained");
  if (read.given(kFreezeName) || job.training.mode != Mode::kLora) return;
  job.training.freeze = {"vision", "projector"};
  read.derive(kFreezeName, "adapters are the decoder's");
}

/// From images and text to tiles and all tokens. Images that a sequence does not hold whole are
/// left out, text behind it is cut.
void count_tiles(Training& t) {
  SequenceLengths& lengths = t.sequence_lengths;
  const int64_t most = t.seq_length / t.tokens_per_image;
  lengths.images_left_out = images_left_out(lengths, most);
  for (SampleSize& sample : lengths.samples) {
    const int64_t images = std::min(sample.tiles, most);
    sample.tiles = images * t.tiles_per_image;
    sample.tokens = std::min(t.seq_length, sample.tokens + images * t.tokens_per_image);
  }
  const auto tiles = static_cast<double>(t.tiles_per_image);
  lengths.moments.tiles *= tiles;
  lengths.moments.tiles_deviation *= tiles;
}

/// A replica's micro batch is then a packed sequence, or so many samples padded to the longest.
void read_samples(SettingReader& read, Job& job) {
  Training& t = job.training;
  for (const std::string_view name :
       {kImagesName, std::string_view("sequence_lengths"), std::string_view("sequence_batching")})
    if (read.given(name))
      return read.refuse("{} contradicts {}; leave one out", read.said(name),
                         read.said(kSamplesName));
  auto lengths = parse_samples(read.text(kSamplesName));
  if (!lengths) return read.refuse("{}: {}", read.where(kSamplesName), lengths.error().message);
  t.sequence_lengths = std::move(*lengths);
  count_tiles(t);
  t.images_per_sample = 0;
  read.derive(kImagesName, "as the samples have them");
  t.sample_packing = read.choice(kPackingName, SamplePacking::kNone, "samples are padded");
  t.sequence_batching = t.sample_packing == SamplePacking::kNone ? SequenceBatching::kPadded
                                                                 : SequenceBatching::kVariable;
  t.packing_rounds = read.integer(kRoundsName, t.packing_rounds, "the published rounds");
  t.pack_tiles = read.integer(kPackTilesName, t.pack_tiles, "the published tiles");
}

void read_images(SettingReader& read, Job& job) {
  if (read.given(kSamplesName)) return read_samples(read, job);
  for (const std::string_view name : {kPackingName, kRoundsName, kPackTilesName})
    if (read.given(name)) return read.refuse("{} needs --samples", read.said(name));
  job.training.images_per_sample = read.integer(kImagesName, 1, "one image a sequence");
}

bool is_frozen(const Training& t, const char* part) { return base::contains(t.freeze, part); }

void check_freeze(SettingReader& read, const Training& t) {
  if (!is_frozen(t, "language")) return;
  if (t.mode == Mode::kLora)
    read.refuse("{} contradicts {}", read.said(kFreezeName), read.said("lora"));
  if (is_frozen(t, "vision") && is_frozen(t, "projector"))
    read.refuse("{} leaves nothing to train", read.said(kFreezeName));
}

void check_tower(SettingReader& read, const Job& job) {
  const int64_t tp = job.parallelism.tp;
  const Vision& vision = *job.model.vision;
  const std::array<std::pair<const char*, int64_t>, 3> sizes = {
      {{"attention heads", vision.tower.heads},
       {"as feed-forward width", vision.tower.ffn},
       {"as the projector's width", vision.projector_inner}}};
  for (const auto& [what, size] : sizes)
    if (size % tp != 0)
      return read.refuse("{} does not divide the vision tower's {} {}; try {}", read.said(kTp, tp),
                         size, what, divisors_text(std::gcd(size, job.model.heads), tp));
}

/// What a job with images cannot be joined with.
void check_beside(SettingReader& read, const Job& job) {
  const auto refuse = [&](const std::string& said, std::string_view why) {
    read.refuse("{}: {}", said, why);
  };
  const Parallelism& p = job.parallelism;
  const Training& t = job.training;
  if (job.is_inference())
    return refuse(read.said("mode"), "a vision tower is modelled in training alone");
  if (p.cp > 1)
    return refuse(read.said("context_parallel_size", p.cp),
                  "tiles are not divided over context-parallel ranks; allowed: 1");
  if (job.model.tied_embeddings && p.pp > 1)
    return refuse(read.said(kPp, p.pp),
                  fmt::format("{} shares its embedding with its head, and a vision tower lies "
                              "before it; allowed: 1",
                              job.model.name));
  if (t.scatter_gather_p2p)
    return refuse(read.said("scatter_gather_p2p"),
                  "not modelled with a vision tower; leave it out");
  if (!t.moe_routing.is_even())
    return refuse(read.said("moe_routing"), "not modelled with a vision tower; allowed: even");
  if (!t.sequence_lengths.is_even() && !t.sequence_lengths.has_images())
    refuse(read.said("sequence_lengths"), "has no images; a vision tower needs --samples");
}

/// Every sample of a step is drawn.
void check_drawn(SettingReader& read, const Job& job) {
  constexpr double kMostDrawn = 1e6;
  const Training& t = job.training;
  if (!t.sequence_lengths.has_images()) return;
  const double tokens = std::max(1.0, mean_sample(t.sequence_lengths, t.seq_length).tokens);
  const double each = t.sample_packing == SamplePacking::kNone
                          ? 1
                          : std::max(1.0, static_cast<double>(t.seq_length) / tokens);
  if (each * static_cast<double>(t.global_batch) > kMostDrawn)
    read.refuse(
        "{}: a step holds about {:.0f} samples; up to {:.0f} are drawn, try a smaller --gbs",
        read.said(kSamplesName), each * static_cast<double>(t.global_batch), kMostDrawn);
}

/// Multiply-adds of one layer's matrices for a token, and of attention among `reach` keys.
double layer_products(const Model& model, const Layer& layer, double reach) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto heads = static_cast<double>(model.heads * model.head_dim);
  const auto kv = static_cast<double>(2 * model.kv_heads * model.head_dim);
  const double branches = model.gated ? 3 : 2;
  const double width =
      layer.moe
          ? static_cast<double>(model.experts.top_k * model.experts.ffn + model.experts.shared_ffn)
          : static_cast<double>(model.ffn);
  const double mixer = layer.mixer == Mixer::kNone ? 0 : hidden * (2 * heads + kv);
  const double core = layer.mixer == Mixer::kAttention ? 2 * heads * reach : 0;
  return mixer + core + (layer.feed_forward ? branches * hidden * width : 0);
}

/// Of a sequence and its images, with the passes that are made over them.
std::vector<double> work_by_layer(const Job& job) {
  const Training& t = job.training;
  const Vision& vision = *job.model.vision;
  const double again = t.recompute == Recompute::kFull ? 1 : 0;
  std::vector<double> work;
  const double tower_passes = is_frozen(t, "vision") ? 1 : 3 + again;
  MeanSample mean = {static_cast<double>(t.images_per_sample * t.tiles_per_image),
                     static_cast<double>(t.seq_length)};
  if (t.sequence_lengths.has_images()) mean = mean_sample(t.sequence_lengths, t.seq_length);
  const auto in_tile = static_cast<double>(vision.tile_tokens);
  for (const Layer& layer : vision.tower.layers) {
    const double reach = layer.window > 0 ? static_cast<double>(layer.window) : in_tile;
    work.push_back(tower_passes * mean.tiles * in_tile *
                   layer_products(vision.tower, layer, reach));
  }
  const bool adapts = t.mode == Mode::kLora || is_frozen(t, "language");
  const double passes = (adapts ? 2 : 3) + again;
  const double of_images = t.sequence_lengths.kind == LengthKind::kMoments
                               ? mean.tiles * static_cast<double>(vision.tokens())
                               : 0;
  const double tokens = mean.tokens + of_images;
  for (const Layer& layer : job.model.layers)
    work.push_back(passes * tokens * layer_products(job.model, layer, tokens / 2));
  // The output matrix is multiplied behind the last layer.
  work.back() += (adapts ? 2 : 3) * tokens * static_cast<double>(job.model.hidden) *
                 static_cast<double>(job.model.vocab);
  return work;
}

}  // namespace

std::vector<int64_t> vision_stage_layers(const Job& job) {
  const std::vector<double> work = work_by_layer(job);
  const auto chunks = static_cast<size_t>(job.parallelism.parts());
  const size_t layers = work.size();
  std::vector<double> before(layers + 1);
  std::partial_sum(work.begin(), work.end(), before.begin() + 1);
  // least[c][n]: the largest part of the first n layers in c parts, as small as it can be.
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> least(chunks + 1, std::vector<double>(layers + 1, kNone));
  std::vector<std::vector<size_t>> cut(chunks + 1, std::vector<size_t>(layers + 1));
  least[0][0] = 0;
  for (size_t c = 1; c <= chunks; ++c)
    for (size_t n = c; n <= layers; ++n)
      for (size_t from = c - 1; from < n; ++from) {
        const double most = std::max(least[c - 1][from], before[n] - before[from]);
        if (most < least[c][n]) {
          least[c][n] = most;
          cut[c][n] = from;
        }
      }
  std::vector<int64_t> parts(chunks);
  for (size_t c = chunks, n = layers; c > 0; n = cut[c][n], --c)
    parts[c - 1] = static_cast<int64_t>(n - cut[c][n]);
  return parts;
}

void resolve_vision(SettingReader& read, Job& job) {
  if (job.model.vision == nullptr) return refuse_images(read, job.model);
  job.model.vision->any_size ? read_any_size(read, job) : read_tile_count(read, job);
  if (!read.error()) read_images(read, job);
  read_freeze(read, job);
}

void check_vision(SettingReader& read, const Job& job) {
  if (job.model.vision == nullptr) return;
  const Training& t = job.training;
  check_freeze(read, t);
  check_tower(read, job);
  check_beside(read, job);
  check_drawn(read, job);
  if (t.sequence_lengths.has_images() && t.tokens_per_image > t.seq_length)
    return read.refuse("{}: an image of {} tokens is more than {}; try --seq {}",
                       read.said(kSamplesName), t.tokens_per_image,
                       read.said("seq_length", t.seq_length), t.tokens_per_image);
  // Of samples, what a sequence does not hold is left out.
  const int64_t tokens = t.images_per_sample * t.tokens_per_image;
  if (tokens > t.seq_length)
    read.refuse("{}: {} of {} tokens {} more than {}; try fewer, or --seq {}",
                read.said(kImagesName, t.images_per_sample),
                t.images_per_sample == 1 ? "an image" : "images", tokens,
                t.images_per_sample == 1 ? "is" : "are", read.said("seq_length", t.seq_length),
                tokens);
}

}  // namespace ergometer::spec
