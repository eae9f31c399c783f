#include "import/chakra/chakra.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <bit>
#include <cmath>
#include <limits>

#include "import/chakra/node_builder.h"

// The schema is et_def.proto of mlcommons/chakra:
//
//   GlobalMetadata  1 version, 2 attr[]
//   Node            1 id, 2 name, 3 type, 4 ctrl_deps[], 5 data_deps[], 6 start_time_micros,
//                   7 duration_micros, 8 inputs, 9 outputs, 10 attr[]
//   AttributeProto  1 name, 2 doc_string, one of 3 double, 5 float, 7 int32, 9 int64, 11 uint32,
//                   13 uint64, 15 sint32, 17 sint64, 19 fixed32, 21 fixed64, 23 sfixed32,
//                   25 sfixed64, 27 bool, 29 string, 31 bytes; a list of each one number higher, a
//                   message with 1 values[]
//
// Earlier files number attributes' values as ONNX does (2 f, 3 i, 4 s, 7 floats, 8 ints, 20 type)
// and a node's attributes otherwise than 10. No field has a meaning in one that its wire type gives
// it in the other, so the wire is read and no generated code is needed.

namespace ergometer::importer {
namespace {

namespace io = google::protobuf::io;
using google::protobuf::internal::WireFormatLite;

constexpr uint64_t kMostMessage = uint64_t{1} << 26;
constexpr size_t kMostDependencies = std::numeric_limits<uint32_t>::max();

/// A source as protobuf reads one.
class ProtobufInput : public io::CopyingInputStream {
 public:
  explicit ProtobufInput(ByteSource& source) : source_(source) {}
  int Read(void* buffer, int size) override {
    auto got = source_.read(static_cast<char*>(buffer), static_cast<size_t>(size));
    if (!got) {
      error_ = got.error();
      return -1;
    }
    return static_cast<int>(*got);
  }
  const std::optional<base::Error>& error() const { return error_; }

 private:
  ByteSource& source_;
  std::optional<base::Error> error_;
};

/// A message's bytes, field by field. After a failure there are no more fields.
class Fields {
 public:
  explicit Fields(std::string_view bytes)
      : bytes_(bytes),
        input_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  /// Goes to the next field, past what has not been read of the one before.
  bool next() {
    if (!ok_) return false;
    if (tag_ != 0 && !taken_) ok_ = WireFormatLite::SkipField(&input_, tag_);
    taken_ = false;
    if (!ok_ || input_.CurrentPosition() == static_cast<int>(bytes_.size())) return false;
    tag_ = input_.ReadTag();
    ok_ = WireFormatLite::GetTagFieldNumber(tag_) > 0;
    return ok_;
  }
  bool ok() const { return ok_; }
  int number() const { return WireFormatLite::GetTagFieldNumber(tag_); }
  WireFormatLite::WireType type() const { return WireFormatLite::GetTagWireType(tag_); }
  bool is_varint() const { return type() == WireFormatLite::WIRETYPE_VARINT; }
  bool is_bytes() const { return type() == WireFormatLite::WIRETYPE_LENGTH_DELIMITED; }

  uint64_t varint() {
    uint64_t value = 0;
    take(input_.ReadVarint64(&value));
    return value;
  }
  uint64_t fixed64() {
    uint64_t value = 0;
    take(input_.ReadLittleEndian64(&value));
    return value;
  }
  uint32_t fixed32() {
    uint32_t value = 0;
    take(input_.ReadLittleEndian32(&value));
    return value;
  }
  std::string_view bytes() {
    int size = 0;
    take(input_.ReadVarintSizeAsInt(&size));
    const auto at = static_cast<size_t>(input_.CurrentPosition());
    if (!ok_ || bytes_.size() - at < static_cast<size_t>(size)) {
      ok_ = false;
      return {};
    }
    input_.Skip(size);
    return bytes_.substr(at, static_cast<size_t>(size));
  }

 private:
  void take(bool read) {
    taken_ = true;
    ok_ = ok_ && read;
  }

