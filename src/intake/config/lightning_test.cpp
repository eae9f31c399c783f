#include "intake/config/lightning.h"

#include <gtest/gtest.h>

#include "intake/reader/test_reading.h"

namespace ergometer::intake {
namespace {

std::string refusal_of(const Result<Reading>& reading) {
  return reading ? "" : reading.error().message;
}

constexpr std::string_view kProgram = R"(import lightning as L
from transformers import AutoModelForCausalLM
def main(nodes: int = 2):
    model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
    loader = DataLoader(data, batch_size=2, shuffle=True)
    val = DataLoader(other, batch_size=16)
    trainer = L.Trainer(devices=8, num_nodes=nodes, precision="bf16-mixed",
                        strategy=STRATEGY, accumulate_grad_batches=4)
)";

Result<Reading> with_strategy(const std::string& strategy) {
  std::string program(kProgram);
  program.replace(program.find("STRATEGY"), 8, strategy);
  return parse_lightning_python(program, "train.py");
}

TEST(Lightning, ReadsWhatATrainerIsTold) {
  const auto r = with_strategy("\"ddp\"");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "gpus"), "16");
  EXPECT_EQ(said(*r, "micro_batch_size"), "2");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "4");
  EXPECT_EQ(said(*r, "precision"), "bf16");
  EXPECT_EQ(said(*r, "zero"), "0");
  EXPECT_EQ(said(*r, "model"), "meta-llama/Llama-2-7b-hf");
  EXPECT_TRUE(r->unsaid.contains("seq_length"));
}

TEST(Lightning, ReadsEveryStrategy) {
  struct Case {
    const char *strategy, *zero, *fsdp, *shards;
  };
  for (const Case& it : std::initializer_list<Case>{
           {"\"fsdp\"", "3", "true", "-"},
           {"FSDPStrategy(sharding_strategy=\"SHARD_GRAD_OP\")", "2", "false", "-"},
           {"FSDPStrategy(sharding_strategy=ShardingStrategy.HYBRID_SHARD)", "3", "true", "8"},
           {"DDPStrategy(find_unused_parameters=False)", "0", "-", "-"},
           {"\"deepspeed_stage_3_offload\"", "3", "-", "-"},
           {"DeepSpeedStrategy(stage=1)", "1", "-", "-"}}) {
    const auto r = with_strategy(it.strategy);
    ASSERT_TRUE(r) << it.strategy << ": " << r.error().message;
    EXPECT_EQ(said(*r, "zero"), it.zero) << it.strategy;
    EXPECT_EQ(said(*r, "fsdp"), it.fsdp) << it.strategy;
    EXPECT_EQ(said(*r, "fsdp_shard_size"), it.shards) << it.strategy;
  }
  EXPECT_EQ(said(*with_strategy("\"deepspeed_stage_3_offload\""), "optimizer_cpu_offload"), "true");
  EXPECT_NE(refusal_of(with_strategy("XLAStrategy()")).find("allowed: ddp, fsdp"),
            std::string::npos);
}

TEST(Lightning, ReadsTheYamlOfItsCommandLine) {
  constexpr const char* kFile = R"(seed_everything: 1
trainer:
  devices: [0, 1, 2, 3]
  precision: 16-true
  strategy: {class_path: lightning.pytorch.strategies.FSDPStrategy, init_args: {cpu_offload: true}}
model: {class_path: own.Model, init_args: {model_name: gpt2-xl, lr: 0.1}}
data: {class_path: own.Data, init_args: {batch_size: 8, block_size: 1024}}
)";
  const auto r = parse_lightning(kFile, "fit.yaml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "gpus"), "4");
  EXPECT_EQ(said(*r, "precision"), "fp16");
  EXPECT_EQ(said(*r, "master_weights"), "false");
  EXPECT_EQ(said(*r, "zero"), "3");
  EXPECT_EQ(said(*r, "optimizer_cpu_offload"), "true");
  EXPECT_EQ(said(*r, "model"), "gpt2-xl");
  EXPECT_EQ(said(*r, "micro_batch_size"), "8");
  EXPECT_EQ(said(*r, "seq_length"), "1024");
  const auto more =
      parse_lightning(kFile, "fit.yaml", {{"trainer.devices", {"2", -1, "run.sh:3"}}});
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(said(*more, "gpus"), "2");
}

TEST(Lightning, LeavesOpenWhatItDoesNotSay) {
  const auto r = parse_lightning("seed_everything: 1\ntrainer: {devices: auto}\n", "fit.yaml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_TRUE(r->open.contains("gpus"));
  EXPECT_TRUE(r->open.contains("micro_batch_size"));
  EXPECT_EQ(said(*r, "precision"), "fp32");
  EXPECT_EQ(
      refusal_of(parse_lightning("seed_everything: 1\ntrainer: {precision: 64}\n", "fit.yaml")),
      "fit.yaml:2: trainer.precision: found \"64\"; allowed: bf16-mixed, bf16-true, 16-mixed, "
      "16-true, 32-true");
}

}  // namespace
}  // namespace ergometer::intake
