#include "intake/reader/placeholder.h"

#include <gtest/gtest.h>

namespace ergometer::intake {
namespace {

TEST(Placeholder, IsWhatSomebodyReplaces) {
  for (const char* one : {"${NODES}", "$NODES", "H100:${GPUS}", "${{ parameters.nodes }}",
                          "{{ .Values.nodes }}", "???", "<nodes>", "$(NODES)"})
    EXPECT_TRUE(is_placeholder(one)) << one;
  for (const char* other : {"", "8", "$", "$5", "auto", "{}", "a < b", "?"})
    EXPECT_FALSE(is_placeholder(other)) << other;
}

TEST(Placeholder, VariablesTakeTheirPlace) {
  EXPECT_EQ(with_values("${NODES}", {{"NODES", "4"}}), "4");
  EXPECT_EQ(with_values("$NODES", {{"NODES", "4"}}), "4");
  EXPECT_EQ(with_values("H100:${GPUS}", {{"GPUS", "8"}}), "H100:8");
  EXPECT_EQ(with_values("$NODES_OF_ALL", {{"NODES", "4"}}), "$NODES_OF_ALL");
}

TEST(Placeholder, LeavesSettingsOpen) {
  Reading reading;
  reading.settings.set("tensor_model_parallel_size", "${TP}", {"f.yaml:3", "model.tp"});
  reading.settings.set("micro_batch_size", "2", {"f.yaml:4", "model.mbs"});
  open_placeholders(reading);
  EXPECT_EQ(reading.settings.find("tensor_model_parallel_size"), nullptr);
  EXPECT_EQ(reading.settings.find("micro_batch_size")->text, "2");
  EXPECT_EQ(reading.open.at("tensor_model_parallel_size"),
            "f.yaml:3: model.tp: what \"${TP}\" stands for is not known here; give --tp, write the "
            "value in its place, or set variables with --env");
}

}  // namespace
}  // namespace ergometer::intake
