#pragma once

// Algorithms in MSCCL's words, for tests.

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

namespace ergometer::spec {

inline std::vector<int> in_order(int gpus) {
  std::vector<int> order(static_cast<size_t>(gpus));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Writes one file, a GPU and a thread block behind the other.
class MscclWriter {
 public:
  MscclWriter(std::string name, const char* task, const char* protocol, int gpus, int channels,
              int chunks)
      : text_(fmt::format("<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" "
                          "ngpus=\"{}\" coll=\"{}\" inplace=\"1\" outofplace=\"0\" minBytes=\"0\" "
                          "maxBytes=\"0\">\n",
                          name, protocol, channels, chunks, gpus, task)) {}
  void gpu(int id, int inputs, int outputs) {
    end_gpu();
    text_ += fmt::format("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"0\">\n", id,
                         inputs, outputs);
    in_gpu_ = true;
    block_ = 0;
  }
  void block(int send, int receive, int channel) {
    end_block();
    text_ += fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", block_++, send,
                         receive, channel);
    in_block_ = true;
    step_ = 0;
  }
  void step(const char* type, const char* buffer, int chunk, int after_block = -1,
            int after_step = -1, bool awaited = false) {
    text_ += fmt::format(
        "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" "
        "dstoff=\"{}\" cnt=\"1\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
        step_++, type, buffer, chunk, buffer, chunk, after_block, after_step, awaited ? 1 : 0);
  }
  std::string take() {
    end_gpu();
    return text_ + "</algo>\n";
  }

 private:
  void end_block() {
    if (in_block_) text_ += "    </tb>\n";
    in_block_ = false;
  }
  void end_gpu() {
    end_block();
    if (in_gpu_) text_ += "  </gpu>\n";
    in_gpu_ = false;
  }

  std::string text_;
  bool in_gpu_ = false, in_block_ = false;
  int block_ = 0, step_ = 0;
};

/// NCCL's rings: as many channels as `orders`, each with the GPUs in an order of its own.
inline std::string ring_file(const char* task, const std::vector<std::vector<int>>& orders,
                             const char* protocol = "Simple") {
  const int gpus = static_cast<int>(orders.front().size()),
            channels = static_cast<int>(orders.size());
  const std::string word = task;
  const int chunks = gpus * channels;
  MscclWriter file("ring", task, protocol, gpus, channels, chunks);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    file.gpu(gpu, word == "allgather" ? channels : chunks,
             word == "reducescatter" ? channels : chunks);
    for (int channel = 0; channel < channels; ++channel) {
      const std::vector<int>& order = orders[static_cast<size_t>(channel)];
      int at = 0;
      while (order[static_cast<size_t>(at)] != gpu) ++at;
      const auto near = [&](int step) {
        return order[static_cast<size_t>(((at + step) % gpus + gpus) % gpus)];
      };
      const auto chunk = [&](int step) { return near(step) * channels + channel; };
      file.block(near(1), near(-1), channel);
      if (word == "allgather") {
        file.step("s", "o", chunk(0));
        for (int k = 1; k < gpus - 1; ++k) file.step("rcs", "o", chunk(-k));
        file.step("r", "o", chunk(1 - gpus));
      } else if (word == "reducescatter") {
        file.step("s", "i", chunk(-1));
        for (int k = 1; k < gpus - 1; ++k) file.step("rrs", "i", chunk(-1 - k));
        file.step("rrc", "i", chunk(0));
      } else {
        file.step("s", "i", chunk(0));
        for (int k = 1; k < gpus - 1; ++k) file.step("rrs", "i", chunk(-k));
        file.step("rrcs", "i", chunk(1));
        for (int k = 0; k < gpus - 2; ++k) file.step("rcs", "i", chunk(-k));
        file.step("r", "i", chunk(2 - gpus));
      }
    }
  }
  return file.take();
}

/// All pairs in two steps: everybody adds up one chunk of all the others, and sends the sum to all.
inline std::string all_pairs_file(int gpus, const char* protocol = "LL") {
  MscclWriter file("all-pairs", "allreduce", protocol, gpus, 1, gpus);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    file.gpu(gpu, gpus, gpus);
    for (int other = 0, block = 0; other < gpus; ++other) {
      if (other == gpu) continue;
      file.block(other, other, 0);
      file.step("s", "i", other);
      file.step("rrc", "i", gpu, block - 1, block > 0 ? 1 : -1, true);
      file.step("s", "i", gpu, gpus - 2, 1);
      file.step("r", "i", other);
      ++block;
    }
  }
  return file.take();
}

/// All that every GPU has goes to every other, which adds it up by itself: one step, many bytes.
inline std::string one_shot_file(int gpus) {
  const auto step = [](int number, const char* type, const char* from, int from_chunk,
                       const char* to, int to_chunk, int after_block, bool awaited) {
    return fmt::format(
        "<step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" "
        "cnt=\"1\" "
        "depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
        number, type, from, from_chunk, to, to_chunk, after_block, after_block < 0 ? -1 : 1,
        awaited ? 1 : 0);
  };
  std::string text = fmt::format(
      "<algo name=\"one-shot\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"1\" ngpus=\"{}\" "
      "coll=\"allreduce\" inplace=\"0\" outofplace=\"1\" minBytes=\"0\" maxBytes=\"0\">\n",
      gpus);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    text += fmt::format("<gpu id=\"{}\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"{}\">\n", gpu,
                        gpus - 1);
    for (int block = 0; block < gpus - 1; ++block) {
      const int other = block < gpu ? block : block + 1;
      text += fmt::format("<tb id=\"{0}\" send=\"{1}\" recv=\"{1}\" chan=\"0\">\n", block, other);
      text += step(0, "s", "i", 0, "s", 0, -1, false) + step(1, "r", "i", 0, "s", block, -1, true);
      text += "</tb>\n";
    }
    text += fmt::format("<tb id=\"{}\" send=\"-1\" recv=\"-1\" chan=\"0\">\n", gpus - 1);
    text += step(0, "cpy", "i", 0, "o", 0, -1, false);
    for (int block = 0; block < gpus - 1; ++block)
      text += step(block + 1, "re", "s", block, "o", 0, block, false);
    text += "</tb>\n</gpu>\n";
  }
  return text + "</algo>\n";
}

/// Every GPU's chunk for every other, at once.
inline std::string exchange_file(int gpus) {
  MscclWriter file("exchange", "alltoall", "Simple", gpus, 1, gpus);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    file.gpu(gpu, gpus, gpus);
    for (int other = 0; other < gpus; ++other) {
      if (other == gpu) continue;
      file.block(other, other, 0);
      file.step("s", "i", other);
      file.step("r", "i", other);
    }
  }
  return file.take();
}

}  // namespace ergometer::spec
