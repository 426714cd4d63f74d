/* Hostile arguments get an error and never end the program; nothing leaks. Usage: hostile CASE. */
#include "common.h"
#include <dirent.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

/* All option numbers, lengths and patterns, on sockets of both styles, with associations and without. The bytes end at the end of
 * a page, so that reading too far is a fault. */
static void options(void) {
  int sockets[4];
  pair(&sockets[0], &sockets[1]);
  sockets[2] = bound(SOCK_SEQPACKET, &at);
  CHECK(listen(sockets[2], 5) == 0);
  sockets[3] = socket(AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP);
  CHECK(fcntl(sockets[3], F_SETFL, O_NONBLOCK) == 0);
  for (int i = 0; i < 2; i++) CHECK(fcntl(sockets[i], F_SETFL, O_NONBLOCK) == 0);
  char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED && mprotect(page + 4096, 4096, PROT_NONE) == 0);
  for (int i = 0; i < 4; i++) {
    for (int name = -1; name < 140; name++) {
      /* That one takes an address of memory, which cannot be checked. */
      if (name == 111) continue;
      for (socklen_t length = 0; length < 200; length += length < 40 ? 1 : 13) {
        for (int pattern = 0; pattern < 3; pattern++) {
          char *bytes = page + 4096 - length;
          memset(bytes, pattern == 0 ? 0 : pattern == 1 ? 0xff : 2, length);
          socklen_t got = length;
          int fd = getsockopt(sockets[i], IPPROTO_SCTP, name, bytes, &got);
          CHECK(got <= length);
          if (fd > 2) close(fd);
          setsockopt(sockets[i], IPPROTO_SCTP, name, bytes, length);
        }
      }
      FAILS(setsockopt(sockets[i], IPPROTO_SCTP, name, NULL, 8), name >= 0 ? EFAULT : errno);
      FAILS(getsockopt(sockets[i], IPPROTO_SCTP, name, NULL, NULL), EFAULT);
    }
  }
}

