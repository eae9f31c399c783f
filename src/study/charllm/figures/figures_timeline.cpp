// What crosses PCIe to the network port, over time and by layout: figures 6 and 7.

#include <algorithm>

#include "study/charllm/figures/figures.h"
#include "study/charllm/ranked.h"

namespace ergometer::study::charllm {
namespace {

struct Sender {
  const char *row, *name;
  int64_t rank;                        ///< on a border between nodes
  std::vector<std::string> transfers;  ///< those of its transfers that leave the node
};

/// Bytes a second that a GPU sends towards the port, in equal parts of a stretch of its step.
std::vector<double> rates(const Ranked& run, const Sender& sender, double from_s, double part_s,
                          size_t parts) {
  constexpr double kNano = 1e-9;
  std::vector<double> bytes(parts, 0.0);
  for (const run::Kernel& kernel : run.kernels) {
    const bool leaves = std::any_of(
        sender.transfers.begin(), sender.transfers.end(),
        [&](const std::string& name) { return kernel.name.find(name) != kernel.name.npos; });
    if (!leaves || kernel.category != "send_recv" || kernel.duration_ns <= 0) continue;
    const double start = static_cast<double>(kernel.start_ns) * kNano;
    const double length = static_cast<double>(kernel.duration_ns) * kNano;
    for (size_t i = 0; i < parts; ++i) {
      const double low = from_s + static_cast<double>(i) * part_s;
      const double inside = std::min(start + length, low + part_s) - std::max(start, low);
      if (inside > 0) bytes[i] += kernel.comm_bytes * inside / length;
    }
  }
  for (double& value : bytes) value /= part_s;
  return bytes;
}

void over_time(Figures& figures) {
  constexpr size_t kParts = 400;
  constexpr double kStretchS = 2;
  run::Figure figure =
      titled("6", "PCIe of a GPU at a node's border, two seconds of the steady state");
  figure.caption =
      "With TP 8 all GPUs of a node send a slice of the same activations together; with TP 2 only "
      "the two of a border stage do, once per micro batch, and between transfers the port is idle. "
      "Next: overlap_p2p, so that what is sparse is also hidden. What of a send waits for its "
      "receiver counts as sending.";
  figure.reported =
      "PP-heavy: sparse, uncoordinated SendRecv underuses PCIe; TP-heavy: dense bursts";
  figure.x = axis("time", "s");
  figure.y = axis("sent", "GB/s");
  for (const Sender& sender :
       {Sender{"gpt3-175b_1", "TP2-PP16, stage 3, GPU 6", 6, {"[send_forward]"}},
        Sender{
            "gpt3-175b_3", "TP8-PP4, stage 1, GPU 8", 8, {"[send_forward]", "[send_backward]"}}}) {
    Basis basis = figures.basis();
    const Seen seen = basis.sweep("h200", sender.row, "01000");
    const auto run = ranked(seen.point, {sender.rank});
    if (!run) continue;
    constexpr double kGiga = 1e9, kPart = kStretchS / kParts;
    const std::vector<double> bytes_per_s = rates(*run, sender, run->step_s / 2, kPart, kParts);
    run::FigureSeries series = labelled(std::string("GPT3-175B ") + sender.name);
    for (size_t i = 0; i < kParts; ++i)
      put(series, (static_cast<double>(i) + 0.5) * kPart, bytes_per_s[i] / kGiga, seen);
    figure.series.push_back(std::move(series));
  }
  figures.add(std::move(figure));
}

void by_layout(Figures& figures) {
  Basis basis = figures.basis();
  run::Figure figure = titled("7", "How busy the links are, 32 H200", "", run::FigureKind::kBar);
  figure.caption =
      std::string(kNotKnown) +
      "Mean use of a GPU's NVLink and of a node's port, and "
      "the share of the step in which compute waits for either. Next: wide experts and FSDP need a "
      "faster port; a pipeline that waits while both links are idle needs overlap, not bandwidth.";
  figure.reported = "TP with PP underuses PCIe";
  figure.x.title = "layout";
  figure.y = axis("share", "%");
  run::FigureSeries nvlink = labelled("NVLink used"), nic = labelled("port used");
  run::FigureSeries waits = labelled("communication in kernel time");
  const auto add = [&](const std::string& name, const Seen& seen) {
    const auto x = static_cast<double>(figure.x.categories.size());
    figure.x.categories.push_back(name + " " + seen.layout());
    put(nvlink, x, 100 * seen.at("links.nvlink.utilization"), seen);
    put(nic, x, 100 * seen.at("links.nic.utilization"), seen);
    put(waits, x, 100 * communication_share(seen), seen);
  };
  for (const char* row : {"gpt3-175b_5", "llama3-70b_5"})
    add(model_name(model_of(row)),
        basis("optimization-sweep-h200-fsdp", std::string(row) + "_00000"));
  for (const std::string& layout : layouts_of("h200"))
    add(model_name(model_of(layout)), basis.sweep("h200", layout, "00000"));
  figure.series = {nvlink, nic, waits};
  figures.add(std::move(figure));
}

}  // namespace

void timeline_figures(Figures& figures) {
  over_time(figures);
  by_layout(figures);
}

}  // namespace ergometer::study::charllm
