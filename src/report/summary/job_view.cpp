#include "report/summary/job_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/collection.h"

namespace ergometer::report {
namespace {

using Json = nlohmann::json;

/// The member, or null: a Run from elsewhere may lack any of them.
const Json& member(const Json& object, const char* name) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

std::string text(const Json& object, const char* name) {
  const Json& found = member(object, name);
  return found.is_string() ? found.get<std::string>() : std::string();
}

int64_t integer(const Json& object, const char* name) {
  const Json& found = member(object, name);
  return found.is_number() ? found.get<int64_t>() : 0;
}

double real(const Json& object, const char* name) {
  const Json& found = member(object, name);
  return found.is_number() ? found.get<double>() : 0;
}

bool truth(const Json& object, const char* name) {
  const Json& found = member(object, name);
  return found.is_boolean() && found.get<bool>();
}

/// What differs from a job that says nothing about its surroundings.
std::vector<std::string> conditions_of(const Json& conditions) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const char* before, const char* after, double scale = 1) {
    if (member(conditions, name).is_number())
      words.push_back(fmt::format("{}{:g}{}", before, scale * real(conditions, name), after));
  };
  if (text(conditions, "clocks") == "constant") words.emplace_back("constant clocks");
  const std::string cooling = text(conditions, "cooling");
  if (cooling == "liquid" || cooling == "immersion") words.push_back(cooling + " cooling");
  add("inlet_c", "inlet ", " C");
  add("fan", "fans ", " %", 100);
  add("power_cap_w", "power cap ",
      truth(conditions, "power_cap_is_board_limit") ? " W (the board's limit)" : " W");
  add("lock_clock_mhz", "clock lock ", " MHz");
  add("cluster_cap_w", "cluster cap ", " kW", 1e-3);
  add("duration_s", "", " s from a cold start");
  add("measured_step", "step ", " from a cold start");
  add("start_c", "GPUs at ", " C at the start");
  if (real(conditions, "seed") != 0) add("seed", "silicon ", "");
  if (member(conditions, "operand_activity").is_number() &&
      real(conditions, "operand_activity") < 1)
    add("operand_activity", "operand activity ", "");
  if (real(conditions, "pue") > 1) add("pue", "PUE ", "");
  if (member(conditions, "run_phases").is_object()) words.emplace_back("phases of the run");
  if (member(conditions, "power_smoothing").is_object()) words.emplace_back("power smoothing");
  if (const Json& overrides = member(conditions, "overrides"); overrides.is_array())
    for (const Json& one : overrides) words.push_back(text(one, "text"));
  return words;
}

/// What the cluster's groups of unlike nodes say under `name`, each once.
std::vector<std::string> of_groups(const Json& cluster, const char* name) {
  std::vector<std::string> words;
  const Json& groups = member(cluster, "groups");
  if (!groups.is_array()) return words;
  for (const Json& group : groups)
    if (std::string word = text(group, name); !word.empty() && !base::contains(words, word))
      words.push_back(std::move(word));
  return words;
}

/// The cluster's GPU, or all kinds of one with unlike nodes: "A100-SXM4-80GB and H100-SXM5-80GB".
std::string gpus_text(const Json& cluster) {
  const std::vector<std::string> kinds = of_groups(cluster, "gpu");
  return kinds.empty() ? text(cluster, "gpu") : fmt::format("{}", fmt::join(kinds, " and "));
}

/// "4 planes, 1 of them down; a message has one of them".
std::string planes_text(const Json& cluster) {
  const int64_t planes = integer(cluster, "planes"), down = integer(cluster, "planes_down");
  if (planes < 2) return "";
  return fmt::format("{} planes{}; a message {}", planes,
                     down > 0 ? fmt::format(", {} of them down", down) : "",
                     truth(cluster, "spray") ? "is cut over all that are up" : "has one of them");
}

/// "dragonfly: local 32, global 74, adaptive routing", "optical: ring 16 by 2 links, ...",
/// "optical: in passes stage 4 by 4 links, at the end ring 16 by 3 links, ...".
std::string wiring_text(const Json& cluster) {
  std::string sizes, phase;
  for (const Json& it : member(cluster, "dimensions")) {
    sizes += sizes.empty() ? "" : ", ";
    if (const std::string here = text(it, "phase"); here != phase)
      sizes += (phase = here) == "passes" ? "in passes " : "at the step's end ";
    sizes += fmt::format("{} {}", text(it, "name"), integer(it, "size"));
    if (const int64_t links = integer(it, "links"); links > 0)
      sizes += fmt::format(" by {} link{}", links, links == 1 ? "" : "s");
  }
  if (sizes.empty()) return planes_text(cluster);
  const std::string routing = text(cluster, "routing");
  return fmt::format("{}: {}{}; of each dimension the fullest link", text(cluster, "fabric"), sizes,
                     routing.empty() ? "" : ", " + routing + " routing");
}

