// How fast a Kineto trace becomes a breakdown, beside the least that anything must do who reads
// one: a bare simdjson pass over every key, inflating, and Python's json.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "analysis/trace/breakdown.h"
#include "import/bytes/byte_source.h"
#include "import/bytes/unpack.h"
#include "import/kineto/kineto.h"
#include "text_source.h"

namespace {

using namespace ergometer;

constexpr int kEvents = 250'000;  ///< about 80 MB

/// A trace in the proportions of real ones: of ten events one is a kernel, two are launches, the
/// rest Python functions, operators and flows.
std::string make_trace() {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  for (int i = 0; i < kEvents; ++i) {
    const double ts = 4458676416788.066 + i * 3.5;
    if (i > 0) text += ",";
    if (i % 10 == 0) {
      text += fmt::format(
          "\n  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
          "at::native::vectorized_elementwise_kernel<4, "
          "at::native::AddFunctor_{}<float>, at::detail::Array<char*, 3> >(int, "
          "at::detail::Array<char*, 3>)\", \"pid\": "
          "0, \"tid\": {},\n    \"ts\": {:.3f}, \"dur\": {:.3f},\n    \"args\": {{\n      "
          "\"External id\": {}, "
          "\"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {}, "
          "\"registers per thread\": "
          "40, \"shared memory\": 0, \"blocks per SM\": 4.740741, \"warps per SM\": 75.851852, "
          "\"grid\": [512, 1, 1], "
          "\"block\": [512, 1, 1], \"est. achieved occupancy %\": 75\n    }}\n  }}",
          i % 97, i % 3, ts, 2.0 + i % 7, i, i);
    } else if (i % 10 < 3) {
      text += fmt::format(
          "\n  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
          "\"pid\": 2910249, "
          "\"tid\": 2910249,\n    \"ts\": {:.3f}, \"dur\": 5.207,\n    \"args\": {{\n      "
          "\"External id\": {}, \"cbid\": "
          "211, \"correlation\": {}\n    }}\n  }}",
          ts - 20, i - i % 10 + 4, i + i % 10);
    } else {
      text += fmt::format(
          "\n  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"aten::convolution_backward\", "
          "\"pid\": 2910249, \"tid\": "
          "2919752,\n    \"ts\": {:.3f}, \"dur\": 189.626,\n    \"args\": {{\n      \"External "
          "id\": {}, \"Record function "
          "id\": {}, \"Ev Idx\": {}, \"Input Dims\": [[64, 256, 56, 56], [64, 64, 56, 56], [256, "
          "64, 1, 1], [], []], "
          "\"Input type\": [\"float\", \"float\", \"float\", \"ScalarList\", \"\"]\n    }}\n  }}",
          i % 2 == 0 ? "cpu_op" : "python_function", ts, i, i, i);
    }
  }
  return text +
         "\n  ],\n  \"traceName\": \"bench.json\", \"baseTimeNanoseconds\": "
         "1711964646000000000\n}\n";
}

const std::string& trace() {
  static const std::string text = make_trace();
  return text;
}

const std::string& packed() {
  static const std::string bytes = [] {
    std::string out(compressBound(static_cast<uLong>(trace().size())) + 64, '\0'), in = trace();
    z_stream stream{};
    if (deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }();
  return bytes;
}

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(trace().size()));
}

void break_down(benchmark::State& state, importer::ByteSource& source) {
  const auto rank = importer::read_kineto(source, "bench.json");
  if (!rank || rank->events.size() != kEvents / 10) return state.SkipWithError("misread");
  benchmark::DoNotOptimize(analysis::break_down(*rank).busy_ns);
}

void trace_to_breakdown(benchmark::State& state) {
  trace();
  for (auto _ : state) {
    TextSource source(trace());
    break_down(state, source);
  }
  count_bytes(state);
}
BENCHMARK(trace_to_breakdown)->Unit(benchmark::kMillisecond);

/// What "bare" means here: every key of every event, and three of its arguments.
void trace_bare_simdjson(benchmark::State& state) {
  const simdjson::padded_string text(trace());
  for (auto _ : state) {
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    size_t sum = 0;
    if (parser.iterate(text).get(document)) std::abort();
    for (simdjson::ondemand::object event : document["traceEvents"].get_array()) {
      for (auto field : event) {
        const std::string_view key = field.unescaped_key();
        if (key != "args") {
          sum += field.value().raw_json_token().value().size();
          continue;
        }
        for (auto argument : field.value().get_object()) {
          const std::string_view name = argument.unescaped_key();
          if (name == "correlation" || name == "stream" || name == "device")
            sum += argument.value().raw_json_token().value().size();
        }
      }
    }
    benchmark::DoNotOptimize(sum);
  }
  count_bytes(state);
}
BENCHMARK(trace_bare_simdjson)->Unit(benchmark::kMillisecond);

void trace_gzip_to_breakdown(benchmark::State& state) {
  packed();
  for (auto _ : state) {
    TextSource bytes(packed());
    const auto source = importer::unpack_gzip(bytes, "bench.json.gz");
    break_down(state, *source);
  }
  count_bytes(state);
}
BENCHMARK(trace_gzip_to_breakdown)->Unit(benchmark::kMillisecond);

void trace_bare_inflate(benchmark::State& state) {
  packed();
  std::string piece(size_t{1} << 19, '\0');
  for (auto _ : state) {
    TextSource bytes(packed());
    const auto source = importer::unpack_gzip(bytes, "bench.json.gz");
    for (size_t got = 1; got > 0;) got = source->read(piece.data(), piece.size()).value_or(0);
    benchmark::DoNotOptimize(piece.data());
  }
  count_bytes(state);
}
BENCHMARK(trace_bare_inflate)->Unit(benchmark::kMillisecond);

/// The processor time of a Python that does nothing but json.load.
void trace_python_json(benchmark::State& state) {
  const std::string path = fmt::format("/tmp/ergometer-trace-bench-{}.json", getpid());
  std::ofstream(path) << trace();
  const auto children_s = [] {
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  for (auto _ : state) {
    const double before = children_s();
    if (std::system(
            fmt::format("python3 -c 'import json; json.load(open(\"{}\"))'", path).c_str()) != 0)
      state.SkipWithError("no python3");
    state.SetIterationTime(children_s() - before);
  }
  unlink(path.c_str());
  count_bytes(state);
}
BENCHMARK(trace_python_json)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
