#include "search/space/stage_split.h"

#include <algorithm>
#include <tuple>

#include "base/collection.h"
#include "plan/stages.h"
#include "spec/resolve/stage_division.h"

namespace ergometer::search {
namespace {

double as_double(int64_t value) { return static_cast<double>(value); }

/// The head's cost in layers, by the weights that a token meets.
double head_in_layers(const spec::Model& model) {
  const spec::Experts& experts = model.experts;
  const double matrices = model.gated ? 3 : 2;
  const double attention =
      2 * as_double(model.hidden) * as_double(model.head_dim * (model.heads + model.kv_heads));
  const double width = experts.count > 0
                           ? as_double(experts.top_k * experts.ffn + experts.shared_ffn)
                           : as_double(model.ffn);
  const double layer = attention + matrices * as_double(model.hidden) * width;
  return layer > 0 ? as_double(model.hidden) * as_double(model.vocab) / layer : 0;
}

/// The smallest multiple of `unit` above layers / pp.
int64_t longer_stage(int64_t layers, int64_t pp, int64_t unit) {
  return (layers / (pp * unit) + 1) * unit;
}

/// Layers of every chunk.
std::vector<int64_t> chunk_layers(Split split, const spec::Job& job, int64_t pp, int64_t vpp) {
  spec::Job divided;
  divided.model.layers = job.model.layers;
  divided.parallelism.pp = pp;
  divided.parallelism.vpp = vpp;
  apply_split(split, {}, divided);
  return plan::layers_per_chunk(divided);
}

/// Whether some number of chunks needs no list of their layers.
bool interleaves_without_list(int64_t layers, int64_t pp) {
  for (int64_t chunks = 2 * pp; chunks <= layers + 2; chunks += pp)
    for (int64_t counted = layers; counted <= layers + 2; ++counted)
      if (counted % chunks == 0) return true;
  return false;
}

/// Layers of the first (0: as the others) and the last stage. Nothing: it cannot be.
std::optional<std::pair<int64_t, int64_t>> short_ends(int64_t layers, int64_t pp, int64_t vpp,
                                                      bool both) {
  if (pp < (both ? 3 : 2)) return {};
  const int64_t stage = longer_stage(layers, pp, vpp), ends = both ? 2 : 1;
  const int64_t rest = layers - stage * (pp - ends);
  if (rest < ends * vpp || rest % vpp != 0) return {};
  if (!both) return rest < stage ? std::optional(std::pair{int64_t{0}, rest}) : std::nullopt;
  const int64_t last = rest / vpp / 2 * vpp;
  return std::pair{rest - last, last};
}

/// Of Megatron-LM, those that are numbers of whole layers.
std::vector<Split> megatron_splits(const spec::Job& job, int64_t pp, int64_t vpp) {
  const int64_t layers = job.model.pipeline_layers(), chunks = pp * vpp;
  const bool even = layers % chunks == 0;
  std::vector<Split> all;
  if (even) all.push_back(Split::kGiven);
  if ((layers + 2) % chunks == 0) all.push_back(Split::kEmbeddingAndLoss);
  if ((layers + 1) % chunks == 0) all.push_back(Split::kLoss);
  const double mean = as_double(layers) / as_double(pp);
  const double room = even ? head_in_layers(job.model) : std::max(1.0, head_in_layers(job.model));
  if (as_double(longer_stage(layers, pp, vpp)) < mean + room) {
    if (short_ends(layers, pp, vpp, false)) all.push_back(Split::kShortLast);
    if (short_ends(layers, pp, vpp, true)) all.push_back(Split::kShortEnds);
  }
  return all;
}

}  // namespace

std::string_view to_word(Split split) {
  switch (split) {
    case Split::kGiven: return "even";
    case Split::kEmbeddingAndLoss: return "embedding and loss as layers";
    case Split::kLoss: return "loss as a layer";
    case Split::kShortLast: return "shorter last";
    case Split::kShortEnds: return "shorter first and last";
    case Split::kOwn: return "the framework's list";
  }
  return "";
}

std::vector<Split> splits_of(const spec::Job& job, int64_t pp, int64_t vpp) {
  const int64_t layers = job.model.pipeline_layers(), chunks = pp * vpp;
  const bool even = layers % chunks == 0;
  if (pp == 1) return {Split::kGiven};
  if (chunks > layers + 2) return {};
  if (job.training.framework == spec::Framework::kNanotron)
    return vpp == 1 ? std::vector{Split::kOwn} : std::vector<Split>(even ? 1 : 0);
  const bool deepspeed = job.software.name.find("deepspeed") != std::string::npos;
  if (deepspeed || job.training.framework == spec::Framework::kTorchFsdp)
    return {even ? Split::kGiven : Split::kOwn};
  std::vector<Split> different;
  std::vector<std::vector<int64_t>> seen;
  for (const Split split : megatron_splits(job, pp, vpp)) {
    std::vector<int64_t> list = chunk_layers(split, job, pp, vpp);
    if (base::contains(seen, list)) continue;
    seen.push_back(std::move(list));
    different.push_back(split);
  }
  if (different.empty() && (vpp == 1 || !interleaves_without_list(layers, pp)))
    different.push_back(Split::kOwn);
  return different;
}

void apply_split(Split split, const spec::Parallelism& given, spec::Job& job) {
  spec::Parallelism& p = job.parallelism;
  p.stage_layers = given.stage_layers;
  p.first_stage_layers = given.first_stage_layers;
  p.last_stage_layers = given.last_stage_layers;
  p.embedding_counts_as_layer = given.embedding_counts_as_layer;
  p.loss_counts_as_layer = given.loss_counts_as_layer;
  switch (split) {
    case Split::kGiven: return;
    case Split::kEmbeddingAndLoss: p.embedding_counts_as_layer = true; [[fallthrough]];
    case Split::kLoss: p.loss_counts_as_layer = true; return;
    case Split::kShortLast:
    case Split::kShortEnds:
      if (const auto ends =
              short_ends(job.model.pipeline_layers(), p.pp, p.vpp, split == Split::kShortEnds))
        std::tie(p.first_stage_layers, p.last_stage_layers) = *ends;
      return;
    case Split::kOwn: p.stage_layers = spec::own_stage_layers(job); return;
  }
}

}  // namespace ergometer::search