  std::string_view bytes_;
  io::CodedInputStream input_;
  uint32_t tag_ = 0;
  bool taken_ = false, ok_ = true;
};

bool append_packed(std::string_view bytes, std::vector<uint64_t>& to) {
  io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                             static_cast<int>(bytes.size()));
  while (input.CurrentPosition() < static_cast<int>(bytes.size())) {
    uint64_t value = 0;
    if (!input.ReadVarint64(&value)) return false;
    to.push_back(value);
  }
  return true;
}

/// Numbers one by one or packed: both are valid for any reader.
bool append_numbers(Fields& field, std::vector<uint64_t>& to) {
  if (field.is_bytes()) return append_packed(field.bytes(), to);
  if (field.is_varint()) to.push_back(field.varint());
  return true;
}

std::optional<int64_t> whole(double value) {
  constexpr double kMost = 9e18;
  if (!(std::abs(value) < kMost)) return std::nullopt;
  return static_cast<int64_t>(std::llround(value));
}

/// A list, as a message with the numbers in field 1 or as the numbers themselves.
std::vector<int64_t> numbers_of(std::string_view bytes) {
  std::vector<uint64_t> numbers;
  Fields fields(bytes);
  bool is_message = true;
  while (fields.next())
    is_message = is_message && fields.number() == 1 && append_numbers(fields, numbers);
  if (!fields.ok() || !is_message) {
    numbers.clear();
    if (!append_packed(bytes, numbers)) numbers.clear();
  }
  return {numbers.begin(), numbers.end()};
}

void read_value(Fields& field, ChakraAttribute& attribute) {
  constexpr int kFloat = 5, kOldFloat = 2, kOldText = 4, kSint32 = 15, kSint64 = 17, kText = 29,
                kBytes = 31, kDouble = 3;
  const int number = field.number();
  if (field.is_varint() && number % 2 == 1) {
    const uint64_t value = field.varint();
    attribute.number = number == kSint32 || number == kSint64
                           ? WireFormatLite::ZigZagDecode64(value)
                           : static_cast<int64_t>(value);
  } else if (field.type() == WireFormatLite::WIRETYPE_FIXED64) {
    const uint64_t value = field.fixed64();
    attribute.number =
        number == kDouble ? whole(std::bit_cast<double>(value)) : static_cast<int64_t>(value);
  } else if (field.type() == WireFormatLite::WIRETYPE_FIXED32) {
    const uint32_t value = field.fixed32();
    attribute.number = number == kFloat || number == kOldFloat
                           ? whole(std::bit_cast<float>(value))
                           : std::optional<int64_t>(static_cast<int32_t>(value));
  } else if (field.is_bytes() && number > 2) {
    const std::string_view bytes = field.bytes();
    if (number == kText || number == kBytes || number == kOldText)
      attribute.text = bytes;
    else
      attribute.list = numbers_of(bytes);
  }
}

/// False when the bytes are no attribute.
bool read_attribute(std::string_view bytes, ChakraAttribute& attribute) {
  Fields fields(bytes);
  while (fields.next()) {
    if (fields.number() == 1 && fields.is_bytes())
      attribute.name = fields.bytes();
    else
      read_value(fields, attribute);
  }
  return fields.ok() && !attribute.name.empty();
}

bool read_node(std::string_view bytes, GraphBuilder& graph, ChakraNode& to) {
  constexpr int kId = 1, kName = 2, kType = 3, kControl = 4, kData = 5, kStart = 6, kDuration = 7,
                kFirstMessage = 8, kAttribute = 10;
  Fields fields(bytes);
  bool has_id = false;
  while (fields.next()) {
    const int number = fields.number();
    if (number == kName && fields.is_bytes()) {
      to.name = fields.bytes();
    } else if (number == kControl || number == kData) {
      if (!append_numbers(fields, number == kControl ? to.control : to.data)) return false;
    } else if (number >= kFirstMessage && fields.is_bytes()) {
      ChakraAttribute attribute;
      if (read_attribute(fields.bytes(), attribute))
        graph.take(attribute, to.node);
      else if (number == kAttribute)
        return false;
    } else if (fields.is_varint()) {
      const uint64_t value = fields.varint();
      if (number == kId) {
        to.node.id = value;
        has_id = true;
      }
      if (number == kType) to.node.kind = chakra_kind(static_cast<int64_t>(value));
      if (number == kStart) graph.take_time(value, to.node.start_ns);
      if (number == kDuration) graph.take_time(value, to.node.duration_ns);
    }
  }
  // An id of zero is not written.
  return fields.ok() && (has_id || !to.name.empty());
}

bool is_printable(std::string_view text) {
  for (const char c : text)
    if (c <= ' ' || c > '~' || c == '"') return false;
  return true;
}

/// What is said of the whole file: at most a version and attributes.
bool read_metadata(std::string_view bytes, std::string& version) {
  Fields fields(bytes);
  while (fields.next()) {
    if (!fields.is_bytes() || fields.number() > 2) return false;
    const std::string_view value = fields.bytes();
    ChakraAttribute attribute;
    if (fields.number() == 1)
      version = value;
    else if (!read_attribute(value, attribute))
      return false;
    else if (attribute.name == "schema" && version.empty())
      version = attribute.text;
  }
  return fields.ok() && is_printable(version);
}

/// Messages one behind the other.
class Messages {
 public:
  explicit Messages(ByteSource& source) : input_(source), stream_(&input_) {}

