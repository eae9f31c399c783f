#include "intake/config/lightning.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "intake/reader/test_reading.h"

namespace ergometer::intake {
namespace {

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
  // DeepSpeedStrategy's own configuration overlaps at every stage.
  const auto overlap = [&](const std::string& strategy) {
    const auto r = with_strategy(strategy);
    const auto* said = r ? r->defaults.find("overlap_grad_reduce") : nullptr;
    return said == nullptr ? "-" : said->text;
  };
  EXPECT_EQ(overlap("DeepSpeedStrategy(stage=2)"), "true");
  EXPECT_EQ(overlap("DeepSpeedStrategy(stage=0)"), "false");
  EXPECT_EQ(
      said(*with_strategy("DeepSpeedStrategy(stage=2, overlap_comm=False)"), "overlap_grad_reduce"),
      "false");
  // Its own configuration says everything else.
  const auto own = parse_lightning(
      "trainer:\n  devices: 8\n  strategy:\n    class_path: a.DeepSpeedStrategy\n"
      "    init_args: {config: {zero_optimization: {stage: 3}}}\nmodel: {class_path: a.B}\n",
      "own.yaml");
  EXPECT_NE(base::error_of(own).find("give DeepSpeed's JSON"), std::string::npos);
  EXPECT_NE(base::error_of(with_strategy("XLAStrategy()")).find("allowed: ddp, fsdp"),
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
      base::error_of(parse_lightning("seed_everything: 1\ntrainer: {precision: 64}\n", "fit.yaml")),
      "fit.yaml:2: trainer.precision: found \"64\"; allowed: bf16-mixed, bf16-true, 16-mixed, "
      "16-true, 32-true");
}

TEST(Lightning, CountsAListOfGpusByItsItems) {
  struct Case {
    const char *yaml, *python, *gpus;
  };
  for (const Case& it : std::initializer_list<Case>{{"[3]", "[3]", "1"},
                                                    {"\"0,\"", "'0,'", "1"},
                                                    {"[0, 3]", "[0, 3]", "2"},
                                                    {"\"3\"", "'3'", "3"},
                                                    {"3", "3", "3"}}) {
    const auto yaml =
        parse_lightning(std::string("trainer: {devices: ") + it.yaml + "}\n", "fit.yaml");
    ASSERT_TRUE(yaml) << yaml.error().message;
    EXPECT_EQ(said(*yaml, "gpus"), it.gpus) << it.yaml;
    const auto python =
        parse_lightning_python(std::string("Trainer(devices=") + it.python + ")\n", "t.py");
    ASSERT_TRUE(python) << python.error().message;
    EXPECT_EQ(said(*python, "gpus"), it.gpus) << it.python;
  }
  const auto beside = parse_lightning("trainer: {devices: [0, 1]}\n", "fit.yaml",
                                      {{"trainer.devices", {"[3]", -1, "run.sh:3"}}});
  ASSERT_TRUE(beside);
  EXPECT_EQ(said(*beside, "gpus"), "1");
}

TEST(Lightning, ReadsTheFirstTrainerAlone) {
  const auto two = parse_lightning_python(
      "t = Trainer(devices=8, precision='bf16-mixed')\ntest = Trainer(devices=1, num_nodes=2)\n",
      "t.py");
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(said(*two, "gpus"), "8");
  EXPECT_EQ(said(*two, "precision"), "bf16");
  const auto either = parse_lightning_python(
      "if debug():\n  t = Trainer(devices=1)\nelse:\n  t = Trainer(devices=8)\n", "t.py");
  EXPECT_EQ(base::error_of(either),
            "t.py:2: which of the Trainers of lines 2 and 4 trains is known only when the script "
            "runs");
}

TEST(Lightning, SpreadsADictionaryThatIsKnown) {
  const auto known = parse_lightning_python(
      "cfg = dict(devices=[2], precision='16-mixed')\nTrainer(num_nodes=2, **cfg)\n", "t.py");
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(said(*known, "gpus"), "2");
  EXPECT_EQ(said(*known, "precision"), "fp16");
  EXPECT_EQ(base::error_of(parse_lightning_python("Trainer(devices=2, **cfg())\n", "t.py")),
            "t.py:1: Trainer's **cfg() is known only when the script runs; a literal can be read");
}

TEST(Lightning, TakesTheStrategyThatSurelyIsTheLast) {
  const auto strategy = [](const std::string& lines) {
    return parse_lightning_python(lines + "Trainer(devices=8, strategy=s)\n", "t.py");
  };
  const std::string first = "s = FSDPStrategy()\n", second = "s = DDPStrategy()\n";
  EXPECT_EQ(said(*strategy(first + second), "zero"), "0");
  EXPECT_EQ(said(*strategy(first + "if False:\n  " + second), "zero"), "3");
  EXPECT_NE(base::error_of(strategy(first + "if big():\n  " + second)).find("found \"s\""),
            std::string::npos);
  EXPECT_NE(
      base::error_of(strategy("s = FSDPStrategy() if big() else 'ddp'\n")).find("allowed: ddp"),
      std::string::npos);
}

TEST(Lightning, TellsTheModelFromItsTokenizer) {
  const auto r = parse_lightning(
      "trainer: {devices: 8}\ndata: {init_args: {tokenizer_name: gpt2, name: gpt2-xl}}\n"
      "model: {init_args: {teacher_model: gpt2-xl, model_name: gpt2-medium}}\n",
      "fit.yaml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "gpt2-medium");
  EXPECT_NE(base::error_of(parse_lightning("trainer: {devices: 8}\n"
                                           "model: {init_args: {tensor_parallel_size: 4}}\n",
                                           "fit.yaml"))
                .find("a size of parallelism is not read"),
            std::string::npos);
}

TEST(Lightning, TakesTheFirstLoadersBatch) {
  const auto batch = [](const std::string& first) {
    return parse_lightning_python(
        "Trainer(devices=8)\nDataLoader(" + first + ")\nDataLoader(v, batch_size=64)\n", "t.py");
  };
  EXPECT_EQ(said(*batch("t, 32"), "micro_batch_size"), "32");
  EXPECT_EQ(said(*batch("t, shuffle=True, batch_size=4"), "micro_batch_size"), "4");
  for (const char* open : {"t, size()", "t, batch_sampler=s"}) {
    EXPECT_EQ(said(*batch(open), "micro_batch_size"), "-") << open;
    EXPECT_TRUE(batch(open)->open.contains("micro_batch_size")) << open;
  }
}

TEST(Lightning, ReadsSwitchesThatAreReached) {
  const auto framework = [](const std::string& on) {
    return said(*parse_lightning_python("ON = " + on +
                                            "\nTrainer(devices=8)\nif ON:\n"
                                            "  m = torch.compile(m)\n",
                                        "t.py"),
                "software");
  };
  EXPECT_NE(framework("True"), framework("False"));
}

TEST(Lightning, LeavesFabricsAccumulationToItsLoop) {
  const std::string program = "fabric = Fabric(devices=8)\n";
  const auto plain = parse_lightning_python(program, "t.py");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->settings.find("gradient_accumulation_steps"), nullptr);
  EXPECT_EQ(said(*plain, "gradient_accumulation_steps"), "1");
  const auto open = parse_lightning_python(
      program + "with fabric.no_backward_sync(model, enabled=on):\n  pass\n", "t.py");
  ASSERT_TRUE(open);
  EXPECT_TRUE(open->open.contains("gradient_accumulation_steps"));
}

TEST(Lightning, TellsOfParametersOnTheHost) {
  EXPECT_TRUE(left(*with_strategy("\"deepspeed_stage_3_offload\""), Leftover::Kind::kNotModelled,
                   "trainer.strategy"));
  EXPECT_FALSE(left(*with_strategy("\"deepspeed_stage_2_offload\""), Leftover::Kind::kNotModelled,
                    "trainer.strategy"));
}

}  // namespace
}  // namespace ergometer::intake
