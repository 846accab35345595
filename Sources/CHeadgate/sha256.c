// SHA-256: NIST, FIPS 180-4 (2015), section 6.2. With Intel's SHA extensions ("Intel SHA Extensions", 2013) or those of
// ARMv8 the processor performs two or four of the 64 rounds at once.

#include "headgate_sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

typedef void (*add_blocks)(uint32_t state[8], const uint8_t *bytes, size_t blocks);

static uint32_t rotated(uint32_t word, int count) { return word >> count | word << (32 - count); }

static void add_portably(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
  for (; blocks > 0; blocks--, bytes += 64) {
    uint32_t words[64];
    for (int i = 0; i < 16; i++) {
      const uint8_t *word = bytes + 4 * i;
      words[i] = (uint32_t)word[0] << 24 | (uint32_t)word[1] << 16 | (uint32_t)word[2] << 8 | word[3];
    }
    for (int i = 16; i < 64; i++) {
      uint32_t early = words[i - 15], late = words[i - 2];
      words[i] = words[i - 16] + (rotated(early, 7) ^ rotated(early, 18) ^ early >> 3) + words[i - 7] +
                 (rotated(late, 17) ^ rotated(late, 19) ^ late >> 10);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
      uint32_t first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] +
                       words[i];
      uint32_t second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }
}

#if defined(__x86_64__)

__attribute__((target("sha,sse4.1"))) static void add_with_instructions(
    uint32_t state[8], const uint8_t *bytes, size_t blocks) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions take the words as a, b, e, f and c, d, g, h. Names have them from the highest to the lowest.
  __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
  __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; blocks > 0; blocks--, bytes += 64) {
    __m128i abef_before = abef, cdgh_before = cdgh, words[4];
    // Unrolled, so that the words stay in registers: a sixth faster.
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++) {
      // The four words of this step, and those of the three steps before it.
      __m128i *now = &words[i & 3];
      if (i < 4) {
        *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)bytes + i), big_endian);
      } else {
        __m128i third = words[(i + 1) & 3], second = words[(i + 2) & 3], last = words[(i + 3) & 3];
        __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(*now, third), _mm_alignr_epi8(last, second, 4));
        *now = _mm_sha256msg2_epu32(sum, last);
      }
      __m128i keyed = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)constants + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, keyed);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(keyed, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128((__m128i *)state + 1, _mm_alignr_epi8(dchg, feba, 8));
}

static int has_instructions(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3)) return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29)) != 0;
}

#elif defined(__aarch64__)

__attribute__((target("+sha2"))) static void add_with_instructions(
    uint32_t state[8], const uint8_t *bytes, size_t blocks) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; blocks > 0; blocks--, bytes += 64) {
    uint32x4_t abcd_before = abcd, efgh_before = efgh, words[4];
    for (int i = 0; i < 4; i++) words[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++) {
      uint32x4_t *now = &words[i & 3];
      uint32x4_t keyed = vaddq_u32(*now, vld1q_u32(constants + 4 * i));
      // The four words of the fourth step after this one.
      *now = vsha256su1q_u32(vsha256su0q_u32(*now, words[(i + 1) & 3]), words[(i + 2) & 3], words[(i + 3) & 3]);
      uint32x4_t before = abcd;
      abcd = vsha256hq_u32(abcd, efgh, keyed);
      efgh = vsha256h2q_u32(efgh, before, keyed);
    }
    abcd = vaddq_u32(abcd, abcd_before);
    efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}

static int has_instructions(void) {
#if defined(__APPLE__)
  return 1;
#elif defined(__linux__)
  return (getauxval(AT_HWCAP) & (1 << 6)) != 0;
#else
  return 0;
#endif
}

#else

static void add_with_instructions(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
  add_portably(state, bytes, blocks);
}
static int has_instructions(void) { return 0; }

#endif

struct headgate_sha256 headgate_sha256_begin(void) {
  return (struct headgate_sha256){
      .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static void add(struct headgate_sha256 *hash, const uint8_t *bytes, size_t count, add_blocks blocks) {
  size_t held = hash->count % 64;
  hash->count += count;
  if (held > 0) {
    size_t part = count < 64 - held ? count : 64 - held;
    memcpy(hash->partial + held, bytes, part);
    if (held + part < 64) return;
    blocks(hash->state, hash->partial, 1);
    bytes += part;
    count -= part;
  }
  blocks(hash->state, bytes, count / 64);
  if (count % 64 > 0) memcpy(hash->partial, bytes + count / 64 * 64, count % 64);
}

void headgate_sha256_add(struct headgate_sha256 *hash, const void *bytes, size_t count) {
  // All threads find the same, so none needs a lock. The question itself takes a hundred times as long as a block.
  static int known = -1;
  int has = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (has < 0) {
    has = has_instructions();
    __atomic_store_n(&known, has, __ATOMIC_RELAXED);
  }
  if (count > 0) add(hash, bytes, count, has ? add_with_instructions : add_portably);
}

void headgate_sha256_add_portably(struct headgate_sha256 *hash, const void *bytes, size_t count) {
  if (count > 0) add(hash, bytes, count, add_portably);
}

void headgate_sha256_finish(struct headgate_sha256 *hash, uint8_t digest[32]) {
  uint64_t bits = hash->count * 8;
  uint8_t end[72] = {0x80};
  // One to 64 bytes up to the last eight of a block, which hold the length.
  size_t padding = (119 - hash->count % 64) % 64 + 1;
  for (int i = 0; i < 8; i++) end[padding + i] = (uint8_t)(bits >> (56 - 8 * i));
  headgate_sha256_add(hash, end, padding + 8);
  for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
