// Every fuzzer over its corpus, without a fuzzing library: what was found once is not found again.
//
//   run_corpus FOLDER [FUZZER ...]     FOLDER/FUZZER/* are its inputs; by default of all fuzzers

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#define ERGOMETER_FUZZER(name) extern "C" int name(const uint8_t*, size_t);
#include "fuzzers.inc"
#undef ERGOMETER_FUZZER

namespace {

struct Fuzzer {
  std::string name;
  int (*run)(const uint8_t*, size_t);
};

const std::vector<Fuzzer>& fuzzers() {
  static const std::vector<Fuzzer> all = {
#define ERGOMETER_FUZZER(name) {#name, name},
#include "fuzzers.inc"
  };
  return all;
}

/// Its number of inputs. Each is named first, so that a crash says of which it is.
size_t run(const Fuzzer& fuzzer, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(folder / fuzzer.name))
    for (const auto& entry : std::filesystem::directory_iterator(folder / fuzzer.name))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    std::ifstream in(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    fuzzer.run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  const uint8_t nothing = 0;
  fuzzer.run(&nothing, 0);
  return files.size();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return 2;
  size_t fuzzers_run = 0, inputs = 0;
  for (const Fuzzer& fuzzer : fuzzers()) {
    if (words.size() > 1 && std::find(words.begin() + 1, words.end(), fuzzer.name) == words.end())
      continue;
    inputs += run(fuzzer, words.front());
    ++fuzzers_run;
  }
  std::printf("%zu fuzzers over %zu inputs\n", fuzzers_run, inputs);
  return inputs > 0 ? 0 : 1;
}
