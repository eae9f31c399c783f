#include "launch/training.h"

#include <fmt/format.h>

#include "base/shell.h"
#include "launch/launchable.h"
#include "launch/megatron.h"
#include "launch/nemo.h"
#include "launch/scripts.h"
#include "launch/torchtitan.h"

namespace ergometer::launch {
namespace {

using spec::Job;

/// Up to where a framework's script and arguments begin.
std::string torchrun_text(const Job& job) {
  return fmt::format(
      "exec \"${{TORCHRUN[@]}}\" --nnodes {} --nproc-per-node {} --node-rank \"$NODE_RANK\" \\\n"
      "  --master-addr \"$MASTER_ADDR\" --master-port \"$MASTER_PORT\" \\\n",
      job.nodes(), gpus_per_node(job));
}

std::string head_text(std::string_view what) {
  return fmt::format(
      "#!/bin/bash\n"
      "# {}\n"
      "# Started by node.sh, within `ergometer record`, which has read settings.sh.\n"
      "set -euo pipefail\n"
      "# shellcheck source=/dev/null\n"
      "source \"$RUN/../../settings.sh\"\n\n",
      what);
}

/// The model's arguments without the vocabulary, which goes with the tokenizer, and with positions
/// for all of the sequence, which rotary ones have anyway.
Result<Arguments> model_arguments(const Job& job) {
  ERGOMETER_ASSIGN(Arguments model, megatron_model(job.model));
  std::erase_if(model.all, [](const Argument& a) { return a.name == "vocab-size"; });
  for (Argument& a : model.all)
    if (a.name == "max-position-embeddings" &&
        std::stoll(a.values.front()) < job.training.seq_length)
      a.values = {std::to_string(job.training.seq_length)};
  return model;
}

Arguments schedule_arguments(const Job& job, const TrainingRun& training) {
  Arguments to;
  to.add("train-iters", training.steps);
  to.add("seed", training.seed);
  to.add("lr", "1e-5");
  to.add("lr-decay-style", "constant");
  to.add("log-interval", 1);
  to.add("eval-interval", training.steps);
  to.add("eval-iters", 0);
  to.add_if(true, "log-throughput");
  // FSDP2 asserts that both are off.
  to.add_if(job.parallelism.fsdp && job.training.grad_accumulation_fusion,
            "no-gradient-accumulation-fusion");
  if (job.parallelism.fsdp) to.add("ckpt-format", "torch_dist");
  return to;
}

std::string array_text(const Arguments& arguments) {
  std::string text;
  for (const Argument& argument : arguments.all) {
    text += "  --" + argument.name;
    for (const std::string& value : argument.values) text += ' ' + base::shell_quoted(value);
    text += '\n';
  }
  return text;
}

/// Megatron-LM asserts 1 wherever tensor or context parallelism overlaps, and more for FSDP2 and
/// for experts' transfers beside compute.
int connections(const Job& job) {
  if (job.training.overlap_expert_parallel) return 32;
  return job.parallelism.fsdp ? 8 : 1;
}

/// Arguments that came after Megatron-Core 0.12.
void note_recent(const Job& job, std::vector<std::string>& notes) {
  const spec::Training& t = job.training;
  const auto note = [&](bool used, std::string_view argument) {
    if (used)
      notes.push_back(
          fmt::format("{} came after Megatron-Core 0.12: see that yours has it", argument));
  };
  const bool experts = job.model.experts.count > 0;
  note(t.precision == spec::Precision::kNvfp4, "--fp4-format");
  note(experts && (t.moe_dispatcher == spec::MoeDispatcher::kDeepEp ||
                   t.moe_dispatcher == spec::MoeDispatcher::kHybridEp),
       "--moe-flex-dispatcher-backend");
  note(experts && t.overlap_expert_parallel, "--overlap-moe-expert-parallel-comm");
  note(!job.parallelism.stage_layers.empty(), "--pipeline-model-parallel-layout");
}

Result<std::vector<TextFile>> megatron_files(const Job& job, const TrainingRun& training,
                                             std::vector<std::string>& notes) {
  ERGOMETER_TRY(megatron_check(job));
  ERGOMETER_ASSIGN(const Arguments model, model_arguments(job));
  note_recent(job, notes);
  const Arguments layout = megatron_layout(job);
  notes.insert(notes.end(), layout.notes.begin(), layout.notes.end());
  std::string text = head_text("Megatron-LM (Megatron-Core 0.12 and later).");
  text += fmt::format("export CUDA_DEVICE_MAX_CONNECTIONS={}\n", connections(job));
  text += "arguments=(\n" + array_text(model) + array_text(layout) +
          array_text(schedule_arguments(job, training)) + ")\n";
  text += fmt::format(
      "if [[ -n $DATA ]]; then\n"
      "  arguments+=(--data-path \"$DATA\" --split '100,0,0'\n"
      "    --tokenizer-type HuggingFaceTokenizer --tokenizer-model \"$TOKENIZER\")\n"
      "else\n"
      "  # The null tokenizer adds one token.\n"
      "  arguments+=(--mock-data --tokenizer-type NullTokenizer --vocab-size {})\n"
      "fi\n",
      job.model.vocab - 1);
  text += torchrun_text(job) + "  \"$FRAMEWORK/pretrain_gpt.py\" \"${arguments[@]}\"\n";
  return std::vector<TextFile>{{"train.sh", text}};
}

Result<std::vector<TextFile>> nemo_files(const Job& job, const TrainingRun& training,
                                         std::vector<std::string>& notes) {
  ERGOMETER_ASSIGN(std::string yaml, nemo_yaml(job, training.steps, notes));
  std::string text = head_text("NeMo 1 (24.x to 25.02).");
  text +=
      "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
      "# A value as Hydra reads it: in single quotes.\n"
      "hydra() { local value=${1//\\\\/\\\\\\\\}; printf \"'%s'\" \"${value//\\'/\\\\\\'}\"; }\n";
  text += fmt::format(
      "arguments=(\n"
      "  --config-path \"$RUN\" --config-name nemo\n"
      "  \"exp_manager.explicit_log_dir=$(hydra \"$ATTEMPT/nemo\")\"\n"
      "  ++model.seed={}\n"
      ")\n",
      training.seed);
  text +=
      "if [[ -n $DATA ]]; then\n"
      "  arguments+=(model.data.data_impl=mmap \"++model.data.data_prefix=[1.0,$(hydra "
      "\"$DATA\")]\"\n"
      "    \"++model.data.splits_string='100,0,0'\" model.tokenizer.library=huggingface\n"
      "    \"model.tokenizer.type=$(hydra \"$TOKENIZER\")\")\n"
      "fi\n";
  text += torchrun_text(job) +
          "  \"$FRAMEWORK/examples/nlp/language_modeling/megatron_gpt_pretraining.py\" "
          "\"${arguments[@]}\"\n";
  return std::vector<TextFile>{{"nemo.yaml", std::move(yaml)}, {"train.sh", text}};
}

Result<std::vector<TextFile>> torchtitan_files(const Job& job, const TrainingRun& training,
                                               std::vector<std::string>& notes) {
  ERGOMETER_ASSIGN(std::string toml, torchtitan_toml(job, training.steps, notes));
  std::string text = head_text("torchtitan (0.1 and 0.2).");
  text +=
      "# Its test data lies by relative path.\n"
      "CDPATH='' cd -- \"$FRAMEWORK\"\n"
      "arguments=(--job.config_file \"$RUN/torchtitan.toml\" --job.dump_folder "
      "\"$ATTEMPT/torchtitan\")\n"
      "if [[ -n $DATA ]]; then arguments+=(--training.dataset c4 --training.dataset_path "
      "\"$DATA\"); fi\n"
      "if [[ -n $TOKENIZER ]]; then arguments+=(\"$TITAN_TOKENIZER_OPTION\" \"$TOKENIZER\"); fi\n";
  text += torchrun_text(job) +
          "  --local-ranks-filter 0 --role rank --tee 3 -m torchtitan.train \"${arguments[@]}\"\n";
  return std::vector<TextFile>{{"torchtitan.toml", std::move(toml)}, {"train.sh", text}};
}

void note_conditions(const Job& job, std::vector<std::string>& notes) {
  if (job.training.packed_mean_length > 0 || !job.training.sequence_lengths.is_even())
    notes.emplace_back("documents are packed as the data has them, not as the job says");
  if (!job.training.moe_routing.is_even())
    notes.emplace_back("tokens choose experts as the router does, not as the job says");
  if (job.training.moe_redundant_experts > 0)
    notes.emplace_back(
        "every expert lies on one rank, without the copies predicted: no framework "
        "launched here has an option for them");
  if (job.training.moe_placement != spec::ExpertPlacement::kInOrder)
    notes.emplace_back(
        "experts lie in order on their ranks, not by load as predicted: no framework has an "
        "option for it");
  if (!job.conditions.overrides.empty())
    notes.emplace_back("overrides of single nodes and GPUs are predicted, and nothing sets them");
  if (job.conditions.constant_clocks)
    notes.emplace_back("the prediction has constant clocks; real ones move");
}

}  // namespace

Result<std::vector<TextFile>> training_files(Framework framework, const Job& job,
                                             const TrainingRun& training,
                                             std::vector<std::string>& notes) {
  ERGOMETER_TRY(check_launchable(job));
  note_conditions(job, notes);
  switch (framework) {
    case Framework::kMegatron: return megatron_files(job, training, notes);
    case Framework::kNemo: return nemo_files(job, training, notes);
    case Framework::kTorchtitan: return torchtitan_files(job, training, notes);
  }
  return std::vector<TextFile>{};
}

}  // namespace ergometer::launch
