#include "intake/config/model_python.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ergometer::intake {
namespace {

using Json = nlohmann::json;

/// The configuration that a program makes; null where it takes a published one as it is.
Result<Json> model_of(const std::string& program) {
  const std::string text = without_comments(program);
  const PythonStatements statements(text);
  PythonValues values(text, statements, {});
  ERGOMETER_ASSIGN(const auto model, python_model(values, statements, text, "train.py"));
  return model ? Json::parse(model->text) : Json();
}

TEST(PythonModel, ReadsAConfigurationThatIsWritten) {
  const auto model = model_of(
      "SEQ = 2048\n"
      "sizes = dict(hidden_size=1024, intermediate_size=2 * 1408)\n"
      "config = LlamaConfig(num_hidden_layers=24, num_attention_heads=16, **sizes,\n"
      "                     max_position_embeddings=SEQ, rms_norm_eps=1e-5, use_cache=False)\n"
      "config.num_hidden_layers = 12\n"
      "model = LlamaForCausalLM(config)\n"
      "config.hidden_size = 1\n");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)["hidden_size"], 1024);
  EXPECT_EQ((*model)["intermediate_size"], 2816);
  EXPECT_EQ((*model)["num_hidden_layers"], 12);
  EXPECT_EQ((*model)["max_position_embeddings"], 2048);
  EXPECT_EQ((*model)["vocab_size"], 32000);  // LlamaConfig's own default
  EXPECT_FALSE(model->contains("num_key_value_heads"));
  EXPECT_EQ((*model)["model_type"], "llama");
}

TEST(PythonModel, ReadsChangesOfAPublishedOne) {
  for (const char* program :
       {"c = AutoConfig.from_pretrained('gpt2', n_layer=6)\nm = "
        "AutoModelForCausalLM.from_config(c)",
        "c = AutoConfig.from_pretrained('gpt2')\nc.n_layer = 6\nm = GPT2LMHeadModel(config=c)",
        "m = AutoModelForCausalLM.from_pretrained('gpt2', n_layer=6)",
        "c = AutoConfig.from_pretrained('gpt2')\nc.n_layer = c2 = 6\n"
        "m = AutoModelForCausalLM.from_pretrained('gpt2', config=c)"}) {
    const auto model = model_of(program);
    ASSERT_TRUE(model) << model.error().message;
    ASSERT_TRUE(model->is_object()) << program;
    EXPECT_EQ((*model)["n_layer"], 6) << program;
    EXPECT_EQ((*model)["n_embd"], 768) << program;
  }
}

TEST(PythonModel, LeavesPublishedOnesAlone) {
  for (const char* program :
       {"m = AutoModelForCausalLM.from_pretrained('gpt2', torch_dtype=torch.bfloat16)",
        "c = AutoConfig.from_pretrained('gpt2')\nc.use_cache = False\n"
        "m = AutoModelForCausalLM.from_pretrained('gpt2', config=c)",
        "c = AutoConfig.from_pretrained('gpt2', n_layer=12)\n"
        "m = AutoModelForCausalLM.from_config(c)",
        "c = LlamaConfig(hidden_size=64)\n", "c = make()\nm = LlamaForCausalLM(c)",
        "class Own(LlamaForCausalLM):\n  def f(self):\n    pass\n"}) {
    const auto model = model_of(program);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_TRUE(model->is_null()) << program;
  }
}

TEST(PythonModel, KnowsWordsOfPublishedTokenizers) {
  const auto model = model_of(
      "tokenizer = AutoTokenizer.from_pretrained('meta-llama/Llama-3.1-8B')\n"
      "model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), hidden_size=1024))\n");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)["vocab_size"], 128256);
}

TEST(PythonModel, RefusesSizesThatAreNotKnown) {
  const auto unknown = model_of(
      "tokenizer = PreTrainedTokenizerFast(tokenizer_file='own.json')\n"
      "config = GPT2Config(vocab_size=len(tokenizer))\n"
      "model = GPT2LMHeadModel(config)\n");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "train.py:2: vocab_size: found len(tokenizer), which is known only when the script "
            "runs; a literal can be read, and --model with the config.json that it makes says the "
            "same");
  const auto changed = model_of(
      "config = GPT2Config()\n"
      "config.n_layer = depth()\n"
      "model = GPT2LMHeadModel(config)\n");
  ASSERT_FALSE(changed);
  const auto wrong =
      model_of("model = LlamaForCausalLM(LlamaConfig(hidden_size=1000, num_attention_heads=7))\n");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message.rfind("train.py:1: its configuration", 0), 0U)
      << wrong.error().message;
}

}  // namespace
}  // namespace ergometer::intake
