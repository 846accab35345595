// MD5 (RFC 1321) of bytes in memory, only for Digest authentication (RFC 7616): MD5 protects nothing else any more.
#ifndef HEADGATE_MD5_H
#define HEADGATE_MD5_H

#include <stddef.h>
#include <stdint.h>

// Writes the 16 bytes of the digest. `bytes` may be NULL if `count` is 0.
void headgate_md5(const void *bytes, size_t count, uint8_t digest[16]);

#endif
