// Faults for a program that is started with this library in LD_PRELOAD. Calls of one kind are
// counted from `main` on and one of them fails. What the loader does before is nobody's to handle.
//
// FAULT_KIND: memory (allocations); write (system calls that write, make, rename, sync or close
//     files, standard output among them); read (those that open, read or look at them); short
//     (reads and writes, which do the first half); thread (starts of threads). Standard error is
//     left alone: it is where failures are told.
// FAULT_AT=N: the N-th call fails.
// FAULT_STAYS=1: all later calls fail too; of `write` those that need room, for a full disk still
//     removes files.
// FAULT_ASK=1: instead, at every call FAULT_SOCKET is asked whether the process forks. The child
//     goes on with that call failing and, when it has ended, the parent with the call made. The
//     child believes that it holds its parent's file locks; positions in files are set back after
//     it. Only while there is one thread.
// FAULT_EVERY=N: only at every N-th call.
// FAULT_THREADED=1: only calls made while there are several threads count.
// FAULT_SOCKET=DESCRIPTOR: at the end it is told how many calls there were (`Message`).
// FAULT_LOG=DESCRIPTOR: what happens to files is written there, in order; what a power cut would
//     find is made of it.
//
// System calls are trapped by a filter of the kernel (seccomp), so that those made inside the C
// library, SQLite's and streams' count as the program's own do. A program that the process starts
// would be trapped, and die.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
/// A system call that the filter lets pass, by where it comes from; -errno when it fails.
long raw_call(long number, long a, long b, long c, long d, long e, long f);
extern const char raw_call_end[];
}

asm(R"(
  .text
  .type raw_call, @function
raw_call:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
raw_call_end:
  ret
)");

namespace {

enum class Kind { kNone, kMemory, kWrite, kRead, kShort, kThread };

/// What FAULT_SOCKET is told.
struct Message {
  uint32_t call;    ///< which one, from 1; at the end, how many
  uint32_t number;  ///< of the system call
  uint32_t needs_room;
  uint32_t at_end;  ///< 1: there are no more calls
};
static_assert(sizeof(Message) == 16);

struct Options {
  Kind kind = Kind::kNone;
  uint32_t at = 0, every = 1;
  bool stays = false, asks = false, threaded = false;
  int socket = -1, log = -1;
};

Options options;
std::atomic<bool> armed = false;  ///< main has begun
std::atomic<uint32_t> calls = 0;
std::atomic<int> other_threads = 0;
bool is_child = false;  ///< of a fork made here
std::atomic<bool> failing = false;
std::atomic_flag log_lock = ATOMIC_FLAG_INIT;

template <class... Values>
long raw(long number, Values... values) {
  std::array<long, 6> a{};
  size_t i = 0;
  ((a[i++] = (long)values), ...);
  return raw_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

long number_from(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

Kind kind_from(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"none", "memory", "write",
                                                      "read", "short",  "thread"};
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  return found == kNames.end() ? Kind::kNone : Kind(found - kNames.begin());
}

/// Positions in open files, which a forked child moves for its parent too.
class Positions {
 public:
  Positions() {
    for (size_t i = 0; i < at_.size(); ++i) at_[i] = raw(SYS_lseek, i, 0, SEEK_CUR);
  }
  void set_back() const {
    for (size_t i = 0; i < at_.size(); ++i)
      if (at_[i] >= 0) raw(SYS_lseek, i, at_[i], SEEK_SET);
  }

 private:
  std::array<long, 32> at_;
};

void tell(const Message& message) { raw(SYS_write, options.socket, &message, sizeof message); }

/// Forks as often as is asked for: 'o', once, 's', it stays; true in the children.
bool forks(uint32_t call, uint32_t number, bool needs_room) {
  if (call % options.every != 0 || other_threads > 0) return false;
  tell({call, number, needs_room, 0});
  for (;;) {
    char answer = 0;
    if (raw(SYS_read, options.socket, &answer, 1) != 1 || answer == 'g') return false;
    const Positions positions;
    const long child = raw(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      raw(SYS_close, options.socket);
      is_child = true;
      options.socket = -1;
      options.stays = answer == 's';
      failing = options.stays;
      return true;
    }
    const auto id = static_cast<int32_t>(child);
    raw(SYS_write, options.socket, &id, sizeof id);
    int32_t status = 0;
    raw(SYS_wait4, child, &status, 0, 0);
    positions.set_back();
    raw(SYS_write, options.socket, &status, sizeof status);
  }
}

}  // namespace

/// Where a debugger stops at the call that fails.
extern "C" __attribute__((noinline)) void fault_here() { asm volatile(""); }

namespace {

bool decide(uint32_t number, bool needs_room) {
  if (failing) return options.kind != Kind::kWrite || needs_room;
  if (is_child || (options.threaded && other_threads == 0)) return false;
  const uint32_t call = ++calls;
  if (options.asks) return forks(call, number, needs_room);
  if (call != options.at) return false;
  failing = options.stays;
  return true;
}

/// Whether this call fails.
bool fails(uint32_t number, bool needs_room) {
  if (!decide(number, needs_room)) return false;
  fault_here();
  return true;
}

bool memory_fails() {
  if (options.kind != Kind::kMemory || !armed || !fails(0, true)) return false;
  errno = ENOMEM;
  return true;
}

struct Call {
  long number = 0;
  std::array<long, 6> a{};

