#include "record/amd/gpu_metrics.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ergometer::record::amd {
namespace {

// Three of the tables as kgd_pp_interface.h declares them.
struct Header {
  uint16_t size;
  uint8_t format, content;
};
struct TableV1_3 {
  Header header{120, 1, 3};
  uint16_t edge, hotspot, mem, vrgfx, vrsoc, vrmem;
  uint16_t gfx_activity, umc_activity, mm_activity;
  uint16_t average_socket_power;
  uint64_t energy_accumulator, system_clock_counter;
  uint16_t average_clocks[7];
  uint16_t current_gfxclk, current_socclk, current_uclk, current_others[4];
  uint32_t throttle_status;
  uint16_t fan_speed, pcie_link_width, pcie_link_speed, padding;
  uint32_t gfx_activity_acc, mem_activity_acc;
  uint16_t temperature_hbm[4];
  uint64_t firmware_timestamp;
  uint16_t voltages[3], padding1;
  uint64_t indep_throttle_status;
};
static_assert(sizeof(TableV1_3) == 120);
struct TableV1_4 {
  Header header{288, 1, 4};
  uint16_t hotspot, mem, vrsoc;
  uint16_t curr_socket_power;
  uint16_t gfx_activity, umc_activity, vcn_activity[4];
  uint64_t energy_accumulator, system_clock_counter;
  uint32_t throttle_status, gfxclk_lock_status;
  uint16_t pcie_link_width, pcie_link_speed, xgmi_link_width, xgmi_link_speed;
  uint32_t gfx_activity_acc, mem_activity_acc;
  uint64_t pcie_bandwidth_acc, pcie_bandwidth_inst, pcie_l0_to_recov;
  uint64_t pcie_replay_count_acc, pcie_replay_rover_count_acc;
  uint64_t xgmi_read_data_acc[8], xgmi_write_data_acc[8];
  uint64_t firmware_timestamp;
  uint16_t current_gfxclk[8], current_socclk[4], current_vclk0[4], current_dclk0[4];
  uint16_t current_uclk, padding;
};
static_assert(sizeof(TableV1_4) == 288);
struct TableV1_7 {  // without its per-partition statistics
  Header header{2208, 1, 7};
  uint16_t hotspot, mem, vrsoc;
  uint16_t curr_socket_power;
  uint16_t gfx_activity, umc_activity;
  uint64_t mem_max_bandwidth;
  uint64_t energy_accumulator, system_clock_counter;
  uint32_t accumulation_counter, prochot, ppt, socket_thm, vr_thm, hbm_thm;
  uint32_t gfxclk_lock_status;
  uint16_t pcie_link_width, pcie_link_speed, xgmi_link_width, xgmi_link_speed;
  uint32_t gfx_activity_acc, mem_activity_acc;
  uint64_t pcie_bandwidth_acc, pcie_bandwidth_inst, pcie_l0_to_recov;
  uint64_t pcie_replay_count_acc, pcie_replay_rover_count_acc;
  uint32_t pcie_nak_sent, pcie_nak_rcvd;
  uint64_t xgmi_read_data_acc[8], xgmi_write_data_acc[8];
  uint16_t xgmi_link_status[8], padding;
  uint64_t firmware_timestamp;
  uint16_t current_gfxclk[8], current_socclk[4], current_vclk0[4], current_dclk0[4];
  uint16_t current_uclk, num_partition;
  unsigned char statistics[2208 - 344];
};
static_assert(offsetof(TableV1_7, statistics) == 340);

/// Every field not available, but the header.
template <class T>
T empty_table() {
  T table;
  const Header header = table.header;
  std::memset(static_cast<void*>(&table), 0xff, sizeof table);
  table.header = header;
  return table;
}
template <class T>
std::optional<GpuMetrics> parsed(const T& table) {
  return parse_gpu_metrics({reinterpret_cast<const unsigned char*>(&table), sizeof table});
}

TEST(GpuMetrics, Mi250) {
  auto table = empty_table<TableV1_3>();
  table.edge = 45;
  table.hotspot = 61;
  table.mem = 58;
  table.gfx_activity = 97;
  table.umc_activity = 33;
  table.average_socket_power = 512;
  table.energy_accumulator = 65536 * 3 + 32768;  // 3.5 J
  table.system_clock_counter = 123456789;
  table.current_gfxclk = 1690;
  table.current_uclk = 1600;
  table.indep_throttle_status = 1ull << 36;
  const auto metrics = parsed(table);
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->edge_c, 45);
  EXPECT_EQ(metrics->hotspot_c, 61);
  EXPECT_EQ(metrics->memory_c, 58);
  EXPECT_EQ(metrics->busy_percent, 97);
  EXPECT_EQ(metrics->memory_busy_percent, 33);
  EXPECT_EQ(metrics->average_power_w, 512);
  EXPECT_FALSE(metrics->power_w);
  EXPECT_EQ(metrics->energy_j, 3.5);
  EXPECT_EQ(metrics->boot_time_ns, 123456789);
  EXPECT_EQ(metrics->gfx_mhz, 1690);
  EXPECT_EQ(metrics->memory_mhz, 1600);
  EXPECT_EQ(metrics->throttle, 1ull << 36);
  EXPECT_FALSE(metrics->residency);
  EXPECT_FALSE(metrics->xgmi_read_bytes);
}

