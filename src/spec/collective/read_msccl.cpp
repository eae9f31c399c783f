#include "spec/collective/read_msccl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <span>
#include <tuple>

#include "base/nearest.h"

namespace ergometer::spec {
namespace {

constexpr int64_t kMostGpus = 512, kMostChannels = 64, kMostChunks = 65536;
constexpr int64_t kMostBlocks = 1024, kMostAlgorithmSteps = 1'000'000, kMostMoved = 4'000'000;
constexpr int64_t kMostBytes = int64_t{1} << 50;

constexpr std::string_view kStepWords[] = {"s",   "r",   "cpy",  "re", "rcs",
                                           "rrc", "rrs", "rrcs", "nop"};
constexpr std::string_view kBufferWords[] = {"i", "o", "s"};

/// Which line of the file a byte lies on.
class LineNumbers {
 public:
  explicit LineNumbers(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') ends_.push_back(static_cast<ptrdiff_t>(i));
  }
  int at(ptrdiff_t offset) const {
    return static_cast<int>(std::ranges::lower_bound(ends_, offset) - ends_.begin()) + 1;
  }

 private:
  std::vector<ptrdiff_t> ends_;
};

/// Keeps the first thing that is wrong.
class MscclReader {
 public:
  MscclReader(std::string_view xml, const std::string& file) : file_(file), lines_(xml) {
    algorithm_.file = file;
  }

  Result<Algorithm> read(std::string_view xml) {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed =
        document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed)
      return input_error("{}:{}: no XML: {}", file_, lines_.at(parsed.offset),
                         parsed.description());
    const pugi::xml_node algo = document.document_element();
    if (std::string_view(algo.name()) != "algo")
      return input_error("{}:{}: found <{}>; allowed: <algo>, as MSCCL's compiler writes it", file_,
                         line_of(algo), algo.name());
    for (const pugi::xml_node& other : document.children())
      if (other.type() == pugi::node_element && other != algo)
        refuse(line_of(other), "found <{}>; allowed: one <algo> a file", other.name());
    if (!error_) read_algo(algo);
    if (!error_) connections();
    if (!error_) dependencies();
    if (error_) return tl::unexpected(*error_);
    return std::move(algorithm_);
  }

 private:
  using Words = std::span<const std::string_view>;

  int line_of(const pugi::xml_node& node) const { return lines_.at(node.offset_debug()); }

  template <class... Parts>
  void refuse(int line, fmt::format_string<Parts...> form, Parts&&... parts) {
    if (error_) return;
    error_ = base::Error{base::ErrorKind::kInput,
                         fmt::format("{}:{}: {}{}", file_, line, where_,
                                     fmt::format(form, std::forward<Parts>(parts)...))};
  }

  void allow(const pugi::xml_node& node, std::initializer_list<std::string_view> names) {
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      if (std::ranges::find(names, attribute.name()) == names.end())
        refuse(line_of(node), "<{}> has no attribute {}; allowed: {}", node.name(),
               attribute.name(), fmt::join(names, ", "));
      if (node.attribute(attribute.name()) != attribute)
        refuse(line_of(node), "<{}> has the attribute {} twice; allowed: once", node.name(),
               attribute.name());
    }
  }

  bool lacks(const pugi::xml_node& node, const char* name) {
    if (node.attribute(name)) return false;
    refuse(line_of(node), "<{}> lacks the attribute {}", node.name(), name);
    return true;
  }

  int64_t number(const pugi::xml_node& node, const char* name, int64_t min, int64_t max) {
    if (lacks(node, name)) return min;
    return number_or(node, name, min, min, max);
  }

