#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// Which of the Trainer's front ends the values are of: it decides what holds by default.
enum class TrainerKind { kPlain, kTrl, kLlamaFactory };

/// One argument of a training script built on Hugging Face's Trainer.
struct TrainerArgument {
  std::string name;   ///< "per_device_train_batch_size", with or without dashes in front
  std::string value;  ///< empty: a switch that is on
  int line = 0;
};

/// Arguments of a training script: `--per_device_train_batch_size 4 --bf16 True --deepspeed
/// ds.json`. The last of a name counts. Paths are looked for beside `file` and where the command
/// runs. Plain ones are LLaMA-Factory's where words say so that it alone has (finetuning_type).
/// `values`: what the program says where they do not.
Result<Reading> read_trainer_arguments(const std::vector<TrainerArgument>& arguments,
                                       const std::string& file,
                                       TrainerKind kind = TrainerKind::kPlain,
                                       spec::FlatYaml values = {});
/// Whose file of arguments it is, by words that only one front end has.
TrainerKind kind_of_trainer_file(const spec::FlatYaml& values);
/// What a file of arguments says, JSON or YAML: as flat values are, without nulls, but for
/// max_length, which says None as Python does.
Result<spec::FlatYaml> trainer_values(const std::string& text, const std::string& file);
/// TrainingArguments as JSON or YAML, TRL's and LLaMA-Factory's files among them. `overrides` are
/// words of the command line.
Result<Reading> parse_trainer_file(const std::string& text, const std::string& file,
                                   const spec::FlatYaml& overrides = {});
/// What is said of training on answers that the model itself generates.
inline constexpr std::string_view kIsReinforcement =
    "a loop of generation and training (reinforcement learning), which is not modelled; the "
    "training step of its actor alone can be predicted: give its model and batch as options "
    "(`ergometer simulate --help`)";
/// Of a program whose own loop leaves out no reduction of FSDP's: among its words for the reader.
inline constexpr const char* kReducesEach = "program.reduces_every_micro_batch";
/// In what it reduces gradients, where it says so: "float32", "bfloat16".
inline constexpr const char* kReducesIn = "program.reduce_dtype";
/// GradientAccumulationPlugin(sync_each_batch=True) of accelerate's.
inline constexpr const char* kSyncsEach = "program.sync_each_batch";

/// What a prediction leaves out of packing whose attention stays within each document.
inline constexpr const char* kPackedDocuments =
    "time: attention only within each packed document; predicted over whole sequences, "
    "--packed-mean-length says how long documents are";
/// What a prediction leaves out of batches whose sequences lie behind each other.
inline constexpr const char* kNoPadding =
    "time and memory: sequences of a batch lie behind each other without padding; predicted as "
    "long as the longest, --sequence-lengths with --sequence-batching variable says how long they "
    "are";
/// What a prediction leaves out of copies on a part of the ranks each.
inline constexpr const char* kPartlySharded =
    "memory and time: copies are sharded over a part of the ranks each, which is modelled only "
    "where parameters are freed behind their forward; predicted as sharded over all";
/// What is assumed of texts of at most so many tokens that are not packed.
std::string unpacked_note(std::string_view length);
/// What a prediction leaves out of DPO and its relatives.
Leftover preference_training(std::string_view name, const std::string& where);
/// "dpo", "kto", "rm", ...: training that is not on texts alone.
bool is_preference_training(std::string_view word);

Result<Reading> read_trainer(const spec::FlatYaml& values, const std::string& file,
                             TrainerKind kind);

/// Adapters and quantized weights.
void read_trainer_adapters(FlatReader& read, TrainerKind kind);
/// FSDP, DeepSpeed and what accelerate is told. `values`: those that `read` reads, to which files
/// that they name are added. `compiles`: torch_compile.
Result<void> read_trainer_sharding(FlatReader& read, spec::FlatYaml& values, bool compiles);

/// PyTorch's words for how FSDP shards, as refusals name them.
inline constexpr const char* kShardingStrategies =
    "FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD, NO_SHARD";
/// PyTorch's "full_shard", "SHARD_GRAD_OP", ... as settings, from what stands at `key`. False if
/// the word is none. `node_gpus`: GPUs of a node, which hold one copy of a hybrid shard; 0: not
/// known.
bool read_sharding_strategy(FlatReader& read, std::string_view strategy, std::string_view key,
                            int64_t node_gpus = 0);
/// A copy of the parameters is sharded over `shards` ranks and over those that share a sequence
/// with them: PyTorch's mesh "dp_shard_cp". Call it behind the context-parallel degree.
void read_hybrid_shards(FlatReader& read, int64_t shards, std::string_view key);
/// Takes a size of shards back where another key says that parameters stay gathered.
void settle_shard_size(FlatReader& read);
/// FSDP's backward_prefetch, of which the default is predicted.
void read_backward_prefetch(FlatReader& read, std::string_view key);

}  // namespace ergometer::intake
