/* How associations end, and what a program learns of it. Usage: ends CASE. */
#include "common.h"
#include <time.h>

/* Aborts the association of fd, and waits until the peer knows. */
static void abort_by(int fd, int peer) {
  struct sctp_sndinfo kill = {.snd_flags = SCTP_ABORT};
  CHECK(sctp_sendv(fd, &(struct iovec){"bye", 3}, 1, NULL, 0, &kill, sizeof kill, SCTP_SENDV_SNDINFO, 0) == 3);
  struct sctp_status status;
  while (GET(peer, SCTP_STATUS, status) == 0 && status.sstat_state == SCTP_ESTABLISHED) usleep(1000);
}

/* The last message before an ABORT is received with SCTP_RECVNXTINFO too, and the error after it. */
static void aborted(void) {
  for (int on = 0; on < 2; on++) {
    int client, server;
    char buffer[100];
    pair(&client, &server);
    CHECK(SET(server, SCTP_RECVNXTINFO, on) == 0);
    CHECK(send(client, "last", 4, 0) == 4 && events(server, POLLIN, -1) == POLLIN);
    abort_by(client, server);
    CHECK(recv(server, buffer, 100, 0) == 4);
    FAILS(recv(server, buffer, 100, 0), ECONNRESET);
    CHECK(recv(server, buffer, 100, 0) == 0);
  }
}

/* Looking takes nothing, the error included. */
static void peeked(void) {
  int client, server, number = -1;
  char buffer[100];
  pair(&client, &server);
  abort_by(client, server);
  CHECK(ioctl(server, FIONREAD, &number) == 0 && number == 0);
  FAILS(recv(server, buffer, 100, MSG_PEEK), ECONNRESET);
  FAILS(recv(server, buffer, 100, 0), ECONNRESET);
  CHECK(recv(server, buffer, 100, 0) == 0);
}

/* A bound socket keeps its port when a handshake fails. */
static void refused(void) {
  int fd = bound(SOCK_STREAM, &at), free = socket(AF_INET, SOCK_DGRAM, 0), listening;
  struct sockaddr_in nobody = loopback("127.0.0.1", 0), name, server;
  socklen_t length = sizeof nobody;
  CHECK(bind(free, (struct sockaddr *)&nobody, length) == 0);
  CHECK(getsockname(free, (struct sockaddr *)&nobody, &length) == 0 && close(free) == 0);
  for (int i = 0; i < 2; i++) {
    FAILS(connect(fd, (struct sockaddr *)&nobody, sizeof nobody), ECONNREFUSED);
    CHECK(getsockname(fd, (struct sockaddr *)&name, &length) == 0 && name.sin_port == at.sin_port);
    /* So does one that cannot even begin. */
    name = loopback("255.255.255.255", 7);
    FAILS(connect(fd, (struct sockaddr *)&name, sizeof name), EINVAL);
    CHECK(getsockname(fd, (struct sockaddr *)&name, &length) == 0 && name.sin_port == at.sin_port);
  }
  struct sockaddr_in second = loopback("127.0.0.2", 0);
  CHECK(sctp_bindx(fd, (struct sockaddr *)&second, 1, SCTP_BINDX_ADD_ADDR) == 0);
  listening = bound(SOCK_STREAM, &server);
  CHECK(listen(listening, 5) == 0 && connect(fd, (struct sockaddr *)&server, sizeof server) == 0);
  CHECK(accept(listening, (struct sockaddr *)&name, &length) >= 0 && name.sin_port == at.sin_port);
}

static double seconds(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return now.tv_sec + now.tv_nsec / 1e9;
}

