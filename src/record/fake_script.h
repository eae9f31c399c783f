#pragma once

// What the vendors' fake libraries have in common: a script that says what they answer.
//
//   gpus 8                   how many there are
//   name NVIDIA H200
//   clock_us 1700000000000000  time stands still there, until the test moves it; none: real time
//   update_us 100000         sensors have a new value so often
//   value KEY A B C ...      what KEY reads, one after the other, an update each, then A again
//   counter KEY START STEP   what a counter of KEY reads: a STEP more with every update
//   status KEY N             KEY answers with this error instead
//   latency_us N             every call takes so long; `latency_us KEY N`: this one
//   lose GPU AFTER [FOR]     GPU is lost after so many calls that concern it, for so many calls
//   set WORD ...             anything else that a library understands
//
// KEY@3 is KEY of GPU 3 alone. What has no line is not supported. `#` begins a comment.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace ergometer::record::fake {

inline long long real_time_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct Script {
  unsigned gpus = 1;
  std::string name = "Fake GPU";
  long long clock_us = 0, update_us = 100'000, started_us = 0, latency_us = 0;
  struct Counter {
    double start = 0, step = 0;
  };
  struct Loss {
    long long after = 0, lasting = 1LL << 60;
  };
  std::map<std::string, std::vector<double>> values;
  std::map<std::string, Counter> counters;
  std::map<std::string, int> statuses;
  std::map<std::string, long long> latencies;
  std::map<unsigned, Loss> losses;
  std::map<unsigned, long long> calls;
  std::map<std::string, std::string> settings;

  /// The script that the environment variable names, on top of `defaults`.
  static Script read(const char* variable, const std::string& defaults) {
    Script script;
    std::istringstream first(defaults);
    script.parse(first);
    if (const char* path = std::getenv(variable)) {
      std::ifstream file(path);
      if (!file) std::abort();  // a test that misspells its script tests nothing
      script.parse(file);
    }
    script.started_us = script.now_us();
    return script;
  }

  void parse(std::istream& in) {
    std::string line;
    while (std::getline(in, line)) {
      std::istringstream words(line.substr(0, line.find('#')));
      std::string verb, key;
      if (!(words >> verb)) continue;
      if (verb == "gpus")
        words >> gpus;
      else if (verb == "name")
        std::getline(words >> std::ws, name);
      else if (verb == "clock_us")
        words >> clock_us;
      else if (verb == "update_us")
        words >> update_us;
      else if (verb == "set" && words >> key)
        parse_setting(settings[key], words);
      else if (verb == "status" && words >> key)
        words >> statuses[key];
      else if (verb == "latency_us")
        parse_latency(words);
      else if (verb == "counter" && words >> key)
        words >> counters[key].start >> counters[key].step;
      else if (verb == "lose") {
        unsigned gpu = 0;
        words >> gpu;
        words >> losses[gpu].after;
        if (long long lasting = 0; words >> lasting) losses[gpu].lasting = lasting;
      } else if (verb == "value" && words >> key) {
        values[key].clear();
        for (double value = 0; words >> value;) values[key].push_back(value);
      } else {
        std::abort();
      }
    }
  }
  static void parse_setting(std::string& setting, std::istream& words) {
    std::string more;
    std::getline(words >> std::ws, more);
    setting += (setting.empty() ? "" : " ") + more;
  }
  void parse_latency(std::istream& words) {
    std::string first;
    words >> first;
    if (long long us = 0; words >> us)
      latencies[first] = us;
    else
      latency_us = std::stoll(first);
  }

  long long now_us() const { return clock_us != 0 ? clock_us : real_time_us(); }
  long long updates() const { return (now_us() - started_us) / update_us; }
  long long updated_us(long long update) const { return started_us + update * update_us; }

  template <class Values>
  static auto find(const Values& values, const std::string& key, unsigned gpu) {
    const auto own = values.find(key + "@" + std::to_string(gpu));
    return own != values.end() ? own : values.find(key);
  }
  void wait(long long us) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
    while (us > 0 && std::chrono::steady_clock::now() < end) {}
  }
  /// What `key` takes beyond what every call takes.
  void wait_for(const std::string& key) const {
    if (const auto slow = latencies.find(key); slow != latencies.end()) wait(slow->second);
  }
  /// Counts a call and lets its time pass; whether the GPU is lost.
  bool lost(unsigned gpu, const std::string& key) {
    wait(latency_us);
    wait_for(key);
    const long long call = calls[gpu]++;
    const auto loss = losses.find(gpu);
    return loss != losses.end() && call >= loss->second.after &&
           call - loss->second.after < loss->second.lasting;
  }
  /// 0 and the value, or the status that the script says, or `unsupported`.
  int answer(unsigned gpu, const std::string& key, double& value, int unsupported) const {
    return answer_at(gpu, key, updates(), value, unsupported);
  }
  int answer_at(unsigned gpu, const std::string& key, long long update, double& value,
                int unsupported) const {
    if (const auto it = find(statuses, key, gpu); it != statuses.end()) return it->second;
    if (const auto it = find(counters, key, gpu); it != counters.end()) {
      value = it->second.start + static_cast<double>(update) * it->second.step;
      return 0;
    }
    const auto it = find(values, key, gpu);
    if (it == values.end() || it->second.empty()) return unsupported;
    value = it->second[static_cast<size_t>(update) % it->second.size()];
    return 0;
  }
};

}  // namespace ergometer::record::fake