/// "PCIe: 2 sockets, 4 switches, GPUs read each other's memory, ...".
std::string pcie_text(const Json& cluster) {
  const Json& pcie = member(cluster, "pcie");
  if (!pcie.is_object()) return "";
  const auto counted = [&](const char* name, const char* one) {
    const int64_t count = integer(pcie, name);
    return fmt::format("{} {}", count, count == 1 ? one : name);
  };
  const bool mixed = member(cluster, "groups").is_array();  // whose links have no rows
  return fmt::format("PCIe{}: {}, {}{}{}{}", mixed ? " of " + text(cluster, "node") : "",
                     counted("sockets", "socket"), counted("switches", "switch"),
                     truth(pcie, "peer_to_peer") ? "" : ", between GPUs through the host's memory",
                     truth(pcie, "gpudirect") ? "" : ", to NICs through the host's memory",
                     mixed ? "" : "; the fullest link of each kind");
}

void find_assumed_power(const Json& cluster, JobView& view) {
  const auto take = [&](const Json& part) {
    if (!truth(part, "gpu_power_assumed"))
      view.power_of_others = true;
    else if (std::string gpu = text(part, "gpu"); !base::contains(view.power_assumed, gpu))
      view.power_assumed.push_back(std::move(gpu));
  };
  const Json& groups = member(cluster, "groups");
  if (!groups.is_array()) return take(cluster);
  for (const Json& group : groups) take(group);
}

void take_model(const Json& model, JobView& view) {
  view.model = text(model, "name");
  view.parameters = real(model, "parameters");
  view.active_parameters = real(model, "active_parameters");
}

void take_recipe(const Json& recipe, JobView& view) {
  view.recipe = text(recipe, "name");
  view.recipe_title = text(recipe, "title");
  view.recipe_source = text(recipe, "source");
}

void take_cluster(const Json& cluster, JobView& view) {
  view.cluster = text(cluster, "name");
  view.gpu = gpus_text(cluster);
  find_assumed_power(cluster, view);
  view.vendors = of_groups(cluster, "gpu_vendor");
  view.fabric = text(cluster, "fabric");
  view.wiring = wiring_text(cluster);
  view.pcie = pcie_text(cluster);
  view.gpus = integer(cluster, "gpus");
  view.nodes = integer(cluster, "nodes");
}

void take_layout(const Json& layout, JobView& view) {
  view.tp = integer(layout, "tp");
  view.cp = integer(layout, "cp");
  view.pp = integer(layout, "pp");
  view.vpp = integer(layout, "vpp");
  view.dp = integer(layout, "dp");
  view.ep = integer(layout, "ep");
  view.etp = integer(layout, "etp");
  view.zero = integer(layout, "zero");
  view.fsdp = truth(layout, "fsdp");
  view.fsdp_shard_size = integer(layout, "fsdp_shard_size");
  view.sequence_parallel = truth(layout, "sequence_parallel");
  view.schedule = text(layout, "schedule");
  view.vocabulary = text(layout, "vocabulary_parallel");
  view.stage_training = text(layout, "stage_training");
}

void take_training(const Json& training, JobView& view) {
  view.mode = text(training, "mode");
  view.precision = text(training, "precision");
  view.recompute = text(training, "recompute");
  view.recompute_method = text(training, "recompute_method");
  view.recompute_layers = integer(training, "recompute_num_layers");
  view.micro_batch = integer(training, "micro_batch_size");
  view.global_batch = integer(training, "global_batch_size");
  view.least_batch = truth(training, "least_batch");
  view.micro_batches = integer(training, "micro_batches");
  view.seq_length = integer(training, "seq_length");
  view.generate_tokens = integer(training, "generate_tokens");
  view.lora_rank = integer(training, "lora_rank");
  view.quantize = text(training, "quantize");
  view.optimizer_moments = text(training, "optimizer_moments");
  view.packed_mean_length = integer(training, "packed_mean_length");
  view.masterless = member(training, "master_weights").is_boolean();
  view.images = integer(training, "images_per_sample");
  view.tiles_per_image = integer(training, "tiles_per_image");
  view.tokens_per_image = integer(training, "image_tokens");
  view.images_left_out = real(training, "images_left_out");
  if (const Json& frozen = member(training, "freeze"); frozen.is_array())
    for (const Json& part : frozen)
      if (part.is_string()) view.frozen.push_back(part.get<std::string>());
}

}  // namespace

JobView view_job(const std::string& job_json) {
  const Json job = Json::parse(job_json, nullptr, /*allow_exceptions=*/false);
  JobView view;
  take_model(member(job, "model"), view);
  take_recipe(member(job, "recipe"), view);
  take_cluster(member(job, "cluster"), view);
  take_layout(member(job, "parallelism"), view);
  take_training(member(job, "training"), view);
  const Json& conditions = member(job, "conditions");
  view.cooling = text(conditions, "cooling");
  view.conditions = conditions_of(conditions);
  view.power_smoothing = member(conditions, "power_smoothing").is_object();
  return view;
}

std::string recipe_words(const JobView& job) {
  const std::string name = fmt::format("recipe {} ({})", job.recipe, job.recipe_title);
  if (job.recipe_source == "inferred")
    return fmt::format("{}: no software was named; --software NAME does", name);
  return job.recipe_source == "file" ? fmt::format("{}, as the file's framework", name) : name;
}

}  // namespace ergometer::report
