#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

using Steps = std::vector<std::pair<int64_t, double>>;

Steps steps_of(const std::string& text) {
  const auto log = parse_telemetry(text, "node-0.log", {});
  EXPECT_TRUE(log) << base::error_of(log);
  Steps steps;
  if (!log || log->training.size() != 1) return steps;
  for (const run::TrainingStep& step : log->training[0].steps)
    steps.emplace_back(step.number, step.seconds);
  return steps;
}

TEST(StepLog, MegatronLm) {
  const char* text =
      "building GPT model ...\n"
      "[before the start of training step] datetime: 2024-05-15 09:12:20\n"
      " [2024-05-15 09:12:33.123456] iteration        1/      20 | consumed samples:          256 "
      "| elapsed time per iteration (ms): 12801.5 | learning rate: 1.500000E-07 | global batch "
      "size:   256 | lm loss: 1.081E+01 | loss scale: 1.0 | grad norm: 7.7 | number of skipped "
      "iterations:   0 | number of nan iterations:   0 |\n"
      "Number of parameters in billions: 8.03\n"
      " iteration        2/      20 | consumed samples:          512 | elapsed time per iteration "
      "(ms): 4213.7 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 3.0E-07 |\n";
  EXPECT_EQ(steps_of(text), (Steps{{1, 12.8015}, {2, 4.2137}}));
}

/// 15 May 2024, 09:12:33 UTC are 1,715,764,353 s since 1970; a line without a stamp says nothing.
TEST(StepLog, WhenStepsWere) {
  const auto log = parse_telemetry(
      " [2024-05-15 09:12:33.123456] iteration 1/ 20 | elapsed time per iteration (ms): 100.0 |\n"
      " iteration 2/ 20 | elapsed time per iteration (ms): 100.0 |\n",
      "node-0.log", {});
  ASSERT_TRUE(log);
  ASSERT_EQ(log->training.at(0).steps.size(), 2U);
  EXPECT_EQ(log->training[0].steps[0].end_ns, 1'715'764'353'123'000'000);
  EXPECT_EQ(log->training[0].steps[1].end_ns, 0);
}

/// A progress bar draws the same step several times, with carriage returns in between.
TEST(StepLog, Nemo1) {
  const char* text =
      "Epoch 0: :   2%|2         | 1/50 [00:21<17:29, v_num=, reduced_train_loss=11.0, "
      "global_step=0.000, consumed_samples=256.0, train_step_timing in s=21.40]\r"
      "Epoch 0: :   4%|4         | 2/50 [00:25<10:12, v_num=, reduced_train_loss=11.0, "
      "global_step=1.000, consumed_samples=512.0, train_step_timing in s=4.210]\r"
      "Epoch 0: :   4%|4         | 2/50 [00:25<10:12, v_num=, reduced_train_loss=11.0, "
      "global_step=1.000, consumed_samples=512.0, train_step_timing in s=4.210]\n";
  EXPECT_EQ(steps_of(text), (Steps{{0, 21.4}, {1, 4.21}}));
}

TEST(StepLog, Nemo2) {
  const char* text =
      "Training epoch 0, iteration 0/99 | lr: 1.5e-07 | global_batch_size: 256 | global_step: 0 | "
      "reduced_train_loss: 11.03 | train_step_timing in s: 34.62\n"
      "Training epoch 0, iteration 1/99 | lr: 3e-07 | global_batch_size: 256 | global_step: 1 | "
      "reduced_train_loss: 11.03 | train_step_timing in s: 4.21 | consumed_samples: 512\n";
  EXPECT_EQ(steps_of(text), (Steps{{0, 34.62}, {1, 4.21}}));
}

