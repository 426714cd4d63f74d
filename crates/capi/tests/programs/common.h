/* What all test programs need: checks, and sockets over the loopback interface. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Prints the line that fails, and ends the program. */
#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      printf("line %d: %s (errno %d: %s)\n", __LINE__, #condition, errno, strerror(errno)); \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

/* As CHECK, for calls that have to fail with this error. */
#define FAILS(call, number) CHECK((call) == -1 && errno == (number))

#define SET(fd, name, value) setsockopt(fd, IPPROTO_SCTP, name, &(value), sizeof(value))
#define GET(fd, name, value) getsockopt(fd, IPPROTO_SCTP, name, &(value), &(socklen_t){sizeof(value)})

static __attribute__((unused)) struct sockaddr_in loopback(const char *ip, int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, ip, &at.sin_addr);
  return at;
}

/* A socket that is bound to a free port of 127.0.0.1; the address is in *at. */
static __attribute__((unused)) int bound(int type, struct sockaddr_in *at) {
  int fd = socket(AF_INET, type, IPPROTO_SCTP);
  CHECK(fd >= 0);
  *at = loopback("127.0.0.1", 0);
  CHECK(bind(fd, (struct sockaddr *)at, sizeof *at) == 0);
  socklen_t length = sizeof *at;
  CHECK(getsockname(fd, (struct sockaddr *)at, &length) == 0 && at->sin_port != 0);
  return fd;
}

/* The address of the last server of listener() or pair(). */
static __attribute__((unused)) struct sockaddr_in at;

static __attribute__((unused)) int listener(void) {
  int fd = bound(SOCK_STREAM, &at);
  CHECK(listen(fd, 5) == 0);
  return fd;
}

/* Two connected sockets of the one-to-one style; option sets options of both ends before the handshake. */
static __attribute__((unused)) void pair_with(int *client, int *server, void (*option)(int)) {
  int listening = bound(SOCK_STREAM, &at);
  *client = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  if (option) option(listening), option(*client);
  CHECK(listen(listening, 5) == 0 && connect(*client, (struct sockaddr *)&at, sizeof at) == 0);
  struct sockaddr_in peer;
  socklen_t length = sizeof peer;
  *server = accept(listening, (struct sockaddr *)&peer, &length);
  CHECK(*server >= 0 && peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
  CHECK(close(listening) == 0);
}

static __attribute__((unused)) void pair(int *client, int *server) { pair_with(client, server, NULL); }

/* Passing a socket of ours to another process fails clearly; passing another descriptor works. */
static __attribute__((unused)) void cannot_be_passed(int fd) {
  int local[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, local) == 0);
  union { struct cmsghdr head; char bytes[CMSG_SPACE(sizeof(int))]; } control = {{0}};
  control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
  struct iovec one = {"x", 1};
  struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct mmsghdr two[2] = {{.msg_hdr = {.msg_iov = &one, .msg_iovlen = 1}}, {.msg_hdr = message}};
  FAILS(sendmsg(local[0], &message, 0), ENOTSUP);
  FAILS(sendmmsg(local[0], two, 2, 0), ENOTSUP);
  memcpy(CMSG_DATA(&control.head), &local[1], sizeof fd);
  CHECK(sendmsg(local[0], &message, 0) == 1 && sendmmsg(local[0], two, 2, 0) == 2);
}

static __attribute__((unused)) int events(int fd, int wanted, int wait) {
  struct pollfd one = {.fd = fd, .events = wanted};
  poll(&one, 1, wait);
  return one.revents;
}

/* Subscribes to one type of notifications, of all associations. */
static __attribute__((unused)) void subscribe(int fd, int type) {
  struct sctp_event event = {.se_assoc_id = SCTP_ALL_ASSOC, .se_type = type, .se_on = 1};
  CHECK(SET(fd, SCTP_EVENT, event) == 0);
}

/* Receives with flags; sets *info as SCTP_RCVINFO says. */
static __attribute__((unused)) ssize_t receive(int fd, void *to, size_t room, struct sctp_rcvinfo *info, int *flags) {
  char control[400];
  struct iovec part = {to, room};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t count = recvmsg(fd, &message, 0);
  *flags = message.msg_flags;
  for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); count >= 0 && at; at = CMSG_NXTHDR(&message, at))
    if (at->cmsg_level == IPPROTO_SCTP && at->cmsg_type == SCTP_RCVINFO) memcpy(info, CMSG_DATA(at), sizeof *info);
  return count;
}

/* Receives a notification of this type; others, and messages, are skipped. */
static __attribute__((unused)) void await(int fd, int type, union sctp_notification *notice) {
  char buffer[4096];
  for (;;) {
    int flags = 0;
    struct sctp_rcvinfo info;
    ssize_t count = receive(fd, buffer, sizeof buffer, &info, &flags);
    CHECK(count > 0);
    memcpy(notice, buffer, count < (ssize_t)sizeof *notice ? (size_t)count : sizeof *notice);
    if ((flags & MSG_NOTIFICATION) && notice->sn_header.sn_type == type) return;
  }
}

/* Receives a message; notifications are skipped. */
static __attribute__((unused)) ssize_t data(int fd, void *to, size_t room, struct sctp_rcvinfo *info) {
  for (;;) {
    int flags = 0;
    ssize_t count = receive(fd, to, room, info, &flags);
    if (count < 0 || !(flags & MSG_NOTIFICATION)) return count;
  }
}

static __attribute__((unused)) volatile pid_t interrupted;
static __attribute__((unused)) void tell_interrupted(int number) { (void)number, interrupted = gettid(); }

/* A signal interrupts the call of a thread, and the kernel repeats it. Returns when the thread waits in that call. */
static __attribute__((unused)) void interrupt(pthread_t thread) {
  struct sigaction action = {.sa_handler = tell_interrupted, .sa_flags = SA_RESTART};
  char path[50], state;
  interrupted = 0;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && pthread_kill(thread, SIGUSR1) == 0);
  while (interrupted == 0) continue;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)interrupted);
  do {
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fscanf(file, "%*d %*s %c", &state) == 1 && fclose(file) == 0);
  } while (state != 'S');
}

struct test_case {
  const char *name;
  void (*run)(void);
};

static __attribute__((unused)) int run_case(int count, char **arguments, const struct test_case *cases) {
  for (; count == 2 && cases->name; cases++) {
    if (strcmp(arguments[1], cases->name) == 0) {
      cases->run();
      return 0;
    }
  }
  return 2;
}
