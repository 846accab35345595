// SHA-256 (FIPS 180-4) of bytes that arrive in pieces, with the processor's instructions where it has them.
#ifndef HEADGATE_SHA256_H
#define HEADGATE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct headgate_sha256 {
  uint32_t state[8];
  // The bytes added so far; those beyond the last whole block are in `partial`.
  uint64_t count;
  uint8_t partial[64];
};

struct headgate_sha256 headgate_sha256_begin(void);

void headgate_sha256_add(struct headgate_sha256 *hash, const void *bytes, size_t count);

// Writes the 32 bytes of the digest. Nothing may be added afterwards.
void headgate_sha256_finish(struct headgate_sha256 *hash, uint8_t digest[32]);

// As `add`, without the processor's instructions, so that tests can compare the two.
void headgate_sha256_add_portably(struct headgate_sha256 *hash, const void *bytes, size_t count);

#endif
