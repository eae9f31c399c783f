#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "import/history/scalar_steps.h"
#include "import/telemetry/readers.h"

// TensorBoard's event files, which Hugging Face's Trainer, PyTorch Lightning, NeMo, Megatron-LM and
// torchtitan write: records of TFRecord's form (length as a 64-bit word, its check, the bytes,
// their check, all little-endian), each a protobuf `Event` of a wall time, a step and scalars by
// tag (tensorflow/core/util/event.proto, framework/summary.proto). Checks are CRC-32C, masked.

namespace ergometer::importer {
namespace {

namespace io = google::protobuf::io;
using google::protobuf::internal::WireFormatLite;

constexpr size_t kLengthBytes = 8, kCheckBytes = 4, kHeadOfRecord = kLengthBytes + kCheckBytes;
constexpr uint64_t kMostRecordBytes = uint64_t{1} << 30;
constexpr double kNsPerSecond = 1e9;

constexpr std::array<uint32_t, 256> crc_table() {
  constexpr uint32_t kCastagnoli = 0x82f63b78;
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    table[i] = crc;
  }
  return table;
}

uint32_t masked_crc(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 255] ^ (crc >> 8);
  return std::rotr(~crc, 15) + 0xa282ead8;
}

uint64_t word_at(std::string_view bytes, size_t at, size_t width) {
  uint64_t word = 0;
  for (size_t i = width; i-- > 0;) word = word << 8 | static_cast<uint8_t>(bytes[at + i]);
  return word;
}

/// The length of the record that begins here; nothing where its check says that none does.
std::optional<uint64_t> record_length(std::string_view bytes) {
  if (bytes.size() < kHeadOfRecord ||
      masked_crc(bytes.substr(0, kLengthBytes)) != word_at(bytes, kLengthBytes, kCheckBytes))
    return std::nullopt;
  return word_at(bytes, 0, kLengthBytes);
}

struct ScalarEvent {
  double wall_s = 0;
  int64_t step = 0;
  std::vector<std::pair<std::string, double>> scalars;
};

/// Calls `take(field, wire type)` for every field of a message; false where it is damaged.
template <class Take>
bool for_each_field(io::CodedInputStream& in, const Take& take) {
  while (const uint32_t tag = in.ReadTag())
    if (!take(WireFormatLite::GetTagFieldNumber(tag), tag)) return false;
  return in.ConsumedEntireMessage();
}

/// The same of a message within another.
template <class Take>
bool for_each_field_within(io::CodedInputStream& in, const Take& take) {
  uint32_t length = 0;
  if (!in.ReadVarint32(&length) || length > static_cast<uint32_t>(in.BytesUntilLimit()))
    return false;
  const auto outer = in.PushLimit(static_cast<int>(length));
  const bool read = for_each_field(in, take);
  in.PopLimit(outer);
  return read;
}

bool is_bytes(uint32_t tag) {
  return WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
}

bool read_scalar(io::CodedInputStream& in, ScalarEvent& event) {
  std::string name;
  std::optional<float> value;
  const bool read = for_each_field_within(in, [&](int field, uint32_t tag) {
    uint32_t bits = 0;
    if (field == 1 && is_bytes(tag))
      return in.ReadVarint32(&bits) && in.ReadString(&name, static_cast<int>(bits));
    if (field == 2 && WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_FIXED32) {
      if (!in.ReadLittleEndian32(&bits)) return false;
      value = std::bit_cast<float>(bits);
      return true;
    }
    return WireFormatLite::SkipField(&in, tag);
  });
  if (read && value && !name.empty()) event.scalars.emplace_back(std::move(name), *value);
  return read;
}

/// Nothing where it is damaged.
std::optional<ScalarEvent> parse_event(std::string_view bytes) {
  io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
  in.PushLimit(static_cast<int>(bytes.size()));
  ScalarEvent event;
  const bool read = for_each_field(in, [&](int field, uint32_t tag) {
    const auto type = WireFormatLite::GetTagWireType(tag);
    uint64_t bits = 0;
    if (field == 1 && type == WireFormatLite::WIRETYPE_FIXED64) {
      if (!in.ReadLittleEndian64(&bits)) return false;
      event.wall_s = std::bit_cast<double>(bits);
      return true;
    }
    if (field == 2 && type == WireFormatLite::WIRETYPE_VARINT) {
      if (!in.ReadVarint64(&bits)) return false;
      event.step = static_cast<int64_t>(bits);
      return true;
    }
    if (field == 5 && is_bytes(tag))
      return for_each_field_within(in, [&](int inner, uint32_t inner_tag) {
        if (inner == 1 && is_bytes(inner_tag)) return read_scalar(in, event);
        return WireFormatLite::SkipField(&in, inner_tag);
      });
    return WireFormatLite::SkipField(&in, tag);
  });
  return read ? std::optional(std::move(event)) : std::nullopt;
}

/// False: no time that a clock shows, or no step that a program counts.
bool add_event(const ScalarEvent& event, ScalarSteps& steps) {
  constexpr int64_t kMostStep = 1'000'000'000'000'000;
  if (event.scalars.empty()) return true;
  if (event.step < 0 || event.step > kMostStep ||
      !(event.wall_s > 0 && event.wall_s < static_cast<double>(INT64_MAX) / kNsPerSecond))
    return false;
  const auto written_ns = static_cast<int64_t>(std::llround(event.wall_s * kNsPerSecond));
  steps.begin(event.step, written_ns, written_ns);
  for (const auto& [tag, value] : event.scalars) steps.add(tag, value);
  return true;
}

}  // namespace

bool is_event_file(std::string_view bytes) { return record_length(bytes).has_value(); }

Result<void> read_event_file(std::string_view bytes, LogBuilder& log) {
  ScalarSteps steps;
  const auto damaged = [&](size_t at, const char* what) {
    return input_error("{}: byte {}: {}", log.file(), at, what);
  };
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at);
    if (rest.size() < kHeadOfRecord) {
      log.note("{}: ends in the middle of a record", log.file());
      break;
    }
    const auto length = record_length(rest);
    if (!length || *length > kMostRecordBytes)
      return damaged(at, "found a record whose length fails its check, or is above 1 GiB");
    if (*length > rest.size() - kHeadOfRecord ||
        rest.size() - kHeadOfRecord - *length < kCheckBytes) {
      log.note("{}: ends in the middle of a record", log.file());
      break;
    }
    const std::string_view data = rest.substr(kHeadOfRecord, *length);
    if (masked_crc(data) != word_at(rest, kHeadOfRecord + *length, kCheckBytes))
      return damaged(at, "found a record that fails its check");
    const auto event = parse_event(data);
    if (!event) return damaged(at, "found a record that is no event of TensorBoard's");
    if (!add_event(*event, steps)) log.drop("an event without a time or a step");
    at += kHeadOfRecord + *length + kCheckBytes;
  }
  add_training(steps.take(), log);
  return {};
}

}  // namespace ergometer::importer
