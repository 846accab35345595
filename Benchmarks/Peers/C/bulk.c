// Plain libcurl, the multi interface driven by curl_multi_socket_action over epoll: CONNECTIONS easy handles, each
// reused for one request after another. Prints one JSON line about N requests made after the warm-up.
//
// cc -O2 -o bulk bulk.c -lcurl
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 2000, MAX_EVENTS = 64, MAX_SOCKETS = 4096 };

typedef struct {
  CURL *easy;
  char *body;
  size_t size;
} transfer;

static CURLM *multi;
static int poller;
static long long timer_at = -1;                // when curl wants to be called, in milliseconds; -1: never
static unsigned char registered[MAX_SOCKETS];  // the events that epoll watches for on each socket, 0: none
static unsigned char wanted[MAX_SOCKETS];      // the events that curl wants for each socket

static long long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static double wall_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static double cpu_seconds(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void fail(const char *what) {
  fprintf(stderr, "bulk: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void watch(curl_socket_t s, unsigned char events) {
  struct epoll_event event = {.events = events, .data.fd = s};
  int call = !events ? EPOLL_CTL_DEL : registered[s] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(poller, call, s, &event)) fail("epoll_ctl");
  registered[s] = events;
}

// curl stops watching a kept-alive socket and watches it again for the next request. It stays in epoll meanwhile, which
// saves two system calls per request; a socket with an event that curl does not want is removed in the loop.
static int on_socket(CURL *easy, curl_socket_t s, int what, void *context, void *assigned) {
  (void)easy, (void)context, (void)assigned;
  if (s >= MAX_SOCKETS) {
    errno = EMFILE;
    fail("socket");
  }
  wanted[s] = 0;
  if (what != CURL_POLL_REMOVE) wanted[s] = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
  if (wanted[s] && wanted[s] != registered[s]) watch(s, wanted[s]);
  return 0;
}

static int on_close(void *context, curl_socket_t s) {
  (void)context;
  registered[s] = wanted[s] = 0;  // closing takes it out of epoll
  return close(s);
}

static int milliseconds_left(void) {
  if (timer_at <= 0) return (int)timer_at;
  long long left = timer_at - now_ms();
  return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static int on_timer(CURLM *m, long ms, void *context) {
  (void)m, (void)context;
  timer_at = ms < 0 ? -1 : ms == 0 ? 0 : now_ms() + ms;
  return 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *context) {
  (void)one;
  transfer *t = context;
  char *body = realloc(t->body, t->size + size);
  if (!body) return 0;
  memcpy(body + t->size, data, size);
  t->body = body;
  t->size += size;
  return size;
}

static void start(transfer *t, const char *url) {
  t->body = NULL;
  t->size = 0;
  curl_easy_setopt(t->easy, CURLOPT_URL, url);
  curl_multi_add_handle(multi, t->easy);
}

// Counts the transfers that have ended and starts the next request of each.
static void collect(const char *url, long requests, long *started, long *ended, long *errors) {
  CURLMsg *message;
  int left;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    CURLcode result = message->data.result;
    transfer *t;
    long status = 0;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (result != CURLE_OK || status != 200 || t->size == 0) ++*errors;
    free(t->body);
    ++*ended;
    curl_multi_remove_handle(multi, t->easy);
    if (*started < requests) {
      ++*started;
      start(t, url);
    }
  }
}

// Makes `requests` requests with all transfers and returns the number of failures. Each iteration serves every socket
// that is ready, then sends all following requests, so that no connection waits for another.
static long run(transfer *transfers, int count, const char *url, long requests) {
  long started = 0, ended = 0, errors = 0;
  int running;
  while (started < count && started < requests) start(&transfers[started++], url);
  while (ended < requests) {
    struct epoll_event events[MAX_EVENTS];
    int n = epoll_wait(poller, events, MAX_EVENTS, milliseconds_left());
    if (n < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < n; i++) {
      int s = events[i].data.fd;
      unsigned e = events[i].events;
      int mask = (e & EPOLLIN ? CURL_CSELECT_IN : 0) | (e & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                 (e & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
      if (wanted[s]) curl_multi_socket_action(multi, s, mask, &running);
      else if (registered[s]) watch(s, 0);
    }
    if (n > 0) collect(url, requests, &started, &ended, &errors);
    if (milliseconds_left() == 0) {
      timer_at = -1;
      curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
      collect(url, requests, &started, &ended, &errors);
    }
  }
  return errors;
}

int main(int argc, char **argv) {
  long requests = argc == 4 ? atol(argv[2]) : 0;
  int connections = argc == 4 ? atoi(argv[3]) : 0;
  if (requests < 1 || connections < 1) {
    fprintf(stderr, "usage: %s URL N CONNECTIONS\n", argv[0]);
    return 2;
  }
  poller = epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) fail("epoll_create1");
  curl_global_init(CURL_GLOBAL_ALL);
  multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)connections);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)connections);
  transfer *transfers = calloc(connections, sizeof *transfers);
  for (int i = 0; i < connections; i++) {
    CURL *easy = transfers[i].easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfers[i]);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfers[i]);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");  // otherwise it reads the environment for each request
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  }

  run(transfers, connections, argv[1], WARM_UP);
  double wall = wall_seconds(), cpu = cpu_seconds();
  long errors = run(transfers, connections, argv[1], requests);
  wall = wall_seconds() - wall;
  cpu = cpu_seconds() - cpu;
  printf("{\"client\":\"c\",\"requests\":%ld,\"seconds\":%.6f,\"cpu\":%.6f,\"errors\":%ld}\n", requests, wall, cpu,
         errors);

  for (int i = 0; i < connections; i++) curl_easy_cleanup(transfers[i].easy);
  curl_multi_cleanup(multi);
  curl_global_cleanup();
  free(transfers);
  close(poller);
  return 0;
}
