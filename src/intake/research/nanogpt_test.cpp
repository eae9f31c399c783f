#include "intake/research/nanogpt.h"

#include <gtest/gtest.h>

#include "intake/reader/test_reading.h"

namespace ergometer::intake {
namespace {

constexpr std::string_view kNanogpt = R"(batch_size = 12
gradient_accumulation_steps = 5 * 8
block_size = 1024
n_layer, n_head = 12, 12
n_embd = 768
compile = True
dtype = 'bfloat16' if torch.cuda.is_bf16_supported() else 'float16'
config_keys = [k for k, v in globals().items()]
exec(open('configurator.py').read())
gradient_accumulation_steps //= ddp_world_size
batch_size = 1
)";
constexpr std::string_view kConfig = R"(# shakespeare
eval_interval = 250
n_layer = 6
n_head = 6
n_embd = 384
dropout = 0.2
batch_size = 2 * 32
gradient_accumulation_steps = 1
gradient_accumulation_steps *= 4
dataset = 'shakespeare_char'
)";

Result<Reading> read(std::string_view program, const std::vector<NanoGptWord>& words) {
  return read_nanogpt(std::string(program), "train.py", words,
                      [](const std::string& path) -> Result<std::string> {
                        if (path == "config/x.py") return std::string(kConfig);
                        return input_error("{} is not here", path);
                      });
}

TEST(NanoGpt, DividesItsStepsOverAllGpus) {
  const auto r = read(kNanogpt, {});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "12");
  EXPECT_EQ(said(*r, "global_batch_size"), "480");
  EXPECT_EQ(said(*r, "seq_length"), "1024");
  EXPECT_EQ(said(*r, "precision"), "bf16");
  EXPECT_EQ(said(*r, "zero"), "0");
  EXPECT_EQ(said(*r, "software"), "nanogpt");
  EXPECT_NE(said(*r, "model").find("\"no_bias\":true"), std::string::npos);
  EXPECT_NE(said(*r, "model").find("\"vocab_size\":50304"), std::string::npos);
}

/// Before 2023 it did not divide: steps were those of every GPU.
TEST(NanoGpt, KeepsTheStepsOfItsFirstReleases) {
  std::string old(kNanogpt);
  old.erase(old.find("gradient_accumulation_steps //="));
  const auto r = read(old, {});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "40");
  EXPECT_EQ(said(*r, "global_batch_size"), "-");
}

TEST(NanoGpt, TheLastWordCounts) {
  const auto r = read("", {{"--n_layer=3", "a.sh:1"},
                           {"config/x.py", "a.sh:1"},
                           {"--batch_size=8", "a.sh:2"},
                           {"--dtype='float32'", "a.sh:2"},
                           {"--compile=False", "a.sh:3"}});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "8");
  EXPECT_EQ(said(*r, "global_batch_size"), "32");
  EXPECT_EQ(said(*r, "dropout"), "0.2");
  EXPECT_EQ(said(*r, "precision"), "fp32");
  EXPECT_EQ(said(*r, "tf32"), "true");
  EXPECT_EQ(said(*r, "software"), "nanogpt-eager");
  EXPECT_NE(said(*r, "model").find("\"n_layers\":6"), std::string::npos);
  EXPECT_NE(said(*r, "model").find("\"vocab_size\":65"), std::string::npos);
}

TEST(NanoGpt, ItsOwnTextSaysEverything) {
  // Without steps it makes one; what a comment says does not count.
  const auto r = read_nanogpt(
      "# see configurator.py\nimport os\nbatch_size = int(os.environ['BS'])\nblock_size = 512\n"
      "n_layer = 24\nn_head = 16\nn_embd = 1024\nexec(open('configurator.py').read())\n"
      "# gradient_accumulation_steps //= ddp_world_size\n",
      "train.py", {{"--n_layer=6", "a.sh:1"}}, {}, {{{"BS", "4"}}, {}});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "4");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "1");
  EXPECT_EQ(said(*r, "software"), "nanogpt-eager");
  EXPECT_NE(said(*r, "model").find("\"n_layers\":6"), std::string::npos);
  // Its sizes stand elsewhere.
  EXPECT_FALSE(
      read_nanogpt("block_size = 512\nexec(open('configurator.py').read())\n", "train.py", {}, {}));
}

TEST(NanoGpt, RefusesNamesThatItHasNot) {
  EXPECT_TRUE(read("", {{"--eval_iters=10", "a.sh:1"}, {"--out_dir=x", "a.sh:1"}}));
  EXPECT_FALSE(read("", {{"--dim=4096", "a.sh:1"}}));
  EXPECT_FALSE(read(kNanogpt, {{"--eval_iters=10", "a.sh:1"}}));
}

TEST(NanoGpt, TakesPublishedModelsAsTheyAre) {
  const auto r = read("", {{"--init_from=gpt2-xl", "-"}, {"--n_layer=3", "-"}});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "gpt2-xl");
}

TEST(NanoGpt, RefusesWhatItDoesNotKnow) {
  for (const char* word : {"--device=cpu", "--init_from=bert", "--batch_size=many", "--compile",
                           "batch_size=8", "config/y.py", "--block_size=0"})
    EXPECT_FALSE(read("", {{word, "a.sh:1"}})) << word;
}

TEST(NanoGpt, KnowsItsFiles) {
  EXPECT_TRUE(is_nanogpt_program(std::string(kNanogpt)));
  EXPECT_FALSE(is_nanogpt_program("block_size = 2  # as configurator.py\n"));
  EXPECT_TRUE(is_nanogpt_config(std::string(kConfig)));
  EXPECT_FALSE(is_nanogpt_config("import torch\nbatch_size = 1\nblock_size = 2\n"));
  EXPECT_FALSE(is_nanogpt_config("batch_size = 1\ngradient_accumulation_steps = 4\n"));
  EXPECT_TRUE(is_nanogpt_word("--n_embd=768"));
  EXPECT_FALSE(is_nanogpt_word("--batch_size=8"));
}

}  // namespace
}  // namespace ergometer::intake