/// Time between lines, of coloured ones too; several ranks print the same step, and every tenth
/// step alone is printed.
TEST(StepLog, Torchtitan) {
  const char* text =
      "[rank0]:[titan] 2025-02-25 02:12:30,161 - root - INFO - Training starts at step 1.\n"
      "[rank0]:[titan] 2025-02-25 02:12:33,161 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss: "
      "12.2387  \x1b[33mmemory: 40.12GiB(42.23%)  \x1b[34mtps: 1,012  \x1b[36mtflops: 51.4  "
      "\x1b[35mmfu: 5.2%\x1b[39m\n"
      "[rank1]:[titan] 2025-02-25 02:12:33,163 - root - INFO - step:  1  loss: 12.2387  memory: "
      "40.12GiB(42.23%)  tps: 1,012  tflops: 51.4  mfu: 5.2%\n"
      "[rank0]:[titan] 2025-02-25 02:13:03,661 - root - INFO - step: 11  loss:  8.1  grad_norm:  "
      "1.2  memory: 40.12GiB(42.23%)  tps: 6,012  tflops: 313.4  mfu: 31.7%\n"
      "[rank0]:[titan] 2025-02-25 02:13:06,161 - root - INFO - step: 12  loss:  8.0  memory: "
      "40.12GiB(42.23%)  tps: 6,012  tflops: 313.4  mfu: 31.7%\n";
  EXPECT_EQ(steps_of(text), (Steps{{11, 3.05}, {12, 2.5}}));
  const auto log = parse_telemetry(text, "node-0.log", {});
  EXPECT_EQ(log->training.at(0).steps.at(0).tokens_per_s_per_gpu, 6012);
}

/// Numbers of three digits; the tokens too.
TEST(StepLog, Nanotron) {
  const char* text =
      "09/12/2024 10:12:33 [INFO|DP=0|PP=1|TP=0|node-0]: iteration: 1 / 100 | consumed_tokens: "
      "4.19M | elapsed_time_per_iteration_ms: 12.8K | tokens_per_sec: 328K | "
      "tokens_per_sec_per_gpu: 5.12K | global_batch_size: 1.02K | lm_loss: 10.8\n"
      "09/12/2024 10:12:34 [INFO|DP=0|PP=1|TP=0|node-0]: iteration: 2 / 100 | consumed_tokens: "
      "8.39M | time_per_iteration_ms: 812 | tokens_per_sec: 5.17M | lm_loss: 10.1\n";
  EXPECT_EQ(steps_of(text), (Steps{{1, 12.8}, {2, 0.812}}));
  EXPECT_EQ(parse_telemetry(text, "a.log", {})->training[0].steps[0].tokens_per_s_per_gpu, 5120);
}

/// Ten steps between two lines; of those that Megatron-LM's program tells as well, its word counts.
TEST(StepLog, DeepSpeed) {
  const std::string timer = "[INFO] [timer.py:260:stop] epoch=0/micro_step=20/global_step=";
  const std::string rate =
      ", RunningAvgSamplesPerSec=3.2, CurrSamplesPerSec=3.3, MemAllocated=1.2GB\n";
  EXPECT_EQ(steps_of("[2023-05-15 09:12:33,123] " + timer + "10" + rate +
                     "[2023-05-15 09:13:03,123] " + timer + "20" + rate),
            (Steps{{20, 3.0}}));
  EXPECT_EQ(steps_of(" iteration        9/  20 | elapsed time per iteration (ms): 4213.7 |\n"
                     "[2023-05-15 09:12:33,123] " +
                     timer + "10" + rate +
                     " iteration       10/  20 | elapsed time per iteration (ms): 4113.7 |\n"),
            (Steps{{9, 4.2137}, {10, 4.1137}}));
}

TEST(StepLog, MaxText) {
  const char* text =
      "Started an asynchronous checkpoint save for step 0\n"
      "completed step: 0, seconds: 41.302, TFLOP/s/device: 9.871, Tokens/s/device: 198.343, "
      "total_weights: 65536, loss: 12.187\n"
      "completed step: 1, seconds: 2.345, TFLOP/s/device: 173.842, Tokens/s/device: 3493.390, "
      "total_weights: 65536, loss: 11.903\n";
  EXPECT_EQ(steps_of(text), (Steps{{0, 41.302}, {1, 2.345}}));
  EXPECT_EQ(parse_telemetry(text, "x.log", {})->training.at(0).steps.at(1).tokens_per_s_per_gpu,
            3493.39);
}

