/* One-to-one style sockets of SCTP: blocking, poll, epoll, options, ancillary data and notifications.
 * Usage: echo CASE. Exit status 0 if everything is as RFC 6458 says; else the failed line is printed. */
#include "common.h"
#include <signal.h>

_Static_assert(sizeof(struct sctp_sndrcvinfo) == 32, "sctp_sndrcvinfo");
_Static_assert(sizeof(struct sctp_rcvinfo) == 28, "sctp_rcvinfo");
_Static_assert(sizeof(struct sctp_sndinfo) == 16, "sctp_sndinfo");
_Static_assert(sizeof(struct sctp_initmsg) == 8, "sctp_initmsg");
_Static_assert(sizeof(struct sctp_rtoinfo) == 16, "sctp_rtoinfo");
_Static_assert(sizeof(struct sctp_status) == 176, "sctp_status");
_Static_assert(sizeof(struct sctp_assoc_change) == 20, "sctp_assoc_change");
_Static_assert(sizeof(struct sctp_shutdown_event) == 12, "sctp_shutdown_event");
_Static_assert(sizeof(struct sctp_event_subscribe) == 14, "sctp_event_subscribe");

static void blocking(void) {
  int client, server;
  char buffer[100];
  pair(&client, &server);
  CHECK(send(client, "hello", 5, 0) == 5);
  CHECK(recv(server, buffer, 3, 0) == 3 && memcmp(buffer, "hel", 3) == 0);
  CHECK(read(server, buffer, 100) == 2 && memcmp(buffer, "lo", 2) == 0);
  CHECK(write(server, "echo", 4) == 4);
  CHECK(recv(client, buffer, 100, MSG_PEEK) == 4);
  int waiting = 0;
  CHECK(ioctl(client, FIONREAD, &waiting) == 0 && waiting == 4);
  CHECK(recv(client, buffer, 100, 0) == 4 && memcmp(buffer, "echo", 4) == 0);
  int copy = dup(client);
  CHECK(close(client) == 0 && write(copy, "dup", 3) == 3 && read(server, buffer, 100) == 3);
  CHECK(shutdown(copy, SHUT_WR) == 0);
  CHECK(read(server, buffer, 100) == 0);
  CHECK(read(copy, buffer, 100) == 0);
  CHECK(send(copy, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
}

static void readiness(void) {
  int listening = listener();
  CHECK(fcntl(listening, F_SETFL, O_NONBLOCK) == 0);
  CHECK(accept(listening, NULL, NULL) == -1 && errno == EAGAIN);
  CHECK(events(listening, POLLIN | POLLOUT, 0) == 0);
  int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_SCTP);
  CHECK(connect(client, (struct sockaddr *)&at, sizeof at) == -1 && errno == EINPROGRESS);
  CHECK(events(client, POLLOUT, -1) == POLLOUT);
  int error = -1;
  socklen_t length = sizeof error;
  CHECK(getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0);
  CHECK(events(listening, POLLIN, -1) == POLLIN);
  int server = accept4(listening, NULL, NULL, SOCK_NONBLOCK);
  CHECK(server >= 0 && events(listening, POLLIN, 0) == 0);
  char buffer[1000] = "";
  CHECK(read(server, buffer, 10) == -1 && errno == EAGAIN);
  /* Until the buffer is full: then not writable, and writable again when the peer has received. */
  size_t sent = 0, received = 0;
  while (send(client, buffer, 1000, 0) == 1000) sent += 1000;
  CHECK(errno == EAGAIN && sent > 0);
  CHECK(events(server, POLLIN, -1) == POLLIN);
  int set = epoll_create1(0);
  struct epoll_event wanted = {.events = EPOLLIN | EPOLLET};
  CHECK(epoll_ctl(set, EPOLL_CTL_ADD, server, &wanted) == 0);
  while (received < sent) {
    ssize_t count;
    CHECK(epoll_wait(set, &wanted, 1, -1) == 1);
    while ((count = read(server, buffer, 1000)) > 0) received += count;
    CHECK(count == -1 && errno == EAGAIN);
  }
  CHECK(events(server, POLLIN, 0) == 0);
  CHECK(events(client, POLLOUT, -1) == POLLOUT);
  close(client);
  CHECK(events(server, POLLIN, -1) & POLLIN);
  CHECK(read(server, buffer, 10) == 0);
}

static void refused(void) {
  int listening = listener();
  close(listening);
  int client = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  CHECK(connect(client, (struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(1),
    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, sizeof at) == -1 && errno == ECONNREFUSED);
  CHECK(setsockopt(client, IPPROTO_SCTP, 999, &at, 4) == -1 && errno == ENOPROTOOPT);
  CHECK(recv(client, &at, 4, 0) == -1 && errno == ENOTCONN);
  CHECK(connect(client, NULL, 16) == -1 && errno == EFAULT);
}

static void ancillary(void) {
  int listening = listener(), one = 1, flags = 0;
  struct sctp_event_subscribe wanted = {.sctp_data_io_event = 1, .sctp_association_event = 1, .sctp_shutdown_event = 1};
  CHECK(setsockopt(listening, IPPROTO_SCTP, SCTP_EVENTS, &wanted, sizeof wanted) == 0);
  CHECK(setsockopt(listening, IPPROTO_SCTP, SCTP_RECVRCVINFO, &one, sizeof one) == 0);
  int client = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  struct sctp_initmsg init = {.sinit_num_ostreams = 7};
  CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init) == 0);
  CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_NODELAY, &one, sizeof one) == 0);
  sctp_assoc_t id;
  CHECK(sctp_connectx(client, (struct sockaddr *)&at, 1, &id) == 0);
  int server = accept(listening, NULL, NULL);
  struct sctp_status status;
  socklen_t length = sizeof status;
  CHECK(sctp_opt_info(client, id, SCTP_STATUS, &status, &length) == 0 && length == sizeof status);
  CHECK(status.sstat_state == SCTP_ESTABLISHED && status.sstat_outstrms == 7);
  CHECK(((struct sockaddr_in *)&status.sstat_primary.spinfo_address)->sin_port == at.sin_port);
  char buffer[1000];
  struct sctp_sndrcvinfo info;
  union sctp_notification *notice = (union sctp_notification *)buffer;
  CHECK(sctp_recvmsg(server, buffer, 1000, NULL, NULL, &info, &flags) == sizeof notice->sn_assoc_change);
  CHECK((flags & MSG_NOTIFICATION) && (flags & MSG_EOR) && notice->sn_header.sn_type == SCTP_ASSOC_CHANGE);
  CHECK(notice->sn_assoc_change.sac_state == SCTP_COMM_UP && notice->sn_assoc_change.sac_inbound_streams == 7);
  CHECK(sctp_sendmsg(client, "ppid", 4, NULL, 0, htonl(46), SCTP_UNORDERED, 6, 0, 0) == 4);
  CHECK(sctp_sendmsg(client, "x", 1, NULL, 0, 0, 0, 7, 0, 0) == -1 && errno == EINVAL);
  char control[200];
  struct iovec part = {buffer, 1000};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = 200};
  CHECK(recvmsg(server, &message, 0) == 4 && message.msg_flags == MSG_EOR);
  struct cmsghdr *first = CMSG_FIRSTHDR(&message);
  CHECK(first->cmsg_type == SCTP_RCVINFO && first->cmsg_len == CMSG_LEN(sizeof(struct sctp_rcvinfo)));
  struct sctp_rcvinfo *about = (struct sctp_rcvinfo *)CMSG_DATA(first);
  CHECK(about->rcv_sid == 6 && about->rcv_ppid == htonl(46) && (about->rcv_flags & SCTP_UNORDERED));
  CHECK(CMSG_NXTHDR(&message, first)->cmsg_type == SCTP_SNDRCV);
  struct sockaddr *peers;
  CHECK(sctp_getpaddrs(client, 0, &peers) >= 1 && ((struct sockaddr_in *)peers)->sin_port == at.sin_port);
  sctp_freepaddrs(peers);
  CHECK(close(client) == 0);
  flags = 0;
  CHECK(sctp_recvmsg(server, buffer, 1000, NULL, NULL, NULL, &flags) == 12 && (flags & MSG_NOTIFICATION));
  CHECK(notice->sn_header.sn_type == SCTP_SHUTDOWN_EVENT);
  flags = 0;
  CHECK(sctp_recvmsg(server, buffer, 1000, NULL, NULL, NULL, &flags) == 20);
  CHECK(notice->sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP);
  CHECK(read(server, buffer, 1000) == 0);
}

