// What frameworks call the settings: every name in the table is read as its setting.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "intake/config/nemo_files.h"
#include "intake/launch_script.h"
#include "intake/reader/test_reading.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

using spec::SettingInfo;

/// A value of the setting that is not its default, as every framework writes it.
std::string some_value(const SettingInfo& info) {
  using enum spec::SettingKind;
  if (info.kind == kSwitch) return "true";
  if (info.kind == kChoice) return base::split(info.choices, '|').back();
  if (info.kind == kList && !info.choices.empty()) return base::split(info.choices, '|').front();
  return "2";
}

/// What a script with this argument says of a setting, beside others without which some count for
/// nothing.
std::string in_script(const std::string& argument, std::string_view setting) {
  constexpr std::string_view kBefore =
      "--recompute-granularity full --recompute-method block --data-parallel-sharding-strategy "
      "optim_grads_params ";
  std::vector<std::string> ignored;
  const auto settings =
      parse_megatron_arguments(std::string(kBefore) + argument, "train.sh", ignored);
  EXPECT_TRUE(settings) << settings.error().message;
  if (!settings) return "";
  const auto* value = settings->find(setting);
  return value == nullptr ? "-" : value->text;
}

TEST(FrameworkNames, MegatronsArgumentsAreRead) {
  for (const SettingInfo& info : spec::setting_table())
    for (const std::string& name : info.names(info.megatron)) {
      SCOPED_TRACE(name);
      const size_t equals = name.find('=');
      const std::string flag = "--" + base::dashed(name.substr(0, equals));
      if (equals != name.npos)
        EXPECT_EQ(in_script(flag, info.name), name.substr(equals + 1));
      else
        EXPECT_EQ(in_script(flag + " " + some_value(info), info.name), some_value(info));
    }
}

TEST(FrameworkNames, Nemo1sKeysAreRead) {
  for (const SettingInfo& info : spec::setting_table())
    for (const std::string& name : info.names(info.nemo)) {
      SCOPED_TRACE(name);
      // NeMo looks at how to recompute for whole layers alone.
      const bool whole = info.group == "recomputation" && info.name != "recompute_granularity";
      std::vector<std::string> ignored;
      const auto settings =
          spec::parse_nemo(fmt::format("model:\n{}  {}: {}\n",
                                       whole ? "  activations_checkpoint_granularity: full\n" : "",
                                       name, some_value(info)),
                           "nemo.yaml", ignored);
      ASSERT_TRUE(settings) << settings.error().message;
      EXPECT_TRUE(ignored.empty());
      ASSERT_NE(settings->find(info.name), nullptr);
      EXPECT_EQ(settings->find(info.name)->text, some_value(info));
    }
}

TEST(FrameworkNames, MegatronCoresFieldsAreRead) {
  for (const SettingInfo& info : spec::setting_table())
    for (const std::string& name : info.names(info.core)) {
      SCOPED_TRACE(name);
      const auto reading = parse_megatron_bridge(
          fmt::format("model:\n  {}: {}\n", name, some_value(info)), "bridge.yaml", {});
      ASSERT_TRUE(reading) << reading.error().message;
      EXPECT_EQ(said(*reading, info.name), some_value(info));
      EXPECT_TRUE(reading->leftovers.empty());
    }
}

}  // namespace
}  // namespace ergometer::intake
