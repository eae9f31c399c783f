// What holds for every setting of the table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "spec/files/settings_record.h"
#include "spec/job/job_words.h"
#include "spec/resolve/test_settings.h"
#include "spec/settings/setting_reader.h"
#include "spec/settings/setting_values.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {
namespace {

using enum SettingKind;
using test::values_of;

/// What the job says of a setting after somebody said `value`.
std::string told(const SettingInfo& info, const std::string& value) {
  Settings settings;
  const Settings no_profile;
  settings.set(info.name, value, {"--x", ""});
  Job job;
  job.conditions.has_inlet = true;
  SettingReader read(settings, no_profile, job.origins);
  info.read(read, info, job);
  EXPECT_FALSE(read.error()) << read.error()->message;
  EXPECT_EQ(job.origins.at(std::string(info.name)).text, "--x");
  return setting_value(info.name, job);
}

TEST(SettingTable, EveryRowIsComplete) {
  for (const SettingInfo& info : setting_table()) {
    SCOPED_TRACE(info.name);
    EXPECT_FALSE(info.help.empty());
    EXPECT_FALSE(info.group.empty());
    EXPECT_EQ(info.kind == kMeasure, !info.unit.empty());
    EXPECT_TRUE(info.kind != kChoice || !info.choices.empty());
    EXPECT_TRUE(info.reason.empty() || info.read != nullptr);
    EXPECT_TRUE(info.read == nullptr || info.text != nullptr);
    const bool number = info.kind == kInteger || info.kind == kReal || info.kind == kMeasure;
    EXPECT_EQ(number, info.min < info.max);
  }
}

TEST(SettingTable, NoWordMeansTwoSettings) {
  std::set<std::string> words, sought;
  for (const SettingInfo& info : setting_table()) {
    std::vector<std::string> own = info.names(info.also);
    own.emplace_back(info.name);
    if (!info.short_name.empty()) own.emplace_back(info.short_name);
    for (const std::string& word : own) {
      EXPECT_TRUE(words.insert(word).second) << word;
      EXPECT_EQ(find_setting(word), &info) << word;
    }
    for (const std::string& word : info.names(info.sought)) {
      EXPECT_TRUE(sought.insert(word).second) << word;
      EXPECT_EQ(setting_also_called(word), &info) << word;
    }
  }
}

TEST(SettingTable, WhatIsSaidIsTold) {
  for (const SettingInfo& info : setting_table())
    if (info.read != nullptr)
      for (const std::string& value : values_of(info)) {
        SCOPED_TRACE(fmt::format("{} = {}", info.name, value));
        const bool measured = info.kind == kMeasure;
        const std::string unit = info.unit == "MHz" ? "Hz" : std::string(info.unit);
        EXPECT_EQ(told(info, measured ? value + unit : value), value);
      }
}

TEST(SettingTable, WhatIsWrittenIsReadBack) {
  for (const SettingInfo& info : setting_table())
    for (const std::string& value : values_of(info)) {
      SCOPED_TRACE(fmt::format("{} = {}", info.name, value));
      const auto file =
          parse_job_file(fmt::format("{}:\n  {}: {}\n", info.group, info.name, value), "job.yaml");
      ASSERT_TRUE(file) << file.error().message;
      const auto back = parse_settings_json(settings_json(*file), "run");
      ASSERT_TRUE(back) << back.error().message;
      const Settings::Value *written = file->find(info.name), *again = back->find(info.name);
      ASSERT_TRUE(written != nullptr && again != nullptr);
      EXPECT_EQ(written->text, again->text);
    }
}

TEST(SettingTable, WordsOfChoicesAreTheirEnumerators) {
  EXPECT_EQ(to_word(Schedule::kZbH1), "zb-h1");
  EXPECT_EQ(to_word(CpComm::kAllToAll), "a2a");
  EXPECT_EQ(to_word(Recompute::kFull), "full");
  EXPECT_EQ(to_word(RecomputeMethod::kBlock), "block");
  EXPECT_EQ(to_word(Precision::kNvfp4), "nvfp4");
  EXPECT_EQ(to_word(Fp8Recipe::kMxfp8), "mxfp8");
  EXPECT_EQ(to_word(Mode::kDecode), "decode");
  EXPECT_EQ(to_word(AttentionBackend::kCudnn), "cudnn");
  EXPECT_EQ(to_word(Framework::kNanotron), "nanotron");
  EXPECT_EQ(to_word(Cooling::kImmersion), "immersion");
  EXPECT_EQ(to_word(Sensor::kNone), "none");
  EXPECT_EQ(to_word(MoeDispatcher::kAllGather), "allgather");
  EXPECT_EQ(to_word(MoeDispatcher::kHybridEp), "flex");
  EXPECT_EQ(flex_backend(MoeDispatcher::kDeepEp), "deepep");
  EXPECT_EQ(flex_backend(MoeDispatcher::kHybridEp), "hybridep");
}

TEST(SettingTable, AWordOutsideTheListIsNone) {
  constexpr std::string_view kWords = "none|selective|full";
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(index_of(kWords, word_at(kWords, static_cast<size_t>(i))), i);
  for (const char* word : {"", "sel", "full|", "none|selective", "fullest"})
    EXPECT_EQ(index_of(kWords, word), -1) << word;
  EXPECT_EQ(index_of("", "none"), -1);
}

}  // namespace
}  // namespace ergometer::spec
