#pragma once

/// ERGOMETER_WIDTHS before a function whose loops are worth the widest vectors that the machine at
/// hand has; ERGOMETER_INLINE before what they call. Vectors keep the order of operations, so that
/// the bits are the same at every width. clang leaves what the clones inline undefined: the program
/// would not link.
#if defined(__x86_64__) && !defined(ERGOMETER_SANITIZED) && !defined(__clang__)
#define ERGOMETER_WIDTHS __attribute__((target_clones("avx512f", "avx2", "default")))
#define ERGOMETER_INLINE inline __attribute__((always_inline))
#else
#define ERGOMETER_WIDTHS
#define ERGOMETER_INLINE inline
#endif