  enum class Found : uint8_t { kMessage, kEnd, kCutOff, kTooLong };
  Found next(std::string& message) {
    const void* data = nullptr;
    int size = 0;
    if (!stream_.Next(&data, &size)) return Found::kEnd;
    stream_.BackUp(size);
    at_ = stream_.ByteCount();
    io::CodedInputStream input(&stream_);
    uint64_t length = 0;
    if (!input.ReadVarint64(&length)) return is_at_end(input) ? Found::kCutOff : Found::kTooLong;
    if (length > kMostMessage) return Found::kTooLong;
    return input.ReadString(&message, static_cast<int>(length)) ? Found::kMessage : Found::kCutOff;
  }
  static bool is_at_end(io::CodedInputStream& input) {
    const void* data = nullptr;
    int left = 0;
    return !input.GetDirectBufferPointer(&data, &left);
  }
  /// Where in the file the last one begins.
  int64_t at() const { return at_; }
  const std::optional<base::Error>& error() const { return input_.error(); }

 private:
  ProtobufInput input_;
  io::CopyingInputStreamAdaptor stream_;
  int64_t at_ = 0;
};

tl::unexpected<base::Error> not_a_node(const std::string& file, int64_t number, int64_t at,
                                       std::string_view what) {
  return input_error(
      "{}: message {}, at byte {}, is no node of a Chakra graph: {}; the file is "
      "damaged or of another kind",
      file, number, at, what);
}

/// Takes a message off the front; empty where none ends within the text.
std::string_view cut_message(std::string_view& text) {
  io::CodedInputStream input(reinterpret_cast<const uint8_t*>(text.data()),
                             static_cast<int>(text.size()));
  uint64_t size = 0;
  if (!input.ReadVarint64(&size)) return {};
  text.remove_prefix(static_cast<size_t>(input.CurrentPosition()));
  if (size > text.size()) return {};
  const std::string_view message = text.substr(0, size);
  text.remove_prefix(size);
  return message;
}

}  // namespace

bool looks_like_chakra(std::string_view head) {
  std::string_view first = cut_message(head);
  std::string version;
  if (!first.empty() && read_metadata(first, version)) return true;
  // Without a message about the file, or with an empty one, nodes begin at once.
  if (first.empty()) first = cut_message(head);
  GraphBuilder graph;
  ChakraNode node;
  return !first.empty() && read_node(first, graph, node) &&
         node.node.kind != run::WorkNode::Kind::kUnknown;
}

Result<run::WorkGraph> read_chakra(ByteSource& source, const std::string& file) {
  GraphBuilder graph;
  Messages messages(source);
  std::string message, version;
  for (int64_t number = 1;; ++number) {
    const Messages::Found found = messages.next(message);
    if (messages.error()) return tl::unexpected(*messages.error());
    if (found == Messages::Found::kEnd) break;
    if (found == Messages::Found::kCutOff) {
      graph.graph().truncated = true;
      break;
    }
    if (found == Messages::Found::kTooLong)
      return not_a_node(file, number, messages.at(), "it says it is longer than 64 MiB");
    if (number == 1 && read_metadata(message, version)) continue;
    ChakraNode node;
    if (!read_node(message, graph, node))
      return not_a_node(file, number, messages.at(), "its fields do not end");
    graph.add(node);
    if (graph.graph().dependencies.size() > kMostDependencies)
      return input_error("{}: more than 2^32 dependencies", file);
  }
  graph.graph().truncated = graph.graph().truncated || source.cut_off();
  if (graph.graph().nodes.empty()) return input_error("{}: is a Chakra graph without nodes", file);
  graph.graph().format = version.empty() ? "Chakra" : "Chakra " + version;
  return graph.finish(file);
}

}  // namespace ergometer::importer
