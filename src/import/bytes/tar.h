#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "import/bytes/byte_source.h"

namespace ergometer::importer {

/// Whether these first bytes (at least 512) are those of a tar archive.
bool looks_like_tar(std::string_view head);

/// The files of a tar archive, one after the other: POSIX ustar and pax, GNU's long names.
///
///   TarReader tar(source, "ranks.tar");
///   for (;;) {
///     ERGOMETER_ASSIGN(const auto name, tar.next());
///     if (!name) break;
///     ... tar.content() is the file's bytes ...
///   }
class TarReader {
 public:
  TarReader(ByteSource& archive, std::string name);

  /// Goes to the next regular file, past what is left of the one before; nothing at the end.
  Result<std::optional<std::string>> next();
  ByteSource& content() { return content_; }
  /// Whether the archive ended in the middle of a file.
  bool cut_off() const { return content_.cut_off(); }

 private:
  class Content : public ByteSource {
   public:
    explicit Content(ByteSource& archive) : archive_(archive) {}
    Result<size_t> read(char* to, size_t bytes) override;
    bool cut_off() const override { return cut_off_ || archive_.cut_off(); }

    ByteSource& archive_;
    uint64_t left_ = 0, padding_ = 0;
    bool cut_off_ = false;
  };

  Result<bool> read_block(char* block);
  Result<void> skip_rest();
  Result<std::string> read_all(uint64_t most);

  Content content_;
  std::string name_;
};

}  // namespace ergometer::importer
