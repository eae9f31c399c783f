#include <unistd.h>

#include <cstdint>
#include <cstdlib>

/// glibc has it since 2.36, and the archive of g++'s library asks for it: with this one the program
/// that is one file starts on systems of early 2022 too.
extern "C" uint32_t arc4random() {
  uint32_t bits = 0;
  if (::getentropy(&bits, sizeof bits) != 0) std::abort();
  return bits;
}