  int64_t number_or(const pugi::xml_node& node, const char* name, int64_t fallback, int64_t min,
                    int64_t max) {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute) return fallback;
    const std::string_view text = attribute.value();
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed == std::errc{} && end == text.data() + text.size() && value >= min && value <= max)
      return value;
    refuse(line_of(node), "{}: found \"{}\"; allowed: {}", name, text.substr(0, 40),
           min == max ? fmt::format("{}", min)
                      : fmt::format("a whole number from {} to {}", min, max));
    return fallback;
  }
  int small(const pugi::xml_node& node, const char* name, int64_t min, int64_t max) {
    return static_cast<int>(number(node, name, min, max));
  }

  int choice(const pugi::xml_node& node, const char* name, Words words) {
    if (lacks(node, name)) return 0;
    const std::string_view text = node.attribute(name).value();
    const auto found = std::ranges::find(words, text);
    if (found != words.end()) return static_cast<int>(found - words.begin());
    refuse(line_of(node), "{}: found \"{}\"; allowed: {}", name, text.substr(0, 40),
           fmt::join(words, ", "));
    return 0;
  }

  /// Calls `visit` for the elements below; others than `name` are refused.
  template <class Visit>
  void each(const pugi::xml_node& node, std::string_view name, const Visit& visit) {
    for (const pugi::xml_node& child : node.children()) {
      if (error_) return;
      if (child.type() != pugi::node_element) continue;
      if (child.name() == name)
        visit(child);
      else
        refuse(line_of(child), "found <{}>; allowed in <{}>: <{}>", child.name(), node.name(),
               name);
    }
  }

  void read_algo(const pugi::xml_node& algo) {
    allow(algo, {"name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll", "inplace",
                 "outofplace", "minBytes", "maxBytes", "redop", "nthreadblocks", "nthreads"});
    algorithm_.line = line_of(algo);
    algorithm_.name = algo.attribute("name").as_string("unnamed");
    algorithm_.task = static_cast<CollectiveTask>(choice(algo, "coll", kTaskWords));
    algorithm_.protocol = static_cast<CollectiveProtocol>(choice(algo, "proto", kProtocolWords));
    algorithm_.channels = small(algo, "nchannels", 1, kMostChannels);
    algorithm_.chunks = small(algo, "nchunksperloop", 1, kMostChunks);
    const int64_t gpus = number(algo, "ngpus", 2, kMostGpus);
    algorithm_.in_place = number_or(algo, "inplace", 0, 0, 1) == 1;
    algorithm_.out_of_place = number_or(algo, "outofplace", algorithm_.in_place ? 0 : 1, 0, 1) == 1;
    algorithm_.min_bytes = static_cast<double>(number_or(algo, "minBytes", 0, 0, kMostBytes));
    algorithm_.max_bytes = static_cast<double>(number_or(algo, "maxBytes", 0, 0, kMostBytes));
    check_name(algo);
    check_algo(algo, gpus);
    if (error_) return;
    algorithm_.gpus.resize(static_cast<size_t>(gpus));
    std::set<int> seen;
    each(algo, "gpu", [&](const pugi::xml_node& gpu) {
      const int id = small(gpu, "id", 0, gpus - 1);
      if (!error_ && !seen.insert(id).second) refuse(line_of(gpu), "gpu {} stands here twice", id);
      if (!error_) read_gpu(gpu, id);
    });
    for (int id = 0; id < gpus && !error_; ++id)
      if (!seen.contains(id)) refuse(line_of(algo), "gpu {} of {} is missing", id, gpus);
  }

  /// It is shown to people.
  void check_name(const pugi::xml_node& algo) {
    constexpr size_t kLongest = 200;
    const bool control = std::ranges::any_of(
        algorithm_.name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; });
    if (control || algorithm_.name.empty() || algorithm_.name.size() > kLongest)
      refuse(line_of(algo), "name: allowed: 1 to {} characters, none of them a control character",
             kLongest);
  }

  void check_algo(const pugi::xml_node& algo, int64_t gpus) {
    const int line = line_of(algo);
    if (algorithm_.max_bytes > 0 && algorithm_.max_bytes < algorithm_.min_bytes)
      refuse(line, "maxBytes {} is less than minBytes {}", algorithm_.max_bytes,
             algorithm_.min_bytes);
    if (!algorithm_.in_place && !algorithm_.out_of_place)
      refuse(line, "inplace and outofplace are both 0; allowed: one of them, or both, is 1");
    if (algorithm_.task != CollectiveTask::kAllReduce && algorithm_.chunks % gpus != 0)
      refuse(line, "nchunksperloop: found {}; allowed for {}: a multiple of the {} GPUs",
             algorithm_.chunks, kTaskWords[static_cast<size_t>(algorithm_.task)], gpus);
  }

  void read_gpu(const pugi::xml_node& gpu, int id) {
    where_ = fmt::format("gpu {}: ", id);
    allow(gpu, {"id", "i_chunks", "o_chunks", "s_chunks"});
    GpuProgram& program = algorithm_.gpus[static_cast<size_t>(id)];
    const int inputs = algorithm_.input_chunks(), outputs = algorithm_.output_chunks();
    program.scratch_chunks = small(gpu, "s_chunks", 0, kMostChunks);
    chunks_ = {static_cast<int>(number_or(gpu, "i_chunks", inputs, 0, inputs)),
               static_cast<int>(number_or(gpu, "o_chunks", outputs, 0, outputs)),
               program.scratch_chunks};
    moved_ += inputs + outputs + program.scratch_chunks;
    check_sizes(line_of(gpu));
    each(gpu, "tb", [&](const pugi::xml_node& tb) { read_block(tb, id, program); });
    where_.clear();
  }

  void read_block(const pugi::xml_node& tb, int gpu, GpuProgram& program) {
    where_ = fmt::format("gpu {}, tb {}: ", gpu, program.blocks.size());
    allow(tb, {"id", "send", "recv", "chan"});
    const int64_t next = std::ssize(program.blocks);
    if (next >= kMostBlocks)
      return refuse(line_of(tb), "more than {} thread blocks on a GPU", kMostBlocks);
    number(tb, "id", next, next);
    ThreadBlock block;
    block.send_to = peer(tb, "send", gpu);
    block.receive_from = peer(tb, "recv", gpu);
    block.channel = small(tb, "chan", 0, algorithm_.channels - 1);
    each(tb, "step", [&](const pugi::xml_node& step) { read_step(step, gpu, next, block); });
    program.blocks.push_back(std::move(block));
  }

  int peer(const pugi::xml_node& tb, const char* name, int gpu) {
    const int other = small(tb, name, -1, algorithm_.size() - 1);
    if (other == gpu) refuse(line_of(tb), "{}: found {}, the GPU itself", name, other);
    return other;
  }

  void read_step(const pugi::xml_node& node, int gpu, int64_t tb, ThreadBlock& block) {
    where_ = fmt::format("gpu {}, tb {}, step {}: ", gpu, tb, block.steps.size());
    allow(node,
          {"s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"});
    AlgorithmStep step;
    step.line = line_of(node);
    number(node, "s", std::ssize(block.steps), std::ssize(block.steps));
    step.kind = static_cast<StepKind>(choice(node, "type", kStepWords));
    step.after_block = static_cast<int>(number_or(node, "depid", -1, -1, kMostBlocks - 1));
    step.after_step = static_cast<int>(number_or(node, "deps", -1, -1, kMostAlgorithmSteps));
    step.awaited = number_or(node, "hasdep", 0, 0, 1) == 1;
    if (sends(step.kind) && block.send_to < 0)
      refuse(step.line, "type {} sends, and the thread block sends to nobody (send=\"-1\")",
             word_of(step));
    if (receives(step.kind) && block.receive_from < 0)
      refuse(step.line, "type {} receives, and the thread block receives from nobody (recv=\"-1\")",
             word_of(step));
    if (step.kind != StepKind::kNothing) read_chunks(node, step);
    ++steps_;
    moved_ += step.count;
    check_sizes(step.line);
    block.steps.push_back(step);
  }

  void check_sizes(int line) {
    if (steps_ > kMostAlgorithmSteps || moved_ > kMostMoved)
      refuse(line, "the file holds or moves too much; allowed: {} steps, {} chunks in all",
             kMostAlgorithmSteps, kMostMoved);
  }

  static std::string_view word_of(const AlgorithmStep& step) {
    return kStepWords[static_cast<size_t>(step.kind)];
  }

  void read_chunks(const pugi::xml_node& node, AlgorithmStep& step) {
    step.count = small(node, "cnt", 1, kMostChunks);
    const auto place = [&](const char* buffer_name, const char* offset_name, ChunkBuffer& buffer,
                           int& chunk) {
      buffer = static_cast<ChunkBuffer>(choice(node, buffer_name, kBufferWords));
      const int size = chunks_[static_cast<size_t>(buffer)];
      if (error_) return;
      if (step.count > size)
        return refuse(step.line, "cnt: found {}; buffer {} of this GPU has {} chunks", step.count,
                      kBufferWords[static_cast<size_t>(buffer)], size);
      chunk = small(node, offset_name, 0, size - step.count);
    };
    if (reads(step.kind)) place("srcbuf", "srcoff", step.from, step.from_chunk);
    if (writes(step.kind)) place("dstbuf", "dstoff", step.to, step.to_chunk);
  }

  /// A connection is two GPUs and a channel.
  void connections() {
    std::map<std::tuple<int, int, int>, int> senders, receivers;
    for (int gpu = 0; gpu < algorithm_.size(); ++gpu) {
      const auto& blocks = algorithm_.gpus[static_cast<size_t>(gpu)].blocks;
      for (int tb = 0; tb < std::ssize(blocks); ++tb) {
        const ThreadBlock& block = blocks[static_cast<size_t>(tb)];
        if (block.send_to >= 0)
          claim(senders, {gpu, block.send_to, block.channel}, gpu, tb, "send");
        if (block.receive_from >= 0)
          claim(receivers, {block.receive_from, gpu, block.channel}, gpu, tb, "recv");
      }
    }
  }

  void claim(std::map<std::tuple<int, int, int>, int>& owners, std::tuple<int, int, int> connection,
             int gpu, int tb, const char* end) {
    const auto [owner, free] = owners.emplace(connection, tb);
    const auto& steps =
        algorithm_.gpus[static_cast<size_t>(gpu)].blocks[static_cast<size_t>(tb)].steps;
    if (!free)
      refuse(steps.empty() ? algorithm_.line : steps.front().line,
             "gpu {}: thread blocks {} and {} both {} on the connection from GPU {} to GPU {} by "
             "channel {}",
             gpu, owner->second, tb, end, std::get<0>(connection), std::get<1>(connection),
             std::get<2>(connection));
  }

  void dependencies() {
    for (int gpu = 0; gpu < algorithm_.size(); ++gpu)
      for (const ThreadBlock& block : algorithm_.gpus[static_cast<size_t>(gpu)].blocks)
        for (const AlgorithmStep& step : block.steps) check_dependency(gpu, step);
  }

  void check_dependency(int gpu, const AlgorithmStep& step) {
    const auto& blocks = algorithm_.gpus[static_cast<size_t>(gpu)].blocks;
    if (step.after_block < 0) return;
    if (step.after_block >= std::ssize(blocks))
      return refuse(step.line, "depid: found {}; GPU {} has {} thread blocks", step.after_block,
                    gpu, blocks.size());
    const auto& steps = blocks[static_cast<size_t>(step.after_block)].steps;
    if (step.after_step < 0 || step.after_step >= std::ssize(steps))
      return refuse(step.line, "deps: found {}; thread block {} has {} steps", step.after_step,
                    step.after_block, steps.size());
    if (!steps[static_cast<size_t>(step.after_step)].awaited)
      refuse(step.line,
             "waits for step {} of thread block {}, whose hasdep is 0: it tells nobody that it is "
             "done",
             step.after_step, step.after_block);
  }

  const std::string& file_;
  LineNumbers lines_;
  Algorithm algorithm_;
  std::string where_;  ///< "gpu 0, tb 1, step 2: "
  std::array<int, 3> chunks_{};
  int64_t steps_ = 0, moved_ = 0;
  std::optional<base::Error> error_;
};

}  // namespace

Result<Algorithm> parse_msccl(std::string_view xml, const std::string& file) {
  if (xml.size() > kLargestAlgorithm)
    return input_error("{}: found {} bytes; allowed: {} MiB", file, xml.size(),
                       kLargestAlgorithm >> 20);
  return MscclReader(xml, file).read(xml);
}

}  // namespace ergometer::spec