TEST(GpuMetrics, Mi300WithItsLinks) {
  auto table = empty_table<TableV1_4>();
  table.hotspot = 71;
  table.curr_socket_power = 743;
  table.current_gfxclk[0] = 2000;
  table.current_gfxclk[1] = 1900;
  table.current_uclk = 1300;
  table.pcie_replay_count_acc = 7;
  for (int link = 0; link < 7; ++link)
    table.xgmi_read_data_acc[link] = 10;  // the eighth is not there
  table.xgmi_write_data_acc[0] = 5;
  const auto metrics = parsed(table);
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->hotspot_c, 71);
  EXPECT_EQ(metrics->power_w, 743);
  EXPECT_FALSE(metrics->average_power_w);
  EXPECT_FALSE(metrics->edge_c);
  EXPECT_FALSE(metrics->energy_j);
  EXPECT_EQ(metrics->gfx_mhz, 1950);
  EXPECT_EQ(metrics->memory_mhz, 1300);
  EXPECT_EQ(metrics->pcie_replays, 7);
  EXPECT_EQ(metrics->xgmi_read_bytes, 7 * 10 * 1024);
  EXPECT_EQ(metrics->xgmi_written_bytes, 5 * 1024);
}

TEST(GpuMetrics, Mi300WithItsResidencies) {
  auto table = empty_table<TableV1_7>();
  table.energy_accumulator = 65536;
  table.accumulation_counter = 1000;
  table.prochot = 1;
  table.ppt = 200;
  table.socket_thm = 30;
  table.vr_thm = 4;
  table.hbm_thm = 50;
  table.current_uclk = 1300;
  table.xgmi_write_data_acc[7] = 2;
  const auto metrics = parsed(table);
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->energy_j, 1);
  ASSERT_TRUE(metrics->residency);
  EXPECT_EQ(metrics->residency->ticks, 1000u);
  EXPECT_EQ(metrics->residency->prochot, 1u);
  EXPECT_EQ(metrics->residency->power, 200u);
  EXPECT_EQ(metrics->residency->socket_heat, 30u);
  EXPECT_EQ(metrics->residency->regulator_heat, 4u);
  EXPECT_EQ(metrics->residency->memory_heat, 50u);
  EXPECT_EQ(metrics->memory_mhz, 1300);
  EXPECT_EQ(metrics->xgmi_written_bytes, 2048);
}

TEST(GpuMetrics, OtherTablesAndShortOnesGiveNothing) {
  EXPECT_FALSE(parse_gpu_metrics({}));
  auto table = empty_table<TableV1_3>();
  const auto* bytes = reinterpret_cast<const unsigned char*>(&table);
  EXPECT_FALSE(parse_gpu_metrics({bytes, sizeof table - 1}));
  EXPECT_TRUE(parse_gpu_metrics({bytes, sizeof table}));
  table.header.content = 0;  // v1.0 is packed otherwise
  EXPECT_FALSE(parsed(table));
  table.header = {120, 2, 3};  // an APU's
  EXPECT_FALSE(parsed(table));
}

}  // namespace
}  // namespace ergometer::record::amd
