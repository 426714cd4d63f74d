/* For a static program, whose calls another process answers: what differs from a preloaded library. */
#include "common.h"
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static void *send_later(void *fd) {
  usleep(20000);
  CHECK(send(*(int *)fd, "late", 4, 0) == 4);
  return NULL;
}

static volatile sig_atomic_t signals;
static void count(int number) { (void)number, signals++; }

/* Calls wait, scatter and gather, and are interrupted by signals; a closed peer is the end, then EPIPE and SIGPIPE. */
static void blocking(void) {
  int client, server;
  char one[3], two[10];
  pair(&client, &server);
  struct iovec parts[2] = {{"hel", 3}, {"lo", 2}}, to[2] = {{one, 3}, {two, 10}};
  CHECK(writev(client, parts, 2) == 5 && readv(server, to, 2) == 5 && memcmp(one, "hel", 3) == 0 && memcmp(two, "lo", 2) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, send_later, &client) == 0);
  CHECK(recv(server, two, 10, MSG_PEEK) == 4 && recv(server, two, 2, 0) == 2 && read(server, two, 10) == 2);
  CHECK(pthread_join(thread, NULL) == 0);
  struct timeval soon = {.tv_usec = 1000};
  CHECK(setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon) == 0);
  FAILS(recv(server, two, 10, 0), EAGAIN);
  struct timeval never = {0};
  CHECK(setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &never, sizeof never) == 0);
  struct sigaction action = {.sa_handler = count};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  ualarm(20000, 0);
  FAILS(recv(server, two, 10, 0), EINTR);
  CHECK(signals == 1 && send(client, "after", 5, 0) == 5 && recv(server, two, 10, 0) == 5);
  CHECK(sigaction(SIGPIPE, &action, NULL) == 0 && shutdown(client, SHUT_WR) == 0 && read(server, two, 10) == 0);
  FAILS(send(client, "x", 1, MSG_NOSIGNAL), EPIPE);
  CHECK(signals == 1);
  FAILS(send(client, "x", 1, 0), EPIPE);
  while (signals == 1) continue;
}

/* poll, epoll and select see what calls would do; a full send buffer is not writable. */
static void readiness(void) {
  int client, server;
  char buffer[1000] = {0};
  pair(&client, &server);
  CHECK(client < FD_SETSIZE && server < FD_SETSIZE);
  CHECK(fcntl(client, F_SETFL, O_NONBLOCK) == 0 && fcntl(server, F_SETFL, O_NONBLOCK) == 0);
  FAILS(recv(server, buffer, 1000, 0), EAGAIN);
  CHECK(events(server, POLLIN | POLLOUT, 0) == POLLOUT);
  int all = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET};
  CHECK(epoll_ctl(all, EPOLL_CTL_ADD, server, &event) == 0);
  long sent = 0, received = 0;
  while (send(client, buffer, 1000, 0) == 1000) sent++;
  CHECK(errno == EAGAIN && sent > 100 && events(client, POLLOUT, 0) == 0);
  CHECK(epoll_wait(all, &event, 1, -1) == 1);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(server, &set);
  CHECK(select(server + 1, &set, NULL, NULL, NULL) == 1);
  while (received < sent) {
    CHECK(events(server, POLLIN, -1) == POLLIN);
    while (recv(server, buffer, 1000, 0) == 1000) received++;
  }
  CHECK(events(client, POLLOUT, -1) == POLLOUT);
  int late = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_SCTP), listening = listener(), error = 0;
  FAILS(connect(late, (struct sockaddr *)&at, sizeof at), EINPROGRESS);
  CHECK(events(late, POLLOUT, -1) == POLLOUT);
  CHECK(getsockopt(late, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error}) == 0 && error == 0);
  CHECK(accept(listening, NULL, NULL) >= 0);
}

/* A child uses the sockets of its parent like its own; the association lives until the last one has closed it. */
static void forked(void) {
  int client, server, status;
  char buffer[10];
  pair(&client, &server);
  pid_t child = fork();
  if (child == 0) {
    int copy = fcntl(server, F_DUPFD_CLOEXEC, 0);
    CHECK(copy >= 0 && fcntl(copy, F_GETFD) == FD_CLOEXEC && close(server) == 0);
    CHECK(recv(copy, buffer, 10, 0) == 5 && send(copy, "world", 5, 0) == 5);
    int listening = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(listen(listening, 1) == 0);
    _exit(0);
  }
  CHECK(close(server) == 0 && send(client, "hello", 5, 0) == 5 && recv(client, buffer, 10, 0) == 5);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  /* The child has ended without a close. */
  CHECK(recv(client, buffer, 10, 0) == 0);
}

/* What the supervisor could not see later. */
static void refusals(void) {
  int client, server;
  pair(&client, &server);
  FAILS(dup2(client, 100), ENOTSUP);
  CHECK(dup2(client, client) == client);
  FAILS(splice(client, NULL, server, NULL, 10, 0), EINVAL);
  FAILS(sendfile(client, server, NULL, 10), EINVAL);
  cannot_be_passed(server);
  FAILS(recv(server, (void *)8, 10, MSG_DONTWAIT), EAGAIN);
  FAILS(bind(server, (struct sockaddr *)8, sizeof at), EFAULT);
  FAILS(send(client, (void *)8, 10, 0), EFAULT);
  int local[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, local) == 0);
  FAILS(sendmmsg(local[0], (void *)-64, 2, 0), EFAULT);
}

/* There are as many sockets as the limit allows above 511. An association that cannot be accepted stays in the queue. */
static void limits(void) {
  struct rlimit limit;
  char buffer[10];
  int listening = listener(), client = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), fds[88], taken;
  CHECK(connect(client, (struct sockaddr *)&at, sizeof at) == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = 600;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (int i = 0; i < 88; i++) CHECK((fds[i] = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP)) >= 512 && fds[i] < 600);
  FAILS(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), EMFILE);
  FAILS(accept(listening, NULL, NULL), EMFILE);
  CHECK(close(fds[5]) == 0 && (taken = accept(listening, NULL, NULL)) == fds[5]);
  CHECK(send(client, "kept", 4, 0) == 4 && recv(taken, buffer, 10, 0) == 4);
}

/* A child that its parent has left gets the signals of the supervisor. */
static void left(void) {
  pid_t parent = getpid();
  sigset_t set;
  int number;
  CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGTERM) == 0 && sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  if (fork() != 0) _exit(7);
  alarm(60);
  while (kill(parent, 0) == 0) usleep(1000);
  CHECK(puts("ready") >= 0 && fflush(stdout) == 0);
  CHECK(sigwait(&set, &number) == 0 && number == SIGTERM && puts("terminated") >= 0);
}

int main(int count, char **arguments) {
  const struct test_case cases[] = {
      {"blocking", blocking}, {"readiness", readiness}, {"forked", forked}, {"refusals", refusals}, {"limits", limits}, {"left", left}, {0}};
  return run_case(count, arguments, cases);
}
