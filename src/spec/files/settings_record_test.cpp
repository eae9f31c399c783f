#include "spec/files/settings_record.h"

#include <gtest/gtest.h>

#include "spec/files/test_file.h"

namespace ergometer::spec {
namespace {

constexpr const char* kOwnCluster = R"(# two nodes of our own
name: own
node: hgx-h100
nodes: 2
fabric:
  kind: single-switch
  collectives: ib-400g
  tiers:
    - {name: leaf, nodes_below: 0, oversubscription: 1.5}
)";

Settings settings_on(const std::string& cluster) {
  Settings settings;
  settings.set("model", "llama3-8b", {"job.yaml:1", "model"});
  settings.set("cluster", cluster, {"job.yaml:2", "cluster"});
  settings.set("global_batch_size", "32", {"--gbs", ""});
  return settings;
}

TEST(SettingsRecord, ReadsBackAsItWas) {
  const Settings settings = settings_on("hgx-h100");
  const auto back = parse_settings_json(settings_json(settings), "a.run");
  ASSERT_TRUE(back.has_value()) << back.error().message;
  ASSERT_EQ(back->all().size(), 3u);
  EXPECT_EQ(back->find("global_batch_size")->text, "32");
  EXPECT_EQ(back->find("cluster")->origin.text, "a.run (job.yaml:2)");
  EXPECT_EQ(back->find("cluster")->origin.key, "cluster");
}

TEST(SettingsRecord, MeansTheSameWithoutItsFiles) {
  Settings whole, as_written;
  Result<Job> job = input_error("");
  {
    const TestFile file("cluster.yaml", kOwnCluster);
    as_written = settings_on(file.path);
    job = resolve(as_written);
    ASSERT_TRUE(job.has_value()) << job.error().message;
    const auto found = without_files(as_written);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    whole = *found;
  }
  EXPECT_FALSE(resolve(as_written).has_value()) << "the file is gone";
  const auto back = parse_settings_json(settings_json(whole), "a.run");
  ASSERT_TRUE(back.has_value());
  const auto again = resolve(*back);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->gpus, job->gpus);
  EXPECT_EQ(again->cluster.fabric.tiers[0].oversubscription, 1.5);
  EXPECT_EQ(again->cluster.node.gpu.name, job->cluster.node.gpu.name);
}

TEST(SettingsRecord, NamesOfRecipesAreNoFiles) {
  for (const char* name : {"megatron-lm", "nemo-25.07", "MLPerf 5.1", "torchtitan"}) {
    Settings settings;
    settings.set("software", name, {"test", ""});
    const auto whole = without_files(settings);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(whole->find("software")->text, name);
  }
}

TEST(SettingsRecord, DamagedRecordsAreRefused) {
  for (const char* text : {"", "[]", "{", "{\"tp\": {\"text\": \"2\"}}", "{\"gpus\": 8}",
                           "{\"nope\": {\"text\": \"\"}}"})
    EXPECT_FALSE(parse_settings_json(text, "a.run").has_value()) << text;
}

}  // namespace
}  // namespace ergometer::spec
