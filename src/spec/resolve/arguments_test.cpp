#include <gtest/gtest.h>
#include <unistd.h>

#include "spec/files/test_file.h"
#include "spec/job/pipeline_layout.h"
#include "spec/model/layer_pattern.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {
namespace {

using Texts = std::vector<std::string>;

TEST(LayerPattern, PythonLists) {
  using List = std::vector<int64_t>;
  EXPECT_EQ(*parse_layer_pattern("([0]*2+[1]*3)", 100), (List{0, 0, 1, 1, 1}));
  EXPECT_EQ(*parse_layer_pattern("[0, 1]*2", 100), (List{0, 1, 0, 1}));
  EXPECT_FALSE(parse_layer_pattern("[0]*1000000", 100));
  EXPECT_FALSE(parse_layer_pattern("[0", 100));
  EXPECT_FALSE(parse_layer_pattern("[]", 100));
  EXPECT_FALSE(parse_layer_pattern("", 100));
  // A list of YAML's as it is read.
  EXPECT_EQ(*parse_layer_pattern("1,0,1", 100), (List{1, 0, 1}));
}

TEST(AttentionWindow, CountsATokenItself) {
  EXPECT_EQ(parse_attention_window("127,0"), 128);
  EXPECT_EQ(parse_attention_window("(127, 127)"), 128);
  EXPECT_EQ(parse_attention_window("[-1, -1]"), 0);
  for (const char* wrong : {"", "128", "-2,0", "1,2,3", "a,b"})
    EXPECT_FALSE(parse_attention_window(wrong)) << wrong;
}

TEST(PipelineLayout, CountsLayersOfEveryChunk) {
  const auto layers = parse_pipeline_layout("Et*4|(t*4|)*14tmL");
  ASSERT_TRUE(layers);
  ASSERT_EQ(layers->size(), 16u);
  EXPECT_EQ((*layers)[0], 4);
  EXPECT_EQ((*layers)[14], 4);
  EXPECT_EQ((*layers)[15], 1);  // and the MTP module and the loss
  EXPECT_EQ(*parse_pipeline_layout("E|(tt|)*2mL"), (std::vector<int64_t>{0, 2, 2, 0}));
  for (const char* bad : {"", "t", "Et", "EtL)", "(EtL", "EtxL", "EtLL", "Et*L", "Et*99999999L"})
    EXPECT_FALSE(parse_pipeline_layout(bad)) << bad;
}

TEST(JobFile, FlatAndGrouped) {
  const TestFile file(
      "job.yaml",
      "model: llama3-8b\ncluster: hgx-h100\ngpus: 16\nparallelism:\n  tp: 2\n  pp: 2\n"
      "training: {mbs: 1, global_batch_size: 32, seq_length: 4096}\n");
  const auto settings = parse_job_file(file.text, file.path);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->find("tensor_model_parallel_size")->origin.key, "parallelism.tp");
  EXPECT_EQ(settings->find("tensor_model_parallel_size")->origin.text, file.path + ":5");
  const auto job = resolve(*settings);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->parallelism.dp, 4);
}

// "precision" is a setting and a group of settings; `search --save` writes the setting.
TEST(JobFile, PrecisionIsAWordOrAGroup) {
  const TestFile word("word.yaml", "model: llama3-8b\nprecision: fp8\n");
  const TestFile group("group.yaml", "model: llama3-8b\nprecision: {precision: fp8}\n");
  for (const TestFile* file : {&word, &group}) {
    const auto settings = parse_job_file(file->text, file->path);
    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_EQ(settings->find("precision")->text, "fp8");
  }
  const TestFile other("other.yaml", "model: llama3-8b\nparallelism: 8\n");
  EXPECT_NE(
      parse_job_file(other.text, other.path).error().message.find("allowed: a mapping of settings"),
      std::string::npos);
}

TEST(JobFile, InlineModelAndCluster) {
  const TestFile file("inline.yaml",
                      "model:\n  model_type: llama\n  hidden_size: 1024\n  num_hidden_layers: 4\n"
                      "cluster: {node: hgx-h100, nodes: 2}\nmbs: 1\n");
  const auto job = resolve(*parse_job_file(file.text, file.path));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->model.hidden, 1024);
  EXPECT_EQ(job->gpus, 16);
  const TestFile bad("badinline.yaml",
                     "cluster: hgx-h100\nmodel:\n  model_type: llama\n  hidden_size: big\n");
  EXPECT_EQ(
      resolve(*parse_job_file(bad.text, bad.path)).error().message,
      bad.path +
          ":2: model.hidden_size: found \"big\"; allowed: a whole number from 1 to 1000000000");
}

