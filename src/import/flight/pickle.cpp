#include "import/flight/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <vector>

namespace ergometer::importer {
namespace {

using Kind = TreeValue::Kind;

/// The deepest that lists may lie within each other; a dump has six.
constexpr size_t kMostMarks = 64;

/// The machine that a pickle is a program of: a stack of values, marks on it, a memory of values.
class Pickle {
 public:
  Pickle(std::string_view bytes, const std::string& file, ValueTree& tree)
      : bytes_(bytes), file_(file), tree_(tree) {}
  Result<TreeValue> read();

 private:
  void step(unsigned char code);
  bool number_step(unsigned char code);
  bool text_step(unsigned char code);
  bool list_step(unsigned char code);
  bool memory_step(unsigned char code);

  /// The next `width` bytes as a number, the lowest first.
  uint64_t bits(size_t width);
  std::string_view take(uint64_t size);
  std::string_view line();
  void push(TreeValue value) { stack_.push_back(value); }
  void whole(int64_t value) { push({.kind = Kind::kWhole, .whole = value}); }
  void truth(bool value) { push({.kind = Kind::kTruth, .whole = value}); }
  void long_number(size_t size);
  TreeValue pop();
  std::vector<TreeValue> pop_to_mark();
  void tuple(std::vector<TreeValue> items);
  void short_tuple(size_t size);
  void append(const std::vector<TreeValue>& items, Kind kind);
  void global();
  void reduce();
  void keep(uint64_t as);
  void recall(uint64_t what);
  void fail(std::string why) {
    if (!problem_) problem_ = std::move(why);
  }

  std::string_view bytes_;
  const std::string& file_;
  ValueTree& tree_;
  size_t at_ = 0;
  std::vector<TreeValue> stack_;
  std::vector<size_t> marks_;
  std::map<uint64_t, TreeValue> memory_;
  std::optional<std::string> problem_;
  bool done_ = false;
};

std::string_view Pickle::take(uint64_t size) {
  if (size > bytes_.size() - at_) {
    fail("the file ends in the middle of a value");
    at_ = bytes_.size();
    return {};
  }
  at_ += size;
  return bytes_.substr(at_ - size, size);
}

uint64_t Pickle::bits(size_t width) {
  uint64_t value = 0;
  const std::string_view found = take(width);
  for (size_t i = 0; i < found.size(); ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(found[i])) << (8 * i);
  return value;
}

std::string_view Pickle::line() {
  const size_t end = bytes_.find('\n', at_);
  const std::string_view text = take(std::min(end, bytes_.size()) - at_);
  take(1);
  return text;
}

/// Two's complement of up to 8 bytes.
void Pickle::long_number(size_t size) {
  if (size > 8) return fail("found a number of more than 64 bits");
  const uint64_t value = bits(size);
  const bool negative = size > 0 && size < 8 && (value >> (8 * size - 1) & 1) != 0;
  whole(static_cast<int64_t>(negative ? value | ~uint64_t{0} << (8 * size) : value));
}

TreeValue Pickle::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
    fail("found an instruction without the value that it is about");
    return {};
  }
  const TreeValue value = stack_.back();
  stack_.pop_back();
  return value;
}

