#include "intake/config/model_python.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ergometer::intake {
namespace {

using Json = nlohmann::json;

/// The configuration that a program makes; null where it takes a published one as it is.
Result<Json> model_of(const std::string& program) {
  PythonProgram python(without_comments(program), "train.py", {});
  ERGOMETER_ASSIGN(const auto model, python_model(python));
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

TEST(PythonModel, TakesTheBindingThatIsReached) {
  const auto layers = [](const std::string& condition) {
    return model_of("FIRST = True\nif " + condition +
                    ":\n  config = GPT2Config(n_layer=4)\nelse:\n  config = GPT2Config(n_layer=2)\n"
                    "model = GPT2LMHeadModel(config)\n");
  };
  EXPECT_EQ((*layers("FIRST"))["n_layer"], 4);
  EXPECT_EQ((*layers("not FIRST"))["n_layer"], 2);
  ASSERT_FALSE(layers("first()"));
  EXPECT_NE(layers("first()").error().message.find("known only when the script runs"),
            std::string::npos);
}

TEST(PythonModel, KeepsWhatFamiliesRead) {
  const auto falcon = model_of(
      "m = FalconForCausalLM(FalconConfig(hidden_size=1024, num_attention_heads=16,\n"
      "    num_hidden_layers=2, vocab_size=65024, num_kv_heads=4, new_decoder_architecture=True, "
      "rope_theta=5e5,\n"
      "    rope_scaling={'type': 'linear', 'factor': 2.0}, eos_token_id=token()))\n");
  ASSERT_TRUE(falcon) << falcon.error().message;
  EXPECT_EQ((*falcon)["num_kv_heads"], 4);
  EXPECT_EQ((*falcon)["new_decoder_architecture"], true);
  EXPECT_EQ((*falcon)["rope_scaling"]["factor"], 2.0);
  EXPECT_FALSE(falcon->contains("eos_token_id"));
  EXPECT_FALSE(model_of("m = FalconForCausalLM(FalconConfig(multi_query=asked()))\n"));
  const auto unnamed = model_of("m = GPT2LMHeadModel(GPT2Config(50257, 1024))\n");
  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().message,
            "train.py:1: a configuration's 50257 has no name; allowed: hidden_size=... and its "
            "like");
  const auto by_type = model_of(
      "c = AutoConfig.for_model('gpt2', n_layer=2)\nm = AutoModelForCausalLM.from_config(c)\n");
  ASSERT_TRUE(by_type) << by_type.error().message;
  EXPECT_EQ((*by_type)["n_layer"], 2);
}

TEST(PythonModel, EmbedsOptAsWideAsItsLayers) {
  const auto opt = model_of("m = OPTForCausalLM(OPTConfig(hidden_size=1536))\n");
  ASSERT_TRUE(opt) << opt.error().message;
  EXPECT_FALSE(opt->contains("word_embed_proj_dim"));
}

TEST(PythonModel, RefusesMoreModelsThanAScriptHas) {
  std::string program;
  for (int i = 0; i < 101; ++i) program += "m = AutoModelForCausalLM.from_pretrained('gpt2')\n";
  const auto model = model_of(program);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("found more than 100 calls"), std::string::npos);
}

TEST(PythonModel, WritesALiteralThatIsNoUtf8) {
  EXPECT_TRUE(model_of("m = GPT2LMHeadModel(GPT2Config(n_layer=2, name='\xff'))\n"));
}

TEST(PythonModel, TakesAConfigurationOnlyFromItsOwnFolder) {
  const std::string folder = testing::TempDir() + "python_model/";
  std::filesystem::create_directories(folder + "own");
  std::ofstream(folder + "config.json") << R"({"model_type": "gpt2", "n_layer": 3})";
  std::ofstream(folder + "own/config.json") << R"({"model_type": "gpt2", "n_layer": 5})";
  const auto layers = [&](const std::string& name) {
    const std::string text = "c = AutoConfig.from_pretrained('" + name +
                             "', n_embd=96)\nm = AutoModelForCausalLM.from_config(c)\n";
    PythonProgram program(text, folder + "train.py", {});
    const auto model = python_model(program);
    return model && *model ? Json::parse((*model)->text).value("n_layer", 0) : 0;
  };
  EXPECT_EQ(layers("own"), 5);
  EXPECT_EQ(layers("nobody/published-this"), 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ergometer::intake