/* Addresses, buffers and descriptors that are not what they seem. */
static void arguments(void) {
  int client, server, many = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP), foreign = socket(AF_INET, SOCK_DGRAM, 0);
  char buffer[100] = "";
  pair(&client, &server);
  struct sockaddr bad = {.sa_family = AF_UNIX};
  FAILS(bind(many, &bad, sizeof bad), EAFNOSUPPORT);
  FAILS(bind(many, (struct sockaddr *)&at, 3), EINVAL);
  FAILS(bind(many, NULL, 16), EFAULT);
  FAILS(sctp_bindx(many, &bad, 1, SCTP_BINDX_ADD_ADDR), EINVAL);
  FAILS(sctp_bindx(many, (struct sockaddr *)&at, 0, SCTP_BINDX_ADD_ADDR), EINVAL);
  FAILS(sctp_bindx(many, (struct sockaddr *)&at, -1, SCTP_BINDX_ADD_ADDR), EINVAL);
  FAILS(sctp_bindx(many, (struct sockaddr *)&at, INT_MAX, SCTP_BINDX_ADD_ADDR), EINVAL);
  FAILS(sctp_bindx(many, (struct sockaddr *)&at, 1, 77), EINVAL);
  FAILS(sctp_connectx(many, NULL, 1, NULL), EFAULT);
  struct sockaddr_in everywhere = loopback("255.255.255.255", 7);
  FAILS(connect(many, (struct sockaddr *)&everywhere, sizeof everywhere), EINVAL);
  FAILS(sctp_getpaddrs(many, 99, (struct sockaddr **)buffer), EINVAL);
  FAILS(sctp_getladdrs(client, 0, NULL), EFAULT);
  FAILS(send(client, NULL, 10, 0), EFAULT);
  FAILS(send(client, buffer, 0, 0), EINVAL);
  CHECK(send(client, "x", 1, 0) == 1);
  FAILS(recv(server, NULL, 10, 0), EFAULT);
  FAILS(sendmsg(client, NULL, 0), EFAULT);
  FAILS(recvmsg(server, NULL, 0), EFAULT);
  struct iovec huge[3] = {{buffer, SIZE_MAX}, {buffer, SIZE_MAX}, {buffer, 1}};
  struct msghdr message = {.msg_iov = huge, .msg_iovlen = 3};
  FAILS(sendmsg(client, &message, 0), EINVAL);
  message.msg_iovlen = SIZE_MAX;
  FAILS(sendmsg(client, &message, 0), EMSGSIZE);
  message.msg_iov = NULL, message.msg_iovlen = 4;
  FAILS(sendmsg(client, &message, 0), EFAULT);
  /* Ancillary data with lengths that lie. */
  struct iovec one = {buffer, 1};
  union { struct cmsghdr head; char bytes[64]; } control = {{.cmsg_level = IPPROTO_SCTP, .cmsg_type = SCTP_SNDINFO}};
  message = (struct msghdr){.msg_iov = &one, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  size_t lengths[] = {0, 1, 15, 16, 20, 31, 65, 1000, SIZE_MAX - 7, SIZE_MAX};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    control.head.cmsg_len = lengths[i];
    FAILS(sendmsg(client, &message, 0), EINVAL);
  }
  volatile int negative = -1;
  FAILS(writev(client, &one, negative), EINVAL);
  FAILS(sctp_sendv(client, &one, 1, NULL, 0, NULL, 16, SCTP_SENDV_SNDINFO, 0), EFAULT);
  FAILS(sctp_sendv(client, &one, 1, NULL, 0, buffer, 3, SCTP_SENDV_SNDINFO, 0), EINVAL);
  FAILS(sctp_sendv(client, &one, 1, NULL, 0, buffer, 16, 99, 0), EINVAL);
  FAILS(sctp_sendv(client, &one, negative, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0), EINVAL);
  FAILS(sctp_sendmsg(client, "x", 1, NULL, 0, 0, 0x8000, 0, 0, 0), EINVAL);
  FAILS(ioctl(client, FIONREAD, NULL), EFAULT);
  /* Descriptors of others, and closed ones. */
  FAILS(sctp_peeloff(foreign, 3), ENOTSUP);
  FAILS(sctp_peeloff(client, 3), EINVAL);
  FAILS(sctp_bindx(-1, (struct sockaddr *)&at, 1, SCTP_BINDX_ADD_ADDR), EBADF);
  FAILS(listen(client, 5), EINVAL);
  FAILS(accept(client, NULL, NULL), EINVAL);
  FAILS(sendfile(client, foreign, NULL, 10), EINVAL);
  FAILS(splice(client, NULL, foreign, NULL, 10, 0), EINVAL);
  close(client);
  FAILS(send(client, "x", 1, 0), EBADF);
  FAILS(close(client), EBADF);
}

