#include "spec/files/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "spec/catalog/read.h"
#include "spec/job/adjustments.h"

namespace ergometer::spec {
namespace {

bool mentions(const std::vector<std::string>& texts, std::string_view word) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(word) != text.npos; });
}

class StudyMatrix : public testing::Test {
 protected:
  void SetUp() override {
    auto rows = read_matrix("charllm-matrix");
    ASSERT_TRUE(rows) << rows.error().message;
    rows_ = std::move(*rows);
  }
  std::vector<MatrixRow> rows_;
};

TEST_F(StudyMatrix, EveryRowIsAJobOrRefusedForWhatItsFlagsSay) {
  // Flags that mean that the row cannot run, against flags that only say that it is odd.
  // Layers that do not divide are divided unevenly.
  const std::vector<std::string> fatal = {"gbs-not-divisible", "wrong-model-dims",
                                          "trainer.num_nodes!=sbatch", "sh-uses-other-config-dir",
                                          "stray-copy-of-other-model"};
  ASSERT_EQ(rows_.size(), 386u);
  int jobs = 0;
  for (const MatrixRow& row : rows_) {
    const bool doomed =
        std::any_of(row.flags.begin(), row.flags.end(), [&](const std::string& flag) {
          return std::find(fatal.begin(), fatal.end(), flag) != fatal.end();
        });
    const auto job = resolve(row.settings);
    const bool refused = row.refusal || !job;
    EXPECT_EQ(refused, doomed) << row.yaml << ": "
                               << row.refusal.value_or(job ? "a job" : job.error().message);
    jobs += refused ? 0 : 1;
  }
  EXPECT_EQ(jobs, 386 - 92);
}

TEST_F(StudyMatrix, TheReasonNamesTheFlaggedDefect) {
  for (const MatrixRow& row : rows_) {
    const auto job = resolve(row.settings);
    const std::string reason = row.refusal.value_or("") + (job ? "" : job.error().message);
    for (const std::string& flag : row.flags) {
      if (flag == "gbs-not-divisible") {
        EXPECT_NE(reason.find("is not divisible by micro batch x data parallel"), reason.npos)
            << row.yaml << reason;
      } else if (flag == "layers%PP!=0") {
        ASSERT_TRUE(job) << row.yaml << reason;
        EXPECT_EQ(adjustments(*job).size(), 1u) << row.yaml;
      } else if (flag.starts_with("cc-variant") || flag.starts_with("figure-label") ||
                 flag.starts_with("zeus-dir")) {
        EXPECT_TRUE(mentions(row.notes, flag)) << row.yaml << " " << flag;
      }
    }
  }
}

TEST_F(StudyMatrix, OverlapNotesAreExactlyTheFlaggedOnes) {
  int noops = 0;
  for (const MatrixRow& row : rows_) {
    const bool flagged =
        std::find(row.flags.begin(), row.flags.end(), "cc-variant-is-noop") != row.flags.end();
    EXPECT_EQ(mentions(row.notes, "cc-variant-is-noop"), flagged) << row.yaml;
    noops += flagged ? 1 : 0;
  }
  EXPECT_EQ(noops, 20);
}

TEST_F(StudyMatrix, OneRowByHand) {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [](const MatrixRow& r) {
    return r.family == "optimization-sweep-h200" && r.config_id == "llama3-70b_2_11000";
  });
  ASSERT_NE(row, rows_.end());
  const auto job = resolve(row->settings);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->model.name, "llama3-70b");
  EXPECT_EQ(job->cluster.name, "charllm-h200");
  EXPECT_EQ(job->gpus, 32);
  EXPECT_EQ(job->parallelism.tp, 4);
  EXPECT_EQ(job->parallelism.pp, 4);
  EXPECT_EQ(job->parallelism.dp, 2);
  EXPECT_EQ(job->micro_batches(), 64);
  EXPECT_EQ(job->training.seq_length, 8192);
  EXPECT_EQ(job->training.recompute, Recompute::kFull);
  EXPECT_EQ(job->training.recompute_method, RecomputeMethod::kBlock);
  EXPECT_EQ(job->training.recompute_layers, 20);  // 80 layers on 4 stages
  EXPECT_TRUE(job->training.overlap_tp);
  EXPECT_TRUE(job->training.overlap_grad_reduce);
  EXPECT_TRUE(job->training.batch_p2p_sync);
  EXPECT_FALSE(job->training.overlap_p2p);
  EXPECT_EQ(job->parallelism.zero_stage, 1);
  EXPECT_EQ(job->model.vocab, 128256);
  EXPECT_EQ(job->model.kv_heads, 8);
  EXPECT_EQ(job->model.norm, NormKind::kRmsNorm);
  EXPECT_FALSE(job->model.qkv_bias);
  EXPECT_FALSE(job->model.tied_embeddings);
}

TEST_F(StudyMatrix, FsdpLoraAndInferenceRows) {
  std::map<std::string, int> modes;
  for (const MatrixRow& row : rows_) {
    const auto job = resolve(row.settings);
    if (row.refusal || !job) continue;
    if (job->parallelism.fsdp) ++modes["fsdp"];
    if (job->training.mode == Mode::kLora) ++modes["lora"];
    if (job->training.mode == Mode::kDecode) ++modes["decode"];
    EXPECT_EQ(job->training.generate_tokens, job->training.mode == Mode::kDecode ? 32 : 0);
    EXPECT_EQ(job->training.lora_rank, job->training.mode == Mode::kLora ? 32 : 0);
  }
  EXPECT_EQ(modes["fsdp"], 16);  // 24 files, 8 of which ask for four of eight nodes
  EXPECT_GT(modes["lora"], 20);
  EXPECT_GT(modes["decode"], 40);
}

TEST(Matrix, SaysWhichColumnIsMissing) {
  const auto rows = parse_matrix("family,config_id\na,b\n", "m.csv");
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().message, "m.csv:1: column dir_model is missing");
  EXPECT_EQ(parse_matrix("", "m.csv").error().message,
            "m.csv: is empty; expected a matrix of configurations");
}

}  // namespace
}  // namespace ergometer::spec