  long make() const { return raw_call(number, a[0], a[1], a[2], a[3], a[4], a[5]); }
  bool is(std::initializer_list<long> numbers) const {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
  }
};

constexpr std::initializer_list<long> kTransfersOut = {SYS_write, SYS_pwrite64, SYS_writev,
                                                       SYS_pwritev};
constexpr std::initializer_list<long> kTransfersIn = {SYS_read, SYS_pread64, SYS_readv, SYS_preadv};
constexpr std::initializer_list<long> kOpens = {SYS_open, SYS_openat, SYS_creat};
constexpr std::initializer_list<long> kOthersOfFiles = {SYS_fsync, SYS_fdatasync, SYS_ftruncate,
                                                        SYS_fchmod, SYS_close};
constexpr std::initializer_list<long> kOfNames = {
    SYS_rename,   SYS_renameat, SYS_renameat2, SYS_unlink,         SYS_unlinkat,
    SYS_link,     SYS_linkat,   SYS_mkdir,     SYS_rmdir,          SYS_chmod,
    SYS_truncate, SYS_symlink,  SYS_sendfile,  SYS_copy_file_range};
constexpr std::initializer_list<long> kLooks = {
    SYS_stat,       SYS_fstat,    SYS_lstat,      SYS_newfstatat, SYS_statx,
    SYS_getdents64, SYS_readlink, SYS_readlinkat, SYS_access,     SYS_faccessat};
constexpr std::array kTrapped = {kTransfersOut,  kTransfersIn, kOpens,
                                 kOthersOfFiles, kOfNames,     kLooks};

struct stat status_of(long file) {
  struct stat status{};
  raw(SYS_fstat, file, &status);
  return status;
}

bool is_file(long file) {
  const mode_t mode = status_of(file).st_mode;
  return S_ISREG(mode) || S_ISDIR(mode);
}

bool is_ours(long file) { return file == options.socket || file == options.log; }

int open_flags(const Call& call) {
  if (call.number == SYS_creat) return O_WRONLY | O_CREAT | O_TRUNC;
  return static_cast<int>(call.number == SYS_open ? call.a[1] : call.a[2]);
}
const char* opened_path(const Call& call) {
  return reinterpret_cast<const char*>(call.number == SYS_openat ? call.a[1] : call.a[0]);
}

/// Of which kind of fault a call is.
Kind kind_of(const Call& call) {
  if (call.is(kOpens)) {
    if (std::strcmp(opened_path(call), "/dev/null") == 0) return Kind::kNone;
    return (open_flags(call) & (O_WRONLY | O_RDWR | O_CREAT)) != 0 ? Kind::kWrite : Kind::kRead;
  }
  if (call.is(kOfNames)) return Kind::kWrite;
  const bool by_name = call.is({SYS_stat, SYS_lstat, SYS_newfstatat, SYS_statx, SYS_readlink,
                                SYS_readlinkat, SYS_access, SYS_faccessat});
  if (by_name) return Kind::kRead;
  const long file = call.a[0];
  if (file == STDERR_FILENO || is_ours(file) || !is_file(file)) return Kind::kNone;
  if (call.is(kTransfersOut)) return Kind::kWrite;
  if (call.is(kTransfersIn) || call.is(kLooks)) return Kind::kRead;
  // Closing or syncing what was only read loses nothing.
  return (raw(SYS_fcntl, file, F_GETFL) & (O_WRONLY | O_RDWR)) != 0 || call.number == SYS_fsync
             ? Kind::kWrite
             : Kind::kNone;
}

bool needs_room(const Call& call) {
  if (call.is(kOpens)) return (open_flags(call) & O_CREAT) != 0;
  return call.is(kTransfersOut) ||
         call.is({SYS_mkdir, SYS_link, SYS_linkat, SYS_symlink, SYS_sendfile, SYS_copy_file_range});
}

/// The first half of a transfer; of several buffers the first.
Call halved(Call call) {
  if (call.is({SYS_readv, SYS_preadv, SYS_writev, SYS_pwritev})) {
    call.a[2] = 1;
  } else {
    call.a[2] = (call.a[2] + 1) / 2;
  }
  return call;
}

void log_text(const char* text, size_t size) { raw(SYS_write, options.log, text, size); }

/// "write FILE OFFSET BYTES\n" and the bytes, and so on, a line a call.
void log_call(const Call& call, long result, long position) {
  if (result < 0) return;
  std::array<char, 2 * 4096 + 64> line{};
  int size = 0;
  const auto* first = reinterpret_cast<const char*>(call.a[0]);
  const auto* second = reinterpret_cast<const char*>(call.a[1]);
  const auto file = [](long number) {
    return static_cast<unsigned long>(status_of(number).st_ino);
  };
  if (call.is({SYS_write, SYS_pwrite64}) && call.a[0] > STDERR_FILENO && is_file(call.a[0])) {
    const long offset = call.number == SYS_pwrite64 ? call.a[3] : position;
    size =
        snprintf(line.data(), line.size(), "write %lu %ld %ld\n", file(call.a[0]), offset, result);
    log_text(line.data(), static_cast<size_t>(size));
    return log_text(second, static_cast<size_t>(result));
  }
  if (call.is(kOpens) && (open_flags(call) & (O_CREAT | O_TRUNC)) != 0) {
    size = snprintf(line.data(), line.size(), "%s %lu %s\n",
                    (open_flags(call) & O_TRUNC) != 0 ? "empty" : "make", file(result),
                    opened_path(call));
  } else if (call.is({SYS_fsync, SYS_fdatasync})) {
    size = snprintf(line.data(), line.size(), "sync %lu\n", file(call.a[0]));
  } else if (call.number == SYS_ftruncate) {
    size = snprintf(line.data(), line.size(), "cut %lu %ld\n", file(call.a[0]), call.a[1]);
  } else if (call.number == SYS_rename) {
    size = snprintf(line.data(), line.size(), "rename %s\t%s\n", first, second);
  } else if (call.number == SYS_unlink) {
    size = snprintf(line.data(), line.size(), "remove %s\n", first);
  } else if (call.is(kOfNames) || call.is({SYS_writev, SYS_pwritev})) {
    size =
        snprintf(line.data(), line.size(), "unknown %ld\n", call.number);  // for the test to refuse
  }
  log_text(line.data(), static_cast<size_t>(size));
}

long logged(const Call& call) {
  while (log_lock.test_and_set()) {}
  const long position = call.number == SYS_write ? raw(SYS_lseek, call.a[0], 0, SEEK_CUR) : 0;
  const long result = call.make();
  log_call(call, result, position);
  log_lock.clear();
  return result;
}

long handle(const Call& call) {
  if (options.log >= 0) return logged(call);
  const Kind kind = kind_of(call);
  if (options.kind == Kind::kShort) {
    const bool many =
        (call.is(kTransfersIn) || call.is(kTransfersOut)) && kind != Kind::kNone && call.a[2] > 1;
    return many && fails(static_cast<uint32_t>(call.number), false) ? halved(call).make()
                                                                    : call.make();
  }
  if (kind != options.kind || !fails(static_cast<uint32_t>(call.number), needs_room(call)))
    return call.make();
  if (call.number == SYS_close) call.make();  // it is closed all the same
  return needs_room(call) ? -ENOSPC : -EIO;
}

void on_trap(int /*signal*/, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const Call call{info->si_syscall,
                  {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10],
                   registers[REG_R8], registers[REG_R9]}};
  registers[REG_RAX] = handle(call);
}

/// Traps the calls of `kTrapped`, unless they come from `raw_call`.
bool trap_calls() {
  struct sigaction action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  const auto from = reinterpret_cast<uint64_t>(raw_call_end);
  std::array<sock_filter, 128> program{};
  size_t size = 0;
  const auto load = [&](size_t offset) {
    program[size++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
  };
  // Jumps over one instruction, a return, when the loaded word is another one, or only then.
  const auto unless = [&](uint32_t word) {
    program[size++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 0, 1);
  };
  const auto give = [&](uint32_t what) { program[size++] = BPF_STMT(BPF_RET | BPF_K, what); };
  constexpr size_t kFrom = offsetof(seccomp_data, instruction_pointer);
  load(kFrom);
  program[size++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(from), 0, 3);
  load(kFrom + 4);
  unless(static_cast<uint32_t>(from >> 32));
  give(SECCOMP_RET_ALLOW);
  load(offsetof(seccomp_data, nr));
  for (const auto& numbers : kTrapped) {
    for (const long number : numbers) {
      unless(static_cast<uint32_t>(number));
      give(SECCOMP_RET_TRAP);
    }
  }
  give(SECCOMP_RET_ALLOW);
  const sock_fprog filter{static_cast<unsigned short>(size), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

void read_options() {
  const char* const kind = std::getenv("FAULT_KIND");
  options.kind = kind_from(kind == nullptr ? "none" : kind);
  options.at = static_cast<uint32_t>(number_from("FAULT_AT", 0));
  options.every = static_cast<uint32_t>(number_from("FAULT_EVERY", 1));
  options.stays = number_from("FAULT_STAYS", 0) != 0;
  options.asks = number_from("FAULT_ASK", 0) != 0;
  options.threaded = number_from("FAULT_THREADED", 0) != 0;
  options.socket = static_cast<int>(number_from("FAULT_SOCKET", -1));
  options.log = static_cast<int>(number_from("FAULT_LOG", -1));
  // A program that this one starts is none of ours.
  unsetenv("LD_PRELOAD");
}

int (*real_main)(int, char**, char**) = nullptr;

int main_with_faults(int count, char** words, char** environment) {
  read_options();
  const bool traps = options.log >= 0 || options.kind == Kind::kWrite ||
                     options.kind == Kind::kRead || options.kind == Kind::kShort;
  constexpr int kNoFilter = 77;
  if (traps && !trap_calls()) _exit(kNoFilter);
  armed = true;
  return real_main(count, words, environment);
}

__attribute__((destructor)) void tell_count() {
  options.kind = Kind::kNone;
  if (options.socket >= 0 && !is_child) tell({calls, 0, 0, 1});
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int __libc_start_main(int (*main)(int, char**, char**), int count, char** words,
                                 void (*init)(), void (*fini)(), void (*linker_fini)(),
                                 void* stack_end) {
  real_main = main;
  using Start =
      int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(main_with_faults, count, words, init, fini, linker_fini,
                                          stack_end);
}

extern "C" void* malloc(size_t bytes) { return memory_fails() ? nullptr : __libc_malloc(bytes); }
extern "C" void* calloc(size_t count, size_t bytes) {
  return memory_fails() ? nullptr : __libc_calloc(count, bytes);
}
extern "C" void* realloc(void* at, size_t bytes) {
  return memory_fails() ? nullptr : __libc_realloc(at, bytes);
}
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) {
  return memory_fails() ? nullptr : __libc_memalign(alignment, bytes);
}
extern "C" void* memalign(size_t alignment, size_t bytes) {
  return memory_fails() ? nullptr : __libc_memalign(alignment, bytes);
}
extern "C" int posix_memalign(void** at, size_t alignment, size_t bytes) {
  if (memory_fails()) return ENOMEM;
  *at = __libc_memalign(alignment, bytes);
  return *at == nullptr ? ENOMEM : 0;
}

/// A child has its parent's locks as long as the parent lives, for nobody else is there.
extern "C" int fcntl64(int file, int command, ...) {
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  const bool looks = command == F_GETLK || command == F_OFD_GETLK;
  if (is_child && looks) static_cast<struct flock*>(argument)->l_type = F_UNLCK;
  if (is_child && (looks || command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK))
    return 0;
  const long result = raw(SYS_fcntl, file, command, argument);
  if (result < 0) errno = static_cast<int>(-result);
  return static_cast<int>(result < 0 ? -1 : result);
}
extern "C" int fcntl(int file, int command, ...) __attribute__((alias("fcntl64")));

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*work)(void*), void* argument) {
  static const auto real =
      next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  if (options.kind == Kind::kThread && armed && fails(0, true)) return EAGAIN;
  ++other_threads;
  const int error = real(thread, attributes, work, argument);
  if (error != 0) --other_threads;
  return error;
}

extern "C" int pthread_join(pthread_t thread, void** result) {
  static const auto real = next<int (*)(pthread_t, void**)>("pthread_join");
  const int error = real(thread, result);
  if (error == 0) --other_threads;
  return error;
}
