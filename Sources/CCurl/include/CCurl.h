// Typed wrappers for libcurl's variadic functions and zlib's macro, which Swift can't import.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <zlib.h>

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_url(CURL *easy, CURLU *value) { return curl_easy_setopt(easy, CURLOPT_CURLU, value); }

typedef size_t (*ccurl_data_function)(char *, size_t, size_t, void *);
static inline CURLcode ccurl_set_data_function(CURL *easy, CURLoption option, ccurl_data_function value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_seek_function(CURL *easy, curl_seek_callback value) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}
static inline CURLcode ccurl_set_open_function(CURL *easy, curl_opensocket_callback value) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}
static inline CURLcode ccurl_set_close_function(CURL *easy, curl_closesocket_callback value) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, value);
}
static inline CURLcode ccurl_set_prerequest_function(CURL *easy, curl_prereq_callback value) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}
static inline CURLcode ccurl_set_tls_function(CURL *easy, curl_ssl_ctx_callback value) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, value);
}

static inline CURLcode ccurl_set_resolver_function(CURL *easy, curl_resolver_start_callback value) {
  return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, value);
}

static inline CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode ccurl_get_string(CURL *easy, CURLINFO info, const char **value) {
  return curl_easy_getinfo(easy, info, value);
}
// The caller frees the list.
static inline struct curl_slist *ccurl_get_cookies(CURL *easy) {
  struct curl_slist *list = NULL;
  return curl_easy_getinfo(easy, CURLINFO_COOKIELIST, &list) == CURLE_OK ? list : NULL;
}
static inline CURLcode ccurl_get_private(CURL *easy, void **value) {
  return curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)value);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode ccurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode ccurl_multi_set_socket_function(CURLM *multi, curl_socket_callback value) {
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
}
static inline CURLMcode ccurl_multi_set_timer_function(CURLM *multi, curl_multi_timer_callback value) {
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
}

static inline CURLcode ccurl_set_share(CURL *easy, CURLSH *share) {
  return curl_easy_setopt(easy, CURLOPT_SHARE, share);
}
static inline CURLSHcode ccurl_share_set_locks(
    CURLSH *share, curl_lock_function lock, curl_unlock_function unlock, void *pointer) {
  CURLSHcode result = curl_share_setopt(share, CURLSHOPT_LOCKFUNC, lock);
  if (result == CURLSHE_OK) result = curl_share_setopt(share, CURLSHOPT_UNLOCKFUNC, unlock);
  if (result == CURLSHE_OK) result = curl_share_setopt(share, CURLSHOPT_USERDATA, pointer);
  return result;
}
static inline CURLSHcode ccurl_share_cookies(CURLSH *share) {
  return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
}

// The result in a message about a finished transfer.
static inline CURLcode ccurl_result(const CURLMsg *message) { return message->data.result; }

// Values that are macros in C, which Swift can't import. The version is that of the loaded library, which may differ
// from these headers.
static inline const curl_version_info_data *ccurl_version_info(void) { return curl_version_info(CURLVERSION_NOW); }
static const long CCURL_HTTP_VERSION_1_1 = CURL_HTTP_VERSION_1_1;
static const long CCURL_HTTP_VERSION_2TLS = CURL_HTTP_VERSION_2TLS;
static const long CCURL_HEADER_SEPARATE = CURLHEADER_SEPARATE;
// CURLOPT_QUICK_EXIT requires 7.87. Without it a cancelled transfer blocks the loop until its name look-up ends.
static inline CURLcode ccurl_set_quick_exit(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
  return curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
  (void)easy;
  return CURLE_UNKNOWN_OPTION;
#endif
}

// Only http and https, also for redirects (which the dispatcher follows itself).
static inline CURLcode ccurl_set_protocols(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
  return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  return curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// A macro in zlib, which passes the version of the header.
static inline int ccurl_inflate_init(z_stream *stream, int windowBits) { return inflateInit2(stream, windowBits); }

#endif