/// Of iterations that are parts of a step how long the step took is not said.
TEST(StepLog, LitGpt) {
  const std::string first =
      "Epoch 1 | iter 4 step 4 | loss train: 10.897, val: n/a | iter time: 250.00 ms (step) "
      "remaining time: 0:51:11\n";
  EXPECT_EQ(steps_of(first +
                     "Epoch 1 | iter 5 step 5 | loss train: 10.411, val: 9.871 | iter time: 500.00 "
                     "ms (step) remaining time: 0:51:01\n"),
            (Steps{{4, 0.25}, {5, 0.5}}));
  EXPECT_FALSE(parse_telemetry(
      "Epoch 1 | iter 8 step 2 | loss train: 10.897, val: n/a | iter time: 345.67 ms (step)\n",
      "x.log", {}));
}

/// A rate below one step a second is told as seconds a step.
TEST(StepLog, Torchtune) {
  const std::string text =
      "1|1|Loss: 2.31:   0%|          | 1/150 [00:02<05:40,  2.35s/it]\r"
      "1|2|Loss: 2.29:   1%|1         | 2/150 [00:05<05:35,  2.25s/it]\r"
      "1|2|Loss: 2.29:   1%|1         | 2/150 [00:06<05:35,  2.20s/it]\r"
      "1|3|Loss: 2.30:   2%|2         | 3/150 [00:05<05:35,  4.00it/s]\n"
      "Map:  10%|#   | 10/100 [00:01<00:09, 10.0it/s]\n";
  EXPECT_EQ(steps_of(text), (Steps{{1, 2.35}, {2, 2.25}, {3, 0.25}}));
}

/// 1 / 0.25 s a batch; the device's rate is that of all divided by the devices.
TEST(StepLog, Composer) {
  const char* text =
      "[batch=1/4800]:\n"
      "\t Train time/batch: 0\n"
      "\t Train loss/train/total: 11.9012\n"
      "[batch=20/4800]:\n"
      "\t Train time/batch: 19\n"
      "\t Train loss/train/total: 9.8012\n"
      "\t Train throughput/batches_per_sec: 0.2500\n"
      "\t Train throughput/samples_per_sec: 64.0000\n"
      "\t Train throughput/device/batches_per_sec: 0.0312\n"
      "[epoch=1][batch=21/4800]:\n"
      "\t Train throughput/batches_per_sec: 0.2000\n";
  EXPECT_EQ(steps_of(text), (Steps{{20, 4.0}, {21, 5.0}}));
  EXPECT_EQ(parse_telemetry(text, "x.log", {})->notes,
            std::vector<std::string>{"x.log: a step's time is the mean over the window of the "
                                     "program's speed monitor"});
}

TEST(StepLog, OLMo) {
  const char* text =
      "2024-05-01 12:00:00.123\tnode-0:0\tolmo.train:816\tINFO\t[step=20/1000,epoch=0]\n"
      "    train/CrossEntropyLoss=8.871\n"
      "    throughput/total_tokens=83,886,080\n"
      "    throughput/device/tokens_per_second=9,412\n"
      "    throughput/device/batches_per_second=0.2500\n";
  EXPECT_EQ(steps_of(text), (Steps{{20, 4.0}}));
}

TEST(StepLog, OtherTextIsNoStepLog) {
  // The first one's rate is part of an escape that colours.
  for (const char* text :
       {"[titan] 2025-02-25 02:12:33,161 - step: 5 loss: 8.1 \x1b[tps:m\n",
        "elapsed time per iteration (ms): 4213.7\n",
        "iteration 5/20 | elapsed time per iteration (ms): nan |\n", "step: 1 loss: 2 tps: 3\n",
        "    throughput/device/batches_per_second=0.25\n",
        "[batch=2/9]:\n Train throughput/batches_per_sec: 0.0000\n"})
    EXPECT_FALSE(parse_telemetry(text, "x.log", {})) << text;
}

}  // namespace
}  // namespace ergometer::importer