std::vector<TreeValue> Pickle::pop_to_mark() {
  if (marks_.empty()) {
    fail("found the end of a list that did not begin");
    return {};
  }
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<TreeValue> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

void Pickle::tuple(std::vector<TreeValue> items) {
  push(tree_.container(Kind::kList));
  tree_.lists.back() = std::move(items);
}

void Pickle::short_tuple(size_t size) {
  std::vector<TreeValue> items(size);
  for (size_t i = size; i-- > 0;) items[i] = pop();
  tuple(std::move(items));
}

/// Items into the list or dict that lies below them.
void Pickle::append(const std::vector<TreeValue>& items, Kind kind) {
  const TreeValue to = pop();
  if (to.kind != kind || (kind == Kind::kDict && items.size() % 2 != 0))
    return fail("found items of a list or dict without it");
  auto& list = tree_.lists[to.at];
  list.insert(list.end(), items.begin(), items.end());
  push(to);
}

/// A builder of lists is None on the stack: what it is called with is its result.
void Pickle::global() {
  const std::string_view module = line(), name = line();
  if (module != "torch.jit._pickle" || !name.starts_with("build_") || !name.ends_with("list"))
    return fail(fmt::format("found the name {}.{}, allowed: torch.jit._pickle's builders of lists",
                            module.substr(0, 64), name.substr(0, 64)));
  push({});
}

void Pickle::reduce() {
  const TreeValue arguments = pop();
  pop();
  const auto& items = tree_.elements(arguments);
  if (arguments.kind != Kind::kList || items.size() != 1 || items[0].kind != Kind::kList)
    return fail("found a call, allowed: of a builder of lists, with a list");
  push(items[0]);
}

void Pickle::keep(uint64_t as) {
  const TreeValue value = pop();
  memory_[as] = value;
  push(value);
}

void Pickle::recall(uint64_t what) {
  const auto found = memory_.find(what);
  if (found == memory_.end()) return fail("found a value again that was not kept");
  push(found->second);
}

bool Pickle::number_step(unsigned char code) {
  switch (code) {
    case 'N': push({}); break;
    case 0x88: truth(true); break;
    case 0x89: truth(false); break;
    case 'K': whole(static_cast<int64_t>(bits(1))); break;
    case 'M': whole(static_cast<int64_t>(bits(2))); break;
    case 'J': whole(static_cast<int32_t>(bits(4))); break;
    case 0x8a: long_number(bits(1)); break;
    case 'G':
      push({.kind = Kind::kReal, .real = std::bit_cast<double>(__builtin_bswap64(bits(8)))});
      break;
    default: return false;
  }
  return true;
}

bool Pickle::text_step(unsigned char code) {
  switch (code) {
    case 'X': push(tree_.text(take(bits(4)))); break;
    case 0x8c: push(tree_.text(take(bits(1)))); break;
    case 'c': global(); break;
    case 'R': reduce(); break;
    default: return false;
  }
  return true;
}

bool Pickle::list_step(unsigned char code) {
  switch (code) {
    case '(':
      if (marks_.size() >= kMostMarks)
        fail(fmt::format("found lists more than {} deep", kMostMarks));
      marks_.push_back(stack_.size());
      break;
    case ']':
    case ')': push(tree_.container(Kind::kList)); break;
    case '}': push(tree_.container(Kind::kDict)); break;
    case 't': tuple(pop_to_mark()); break;
    case 0x85: short_tuple(1); break;
    case 0x86: short_tuple(2); break;
    case 0x87: short_tuple(3); break;
    case 'e': append(pop_to_mark(), Kind::kList); break;
    case 'u': append(pop_to_mark(), Kind::kDict); break;
    case 'a': append({pop()}, Kind::kList); break;
    case 's': {
      const TreeValue value = pop();
      append({pop(), value}, Kind::kDict);
      break;
    }
    default: return false;
  }
  return true;
}

bool Pickle::memory_step(unsigned char code) {
  switch (code) {
    case 0x80: bits(1); break;  // the protocol
    case 0x95: bits(8); break;  // a frame's size
    case 'q': keep(bits(1)); break;
    case 'r': keep(bits(4)); break;
    case 0x94: keep(memory_.size()); break;
    case 'h': recall(bits(1)); break;
    case 'j': recall(bits(4)); break;
    case '.': done_ = true; break;
    default: return false;
  }
  return true;
}

void Pickle::step(unsigned char code) {
  if (!memory_step(code) && !number_step(code) && !text_step(code) && !list_step(code))
    fail(fmt::format("found the instruction 0x{:02x}, allowed: those of plain values", code));
}

Result<TreeValue> Pickle::read() {
  size_t began = 0;
  while (!done_ && !problem_) {
    began = at_;
    if (at_ == bytes_.size())
      fail("the file ends in the middle");
    else
      step(static_cast<unsigned char>(bytes_[at_++]));
  }
  const TreeValue value = problem_ ? TreeValue() : pop();
  if (problem_)
    return input_error("{}: is no pickle of plain values: byte {}: {}", file_, began, *problem_);
  return value;
}

}  // namespace

bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

Result<TreeValue> read_pickle(std::string_view bytes, const std::string& file, ValueTree& tree) {
  return Pickle(bytes, file, tree).read();
}

}  // namespace ergometer::importer