static void *send_and_exit(void *fd) {
  for (int i = 0; i < 1000; i++) CHECK(send(*(int *)fd, "message", 7, 0) == 7);
  close(*(int *)fd);
  return NULL;
}

/* Data that was sent before close and exit arrives; the child of a fork has sockets of its own. */
static void forked(void) {
  int listening = listener(), status;
  pid_t child = fork();
  if (child == 0) {
    FAILS(listen(listening, 5), ENOTSUP);
    int client = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(connect(client, (struct sockaddr *)&at, sizeof at) == 0);
    send_and_exit(&client);
    exit(0);
  }
  int server = accept(listening, NULL, NULL), messages = 0;
  char buffer[100];
  while (read(server, buffer, 100) == 7) messages++;
  CHECK(messages == 1000);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Sends what it receives back until the peer shuts down. */
static void serve(int fd) {
  char buffer[100];
  ssize_t count;
  while ((count = read(fd, buffer, 100)) > 0) CHECK(write(fd, buffer, count) == count);
  CHECK(count == 0);
  exit(0);
}

static pid_t client(void) {
  pid_t child = fork();
  if (child != 0) return child;
  char buffer[100];
  int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
  for (int i = 0; i < 100; i++) {
    CHECK(send(fd, &i, sizeof i, 0) == sizeof i);
    CHECK(recv(fd, buffer, 100, 0) == sizeof i && memcmp(buffer, &i, sizeof i) == 0);
  }
  CHECK(shutdown(fd, SHUT_WR) == 0 && read(fd, buffer, 100) == 0);
  exit(0);
}

static void ended(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Servers that accept, then fork and serve in the child; in its child; and that accept in the child. */
static void served(void) {
  int listening = listener();
  pid_t peer = client();
  int server = accept(listening, NULL, NULL);
  pid_t child = fork();
  if (child == 0) {
    struct sctp_status status = {0};
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    CHECK(close(listening) == 0 && GET(server, SCTP_STATUS, status) == 0 && status.sstat_state == SCTP_ESTABLISHED);
    CHECK(getpeername(server, (struct sockaddr *)&from, &length) == 0 && from.sin_addr.s_addr == at.sin_addr.s_addr);
    CHECK(events(server, POLLIN, -1) == POLLIN);
    CHECK(dup2(server, STDIN_FILENO) == STDIN_FILENO && close(server) == 0);
    serve(STDIN_FILENO);
  }
  CHECK(close(server) == 0);
  ended(child), ended(peer);

  peer = client();
  server = accept(listening, NULL, NULL);
  child = fork();
  if (child == 0) {
    pid_t grandchild = fork();
    if (grandchild == 0) serve(server);
    CHECK(close(server) == 0);
    ended(grandchild);
    exit(0);
  }
  CHECK(close(server) == 0);
  ended(child), ended(peer);

  peer = client();
  child = fork();
  if (child == 0) serve(accept(listening, NULL, NULL));
  ended(child), ended(peer);
}

/* Without the process that has the driver, nothing can be sent, and nothing received. */
static void orphaned(void) {
  int ends[2], listening = listener();
  CHECK(pipe(ends) == 0);
  pid_t parent = fork();
  if (parent == 0) {
    int fd = bound(SOCK_STREAM, &at);
    CHECK(listen(fd, 5) == 0);
    if (fork() != 0) _exit(0);
    char byte = 0;
    /* Its parent has ended when its end of the pair is closed. */
    CHECK(close(listening) == 0 && events(fd, POLLIN, -1) & POLLHUP);
    FAILS(accept(fd, NULL, NULL), ENETDOWN);
    CHECK(write(ends[1], &byte, 1) == 1);
    exit(0);
  }
  char byte;
  CHECK(close(ends[1]) == 0 && read(ends[0], &byte, 1) == 1);
  ended(parent);
}

/* A signal adds lines of both ends of an association. */
static void signal_adds_two_lines(void) {
  char line[1000];
  CHECK(raise(SIGUSR2) == 0);
  for (int lines = 0; lines < 2; usleep(1000)) {
    FILE *file = fopen(getenv("ANABRANCH_STATISTICS"), "r");
    for (lines = 0; file && fgets(line, sizeof line, file); lines++) CHECK(strstr(line, "{\"ended\":false,\"local_port\":") == line);
    if (file) fclose(file);
  }
}

/* On a signal, associations that have not ended add a line to the file of statistics. */
static void signalled(void) {
  int client, server, status;
  pair(&client, &server);
  signal_adds_two_lines();
  /* A child has associations of its own. */
  pid_t child = fork();
  if (child == 0) {
    CHECK(remove(getenv("ANABRANCH_STATISTICS")) == 0);
    pair(&client, &server);
    signal_adds_two_lines();
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void threads(void) {
  int client, server, messages = 0;
  char buffer[100];
  pair(&client, &server);
  pthread_t sender;
  CHECK(pthread_create(&sender, NULL, send_and_exit, &client) == 0);
  while (read(server, buffer, 100) == 7) messages++;
  CHECK(messages == 1000 && pthread_join(sender, NULL) == 0);
}

static void *accept_forever(void *fd) {
  while (accept(*(int *)fd, NULL, NULL) != -1) continue;
  return NULL;
}

static void *receive_forever(void *fd) {
  char buffer[100];
  while (read(*(int *)fd, buffer, 100) != -1) continue;
  return NULL;
}

/* Threads that wait, on our sockets or on others, can be cancelled, and the sockets are as before. */
static void cancelled(void) {
  int client, server, ends[2], listening = listener();
  struct sockaddr_in first = at;
  char buffer[100];
  pair(&client, &server);
  CHECK(pipe(ends) == 0);
  void *(*calls[])(void *) = {accept_forever, receive_forever, receive_forever};
  int *on[] = {&listening, &server, &ends[0]};
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, calls[i], on[i]) == 0);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
  }
  CHECK(send(client, "hello", 5, 0) == 5 && read(server, buffer, 100) == 5);
  int late = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  CHECK(connect(late, (struct sockaddr *)&first, sizeof first) == 0 && accept(listening, NULL, NULL) >= 0);
}

int main(int count, char **arguments) {
  const struct test_case cases[] = {{"blocking", blocking}, {"readiness", readiness}, {"refused", refused},
                                    {"ancillary", ancillary}, {"forked", forked}, {"served", served}, {"orphaned", orphaned},
                                    {"threads", threads}, {"signalled", signalled},
                                    {"cancelled", cancelled}, {0}};
  return run_case(count, arguments, cases);
}