/* SCTP_AUTOCLOSE does not close an association that only receives, but an idle one. */
static void receiving(void) {
  int fd = bound(SOCK_SEQPACKET, &at), client = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), limit = 1;
  char buffer[100];
  CHECK(SET(fd, SCTP_AUTOCLOSE, limit) == 0 && listen(fd, 5) == 0);
  CHECK(connect(client, (struct sockaddr *)&at, sizeof at) == 0);
  for (double begin = seconds(); seconds() < begin + 2.5 * limit;) {
    CHECK(send(client, "alive", 5, MSG_NOSIGNAL) == 5 && recv(fd, buffer, 100, 0) == 5);
    CHECK(events(client, POLLIN, 10) == 0);
  }
  CHECK(recv(client, buffer, 100, 0) == 0);
}

static int shared;

static void *wait_for_data(void *unused) {
  char buffer[100];
  (void)unused;
  FAILS(recv(shared, buffer, 100, 0), EBADF);
  return NULL;
}

/* A thread that waits for data learns that another one closes the socket. */
static void closed(void) {
  const int styles[] = {SOCK_STREAM, SOCK_SEQPACKET};
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    int client, server;
    pair(&client, &server);
    shared = styles[i] == SOCK_STREAM ? client : bound(SOCK_SEQPACKET, &at);
    CHECK(styles[i] == SOCK_STREAM || listen(shared, 5) == 0);
    CHECK(pthread_create(&thread, NULL, wait_for_data, NULL) == 0);
    /* It waits, or will in a moment; then it gets the same error from the system. */
    usleep(50000);
    CHECK(close(shared) == 0 && pthread_join(thread, NULL) == 0);
  }
}

static void *connect_to(void *to) {
  FAILS(connect(shared, to, sizeof(struct sockaddr_in)), EBADF);
  return NULL;
}

/* So does one that waits for a peer that does not answer, also if a signal interrupts it. */
static void connecting(void) {
  struct sockaddr_in silent = loopback("127.0.0.1", 0);
  socklen_t length = sizeof silent;
  struct linger off = {.l_onoff = 1};
  char init[2000];
  pthread_t thread;
  int udp = socket(AF_INET, SOCK_DGRAM, 0);
  CHECK(bind(udp, (struct sockaddr *)&silent, length) == 0);
  CHECK(getsockname(udp, (struct sockaddr *)&silent, &length) == 0);
  shared = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  CHECK(setsockopt(shared, SOL_SOCKET, SO_LINGER, &off, sizeof off) == 0);
  CHECK(pthread_create(&thread, NULL, connect_to, &silent) == 0 && recv(udp, init, sizeof init, 0) > 0);
  interrupt(thread);
  CHECK(close(shared) == 0 && pthread_join(thread, NULL) == 0);
}

/* A program that does not read gets as many notifications as its receive buffer holds. */
static void unread(void) {
  int client, server, size = 4096, unsent, notices = 0;
  char buffer[100];
  socklen_t length = sizeof size;
  pair(&client, &server);
  CHECK(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0);
  CHECK(getsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0);
  subscribe(client, SCTP_SENDER_DRY_EVENT);
  int count = size / 20;
  for (int i = 0; i < count; i++) {
    CHECK(sctp_sendmsg(client, "x", 1, NULL, 0, 0, SCTP_SACK_IMMEDIATELY, 0, 0, 0) == 1 && recv(server, buffer, 100, 0) == 1);
    do CHECK(ioctl(client, TIOCOUTQ, &unsent) == 0);
    while (unsent > 0 && usleep(100) == 0);
  }
  while (recv(client, buffer, 100, MSG_DONTWAIT) == sizeof(struct sctp_sender_dry_event)) notices++;
  printf("%d of %d notifications\n", notices, count);
  CHECK(errno == EAGAIN && notices > 0 && notices < size / 50);
  /* There is room for more again. */
  CHECK(send(client, "x", 1, 0) == 1 && recv(client, buffer, 100, 0) == sizeof(struct sctp_sender_dry_event));
}

int main(int count, char **arguments) {
  const struct test_case cases[] = {{"aborted", aborted}, {"peeked", peeked}, {"refused", refused}, {"receiving", receiving}, {"closed", closed}, {"connecting", connecting}, {"unread", unread}, {0}};
  return run_case(count, arguments, cases);
}
