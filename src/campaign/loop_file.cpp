#include "campaign/loop_file.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/check.h"
#include "spec/job/measure_range.h"
#include "spec/job/sequence_lengths.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::campaign {
namespace {

using spec::YamlMap;

constexpr int64_t kMostPrompts = 1'000'000, kMostLoopTokens = 10'000'000;
constexpr int64_t kMostAnswers = 10'000'000;  // a length each is drawn
constexpr std::array<std::string_view, 10> kPhaseKeys = {"name",          "does",
                                                         "pool",          "param_offload",
                                                         "grad_offload",  "optimizer_offload",
                                                         "max_num_seqs",  "ppo_epochs",
                                                         "feeds_rollout", "weights_of"};

bool flag(YamlMap& map, std::string_view key) { return map.choice(key, {"false", "true"}, 0) == 1; }

void read_lengths(YamlMap& map, LoopProgram& loop) {
  loop.prompt_length = map.integer("prompt_length", 0, 1, kMostLoopTokens);
  loop.max_response_length = map.integer("max_response_length", 0, 1, kMostLoopTokens);
  auto lengths = spec::parse_sequence_lengths(map.text("response_length", "even"));
  if (!lengths) return map.refuse("response_length", lengths.error().message);
  if (lengths->has_images())
    return map.refuse("response_length", "answers are text; images are no length of theirs");
  loop.response_length = *std::move(lengths);
}

void read_tools(YamlMap& map, LoopProgram& loop) {
  constexpr double kLongestCall = 86'400;
  loop.tool_calls = map.integer("tool_calls", 0, 1, kMostPrompts);
  loop.tool_seconds = map.real("tool_seconds", 0, 0, kLongestCall);
  loop.tool_tokens = map.integer("tool_tokens", 0, 0, kMostLoopTokens);
  for (const char* key : {"tool_seconds", "tool_tokens"})
    if (map.has(key) && loop.tool_calls == 0) map.refuse(key, "needs tool_calls");
}

void read_loop(YamlMap& map, LoopProgram& loop) {
  map.allow({"name", "train_batch_size", "n", "prompt_length", "response_length",
             "max_response_length", "tool_calls", "tool_seconds", "tool_tokens", "seed",
             "staleness", "host_bandwidth"});
  for (const char* key : {"train_batch_size", "prompt_length", "max_response_length"})
    map.require(key);
  loop.name = map.text("name", "loop");
  loop.prompts = map.integer("train_batch_size", 0, 1, kMostPrompts);
  loop.samples = map.integer("n", 1, 1, kMostPrompts);
  if (loop.prompts * loop.samples > kMostAnswers)
    map.refuse("n", "found {} answers to each of {} prompts; allowed: {} answers in all",
               loop.samples, loop.prompts, kMostAnswers);
  loop.seed = map.integer("seed", 1, 0, kMostPrompts);
  loop.staleness = map.integer("staleness", 0, 0, 1000);
  read_lengths(map, loop);
  read_tools(map, loop);
  if (!map.has("host_bandwidth")) return;
  const auto rate = spec::MeasureRange{"B/s", 1e6, 1e13}.read(map.text("host_bandwidth"));
  if (!rate) map.refuse("host_bandwidth", rate.error().message);
  loop.host_bytes_per_s = rate.value_or(1);
}

/// Settings that follow from the loop.
void refuse_settings_of_loop(YamlMap& map, const LoopPhase& phase) {
  for (const char* word : {"mode", "generate_tokens", "seq_length", "sequence_lengths"})
    if (const spec::SettingInfo* info = spec::find_setting(word);
        phase.settings.find(info->name) != nullptr)
      map.refuse("does", "the loop says what {} of {} is; leave it out", info->name, phase.name);
  const std::vector<std::string_view> sizes =
      phase.does == Does::kRollout
          ? std::vector<std::string_view>{"micro_batch_size", "global_batch_size"}
      : phase.does == Does::kScore ? std::vector<std::string_view>{"global_batch_size"}
                                   : std::vector<std::string_view>{};
  for (const std::string_view name : sizes)
    if (phase.settings.find(name) != nullptr)
      map.refuse("does", "the loop says what {} of {} is; leave it out", name, phase.name);
}

LoopPhase read_phase(YamlMap& map, const std::string& file, const spec::Settings& common) {
  map.require("name");
  map.require("does");
  LoopPhase phase;
  phase.name = map.text("name");
  phase.line = map.line_of("name");
  phase.does = static_cast<Does>(map.choice("does", {"rollout", "score", "train"}, 0));
  phase.pool = map.text("pool", "all");
  phase.param_offload = flag(map, "param_offload");
  phase.grad_offload = flag(map, "grad_offload");
  phase.optimizer_offload = flag(map, "optimizer_offload");
  phase.max_num_seqs = map.integer("max_num_seqs", 0, 1, kMostPrompts);
  phase.ppo_epochs = map.integer("ppo_epochs", 1, 1, 1000);
  phase.feeds_rollout = map.choice("feeds_rollout", {"false", "true"}, 1) == 1;
  phase.weights_of = map.text("weights_of", "");
  if (map.has("weights_of") && phase.does != Does::kScore)
    map.refuse("weights_of", "is for a phase that scores");
  for (const char* key : {"grad_offload", "optimizer_offload", "ppo_epochs", "feeds_rollout"})
    if (map.has(key) && phase.does != Does::kTrain) map.refuse(key, "is for a phase that trains");
  if (map.has("param_offload") && phase.does == Does::kRollout)
    map.refuse("param_offload", "a rollout's weights come anew from the trained phase");
  if (map.has("max_num_seqs") && phase.does != Does::kRollout)
    map.refuse("max_num_seqs", "is for a rollout");
  phase.settings = common;
  phase.settings.merge(spec::read_settings(map, file, kPhaseKeys));
  refuse_settings_of_loop(map, phase);
  return phase;
}

/// One rollout, and one trained phase that its weights come from.
Result<void> check_phases(const LoopProgram& loop) {
  const auto count = [&](const auto& is) { return std::ranges::count_if(loop.phases, is); };
  for (const Does needed : {Does::kRollout, Does::kTrain})
    if (const auto found = count([&](const LoopPhase& phase) { return phase.does == needed; });
        found == 0 || (needed == Does::kRollout && found > 1))
      return input_error("{}: phases: a loop has one phase that does {}", loop.file,
                         to_word(needed));
  if (count([](const LoopPhase& p) { return p.does == Does::kTrain && p.feeds_rollout; }) != 1)
    return input_error(
        "{}: phases: a rollout has the weights of one phase that trains; say feeds_rollout: false "
        "of all others",
        loop.file);
  for (const LoopPhase& phase : loop.phases) {
    if (phase.weights_of.empty()) continue;
    const auto owner = std::ranges::find(loop.phases, phase.weights_of, &LoopPhase::name);
    if (owner == loop.phases.end() || owner->does != Does::kTrain || owner->pool != phase.pool)
      return input_error(
          "{}:{}: phase {}: weights_of: found \"{}\"; allowed: a phase that trains "
          "on the same pool",
          loop.file, phase.line, phase.name, phase.weights_of);
    if (phase.param_offload)
      return input_error("{}:{}: phase {}: param_offload is said by {}, whose weights it runs",
                         loop.file, phase.line, phase.name, phase.weights_of);
  }
  return {};
}

}  // namespace

std::string_view to_word(Does does) {
  switch (does) {
    case Does::kRollout: return "rollout";
    case Does::kScore: return "score";
    case Does::kTrain: return "train";
  }
  ERGOMETER_CHECK(false, "every kind of phase is listed");
}

Result<LoopProgram> parse_loop(const std::string& text, const std::string& file) {
  constexpr std::array<std::string_view, 2> kOwn = {"loop", "phases"};
  ERGOMETER_ASSIGN(YamlMap top, YamlMap::parse(text, file));
  top.require("loop");
  top.require("phases");
  LoopProgram loop;
  loop.file = file;
  if (auto map = top.map("loop")) read_loop(*map, loop);
  const spec::Settings common = spec::read_settings(top, file, kOwn);
  std::set<std::string> names;
  for (YamlMap& map : top.maps("phases")) {
    loop.phases.push_back(read_phase(map, file, common));
    if (!names.insert(loop.phases.back().name).second)
      map.refuse("name", "another phase is called so");
  }
  if (top.error()) return tl::unexpected(*top.error());
  ERGOMETER_TRY(check_phases(loop));
  return loop;
}

}  // namespace ergometer::campaign