TEST(JobFile, Messages) {
  const TestFile twice("twice.yaml",
                       "model: a\ntp: 2\nparallelism:\n  tensor_model_parallel_size: 4\n");
  EXPECT_EQ(parse_job_file(twice.text, twice.path).error().message,
            twice.path +
                ":4: parallelism.tensor_model_parallel_size: stands here a second time; the first "
                "is tp (" +
                twice.path + ":2)");
  const TestFile typo("typo.yaml", "model: a\nglobal_bach_size: 2\n");
  EXPECT_EQ(parse_job_file(typo.text, typo.path).error().message,
            typo.path +
                ":2: global_bach_size: is not a setting; did you mean global_batch_size? "
                "(`ergometer simulate --help` shows all)");
  const TestFile bad("value.yaml", "model: llama3-8b\ncluster: hgx-h100\nparallelism:\n  tp: 3\n");
  EXPECT_EQ(
      resolve(*parse_job_file(bad.text, bad.path)).error().message,
      bad.path +
          ":4: parallelism.tp = 3 does not divide 32 attention heads; try 1, 2, 4, 8, 16 or 32");
  const TestFile word("word.yaml", "model: llama3-8b\ncluster: hgx-h100\ntp: four\n");
  EXPECT_EQ(resolve(*parse_job_file(word.text, word.path)).error().message,
            word.path + ":3: tp: found \"four\"; allowed: a whole number from 1 to 1048576");
}

TEST(Settings, AreSuggestedByTheNamesThatPeopleUse) {
  EXPECT_EQ(nearest_setting("parallelism.tensor_parallel"), "tensor_model_parallel_size");
  EXPECT_EQ(nearest_setting("--Node-Count"), "gpus");
  EXPECT_EQ(nearest_setting("gradient_checkpointing"), "recompute_granularity");
  EXPECT_EQ(nearest_setting("global_bach_size"), "global_batch_size");
  EXPECT_EQ(nearest_setting("learning_rate"), std::nullopt);
  EXPECT_EQ(setting_also_called("gpus"), nullptr);
}

TEST(Settings, TakeWholeNumbersAsPeopleWriteThem) {
  EXPECT_EQ(plain_number("global_batch_size", "1,024"), "1024");
  EXPECT_EQ(plain_number("gbs", "12,288,000"), "12288000");
  EXPECT_EQ(plain_number("seq_length", "8k"), "8192");
  EXPECT_EQ(plain_number("seq_length", "128K"), "131072");
  EXPECT_EQ(plain_number("seq_length", "1M"), "1048576");
  // A list, a word, a thousand of something else, and what is no number stay as they are.
  EXPECT_EQ(plain_number("stage_layers", "10,240"), "10,240");
  EXPECT_EQ(plain_number("global_batch_size", "8k"), "8k");
  EXPECT_EQ(plain_number("global_batch_size", "1M"), "1M");
  EXPECT_EQ(plain_number("seq_length", "k"), "k");
  EXPECT_EQ(plain_number("seq_length", "0k"), "0k");
  EXPECT_EQ(plain_number("gbs", "1,02"), "1,02");
}

TEST(Nemo, AFileWithReferences) {
  const TestFile file("nemo.yaml",
                      R"(trainer: {num_nodes: 2, devices: 8, precision: bf16, max_steps: 11}
model:
  micro_batch_size: 1
  global_batch_size: 32
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  virtual_pipeline_model_parallel_size: null
  encoder_seq_length: 2048
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 24
  hidden_size: 1024
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 16
  num_query_groups: null
  tokenizer: {library: megatron, type: GPT2BPETokenizer}
  sequence_parallel: true
  ub_tp_comm_overlap: true
  optim: {name: distributed_fused_adam, bucket_cap_mb: 400, overlap_grad_sync: true, overlap_param_sync: true}
  data: {seq_length: "${model.encoder_seq_length}"}
)");
  std::vector<std::string> ignored;
  auto settings = parse_nemo(file.text, file.path, ignored);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(ignored, Texts{"trainer.max_steps"});
  settings->set("cluster", "hgx-h100", Origin{"--cluster", ""});
  const auto job = resolve(*settings);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->gpus, 16);
  EXPECT_EQ(job->model.ffn, 4096);
  EXPECT_EQ(job->model.max_positions, 2048);
  EXPECT_EQ(job->model.kv_heads, 16);
  EXPECT_TRUE(job->training.overlap_tp && job->training.overlap_param_gather &&
              job->training.batch_p2p_sync);
  EXPECT_DOUBLE_EQ(job->training.bucket_elements, 400.0 * 1048576 / 4);
}

}  // namespace
}  // namespace ergometer::spec