/* Several messages at once, time limits, SO_LINGER, and descriptors that are passed or copied. */
static void calls(void) {
  int client, server;
  char buffers[3][10];
  pair(&client, &server);
  struct iovec parts[3] = {{"one", 3}, {"two", 3}, {"three", 5}};
  struct mmsghdr messages[3];
  memset(messages, 0, sizeof messages);
  for (int i = 0; i < 3; i++) messages[i].msg_hdr.msg_iov = &parts[i], messages[i].msg_hdr.msg_iovlen = 1;
  CHECK(sendmmsg(client, messages, 3, 0) == 3 && messages[2].msg_len == 5);
  for (int i = 0; i < 3; i++) parts[i] = (struct iovec){buffers[i], 10};
  int got = 0;
  while (got < 3) {
    int count = recvmmsg(server, messages, 3 - got, 0, NULL);
    CHECK(count > 0 && messages[0].msg_len >= 3);
    got += count;
  }
  struct timeval soon = {.tv_usec = 1000};
  CHECK(setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon) == 0);
  FAILS(recv(server, buffers[0], 10, 0), EAGAIN);
  FAILS(recv(server, buffers[0], 10, MSG_DONTWAIT), EAGAIN);
  /* A call that fails leaves the socket in place of which the duplicate would be. */
  FAILS(dup2(9999, client), EBADF);
  FAILS(dup3(9999, client, 0), EBADF);
  FAILS(dup3(client, client, 0), EINVAL);
  CHECK(send(client, "same", 4, MSG_NOSIGNAL) == 4 && events(server, POLLIN, -1) == POLLIN && recv(server, buffers[0], 10, 0) == 4);
  int copies[3] = {dup2(client, 100), dup3(client, 101, O_CLOEXEC), fcntl(client, F_DUPFD_CLOEXEC, 102)};
  CHECK(fcntl(copies[0], F_GETFD) == 0 && fcntl(copies[1], F_GETFD) == FD_CLOEXEC && fcntl(copies[2], F_GETFD) == FD_CLOEXEC);
  close(client);
  for (int i = 0; i < 3; i++) {
    CHECK(send(copies[i], "copy", 4, 0) == 4 && events(server, POLLIN, -1) == POLLIN && recv(server, buffers[0], 10, 0) == 4);
    if (i < 2) close(copies[i]);
  }
  int cloexec = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_SCTP);
  CHECK(fcntl(cloexec, F_GETFD) == FD_CLOEXEC && (fcntl(cloexec, F_GETFL) & O_NONBLOCK));
  cannot_be_passed(server);
  /* The peer of a socket that is closed with SO_LINGER 0 gets an ABORT. */
  struct linger off = {.l_onoff = 1};
  CHECK(setsockopt(copies[2], SOL_SOCKET, SO_LINGER, &off, sizeof off) == 0 && close(copies[2]) == 0);
  CHECK(events(server, POLLIN, -1) & POLLIN);
  FAILS(recv(server, buffers[0], 10, 0), ECONNRESET);
}

static int entries(const char *folder) {
  DIR *directory = opendir(folder);
  int count = 0;
  CHECK(directory);
  while (readdir(directory)) count++;
  closedir(directory);
  return count;
}

static long resident(void) {
  long pages = 0, ignored;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%ld %ld", &ignored, &pages) == 2);
  fclose(file);
  return pages * 4;
}

/* 10,000 opens and closes, every tenth with an association: no descriptors, threads or bytes remain. */
static void leaks(void) {
  int listening = bound(SOCK_STREAM, &at), fds = 0, threads = 0;
  long before = 0;
  CHECK(listen(listening, 100) == 0);
  for (int i = 0; i < 10000; i++) {
    int fd = socket(AF_INET, i % 2 ? SOCK_SEQPACKET : SOCK_STREAM, IPPROTO_SCTP);
    CHECK(fd >= 0);
    if (i % 10 == 0) {
      char end;
      CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
      int taken = accept(listening, NULL, NULL);
      CHECK(send(fd, "x", 1, 0) == 1 && recv(taken, &end, 1, 0) == 1);
      CHECK(close(fd) == 0 && recv(taken, &end, 1, 0) == 0 && close(taken) == 0);
    } else {
      CHECK(close(fd) == 0);
    }
    if (i == 2000) fds = entries("/proc/self/fd"), threads = entries("/proc/self/task"), before = resident();
  }
  /* What is still being shut down takes some turns of the driver. */
  for (int i = 0; i < 1000 && entries("/proc/self/fd") > fds; i++) usleep(10000);
  printf("descriptors %d, %d; threads %d, %d; KiB %ld, %ld\n", fds, entries("/proc/self/fd"), threads,
         entries("/proc/self/task"), before, resident());
  CHECK(entries("/proc/self/fd") <= fds && entries("/proc/self/task") <= threads);
  /* Each of the 800 associations since would be 4 KiB. */
  CHECK(resident() - before < 2000);
}

int main(int count, char **arguments_) {
  const struct test_case cases[] = {{"options", options}, {"arguments", arguments}, {"calls", calls}, {"leaks", leaks}, {0}};
  return run_case(count, arguments_, cases);
}
