/* One-to-many style sockets (RFC 6458 section 3). Usage: many CASE. */
#include "common.h"

enum { THREADS = 100, EACH = 50, LONG = 1000 };

static int server(void) {
  int fd = bound(SOCK_SEQPACKET, &at), on = 1;
  CHECK(SET(fd, SCTP_RECVRCVINFO, on) == 0);
  CHECK(listen(fd, 5) == 0);
  return fd;
}

/* An association is set up by what is sent, and is answered by its identifier. */
static void implicit(void) {
  int fd = server(), client = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP), on = 1;
  struct sctp_rcvinfo info;
  union sctp_notification notice;
  char buffer[100];
  CHECK(client >= 0 && SET(client, SCTP_RECVRCVINFO, on) == 0);
  subscribe(client, SCTP_ASSOC_CHANGE);
  CHECK(sctp_sendmsg(client, "hello", 5, (struct sockaddr *)&at, sizeof at, htonl(7), 0, 3, 0, 0) == 5);
  CHECK(data(fd, buffer, 100, &info) == 5 && memcmp(buffer, "hello", 5) == 0);
  CHECK(info.rcv_sid == 3 && info.rcv_ppid == htonl(7) && info.rcv_assoc_id > SCTP_ALL_ASSOC);
  struct sctp_sndinfo back = {.snd_sid = 1, .snd_assoc_id = info.rcv_assoc_id};
  CHECK(sctp_sendv(fd, &(struct iovec){"echo", 4}, 1, NULL, 0, &back, sizeof back, SCTP_SENDV_SNDINFO, 0) == 4);
  await(client, SCTP_ASSOC_CHANGE, &notice);
  CHECK(notice.sn_assoc_change.sac_state == SCTP_COMM_UP);
  CHECK(data(client, buffer, 100, &info) == 4 && info.rcv_assoc_id == notice.sn_assoc_change.sac_assoc_id);
  /* By address too; no second association is set up. */
  CHECK(sendto(client, "again", 5, 0, (struct sockaddr *)&at, sizeof at) == 5);
  CHECK(data(fd, buffer, 100, &info) == 5 && info.rcv_assoc_id == back.snd_assoc_id);
  uint32_t number = 0;
  CHECK(GET(fd, SCTP_GET_ASSOC_NUMBER, number) == 0 && number == 1);
  struct { uint32_t count; sctp_assoc_t ids[4]; } list;
  CHECK(GET(fd, SCTP_GET_ASSOC_ID_LIST, list) == 0 && list.count == 1 && list.ids[0] == back.snd_assoc_id);
  /* Neither address nor association, or an unknown one. */
  FAILS(send(client, "x", 1, MSG_NOSIGNAL), EPIPE);
  back.snd_assoc_id = 12345;
  FAILS(sctp_sendv(fd, &(struct iovec){"x", 1}, 1, NULL, 0, &back, sizeof back, SCTP_SENDV_SNDINFO, MSG_NOSIGNAL), EPIPE);
  FAILS(accept(fd, NULL, NULL), EOPNOTSUPP);
  /* SCTP_EOF ends the association, and only that. */
  CHECK(sctp_sendmsg(client, NULL, 0, (struct sockaddr *)&at, sizeof at, 0, SCTP_EOF, 0, 0, 0) == 0);
  await(client, SCTP_ASSOC_CHANGE, &notice);
  CHECK(notice.sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP);
  CHECK(GET(client, SCTP_GET_ASSOC_NUMBER, number) == 0 && number == 0);
  CHECK(sendto(client, "anew", 4, 0, (struct sockaddr *)&at, sizeof at) == 4);
  CHECK(data(fd, buffer, 100, &info) == 4 && memcmp(buffer, "anew", 4) == 0);
}

/* connect, SCTP_ABORT, a peer that refuses, and what is told of them. */
static void ends(void) {
  int fd = server(), client = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
  union sctp_notification notice;
  subscribe(client, SCTP_ASSOC_CHANGE);
  subscribe(fd, SCTP_ASSOC_CHANGE);
  CHECK(connect(client, (struct sockaddr *)&at, sizeof at) == 0);
  FAILS(connect(client, (struct sockaddr *)&at, sizeof at), EISCONN);
  await(client, SCTP_ASSOC_CHANGE, &notice);
  struct sctp_sndinfo kill = {.snd_flags = SCTP_ABORT, .snd_assoc_id = notice.sn_assoc_change.sac_assoc_id};
  CHECK(sctp_sendv(client, &(struct iovec){"reason", 6}, 1, NULL, 0, &kill, sizeof kill, SCTP_SENDV_SNDINFO, 0) == 6);
  await(client, SCTP_ASSOC_CHANGE, &notice);
  CHECK(notice.sn_assoc_change.sac_state == SCTP_COMM_LOST);
  await(fd, SCTP_ASSOC_CHANGE, &notice);
  CHECK(notice.sn_assoc_change.sac_state == SCTP_COMM_UP);
  await(fd, SCTP_ASSOC_CHANGE, &notice);
  CHECK(notice.sn_assoc_change.sac_state == SCTP_COMM_LOST);
  struct sockaddr_in nobody = loopback("127.0.0.1", 1);
  FAILS(connect(client, (struct sockaddr *)&nobody, sizeof nobody), ECONNREFUSED);
  await(client, SCTP_ASSOC_CHANGE, &notice);
  CHECK(notice.sn_assoc_change.sac_state == SCTP_CANT_STR_ASSOC);
  /* A socket that does not listen refuses. */
  CHECK(listen(fd, 0) == 0);
  FAILS(connect(client, (struct sockaddr *)&at, sizeof at), ECONNREFUSED);
}

/* An association becomes a one-to-one style socket, with what it had received. */
static void peeled(void) {
  int fd = server(), clients[2], sockets[2];
  struct sctp_rcvinfo info;
  char buffer[100];
  for (int i = 0; i < 2; i++) {
    clients[i] = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(connect(clients[i], (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(send(clients[i], "first", 5, 0) == 5 && data(fd, buffer, 100, &info) == 5);
    CHECK(send(clients[i], "second", 6, 0) == 6 && events(fd, POLLIN, -1) == POLLIN);
    if (i == 0) {
      sockets[i] = sctp_peeloff(fd, info.rcv_assoc_id);
    } else {
      sctp_peeloff_arg_t argument = {.associd = info.rcv_assoc_id};
      socklen_t length = sizeof argument;
      sockets[i] = getsockopt(fd, IPPROTO_SCTP, SCTP_SOCKOPT_PEELOFF, &argument, &length);
      CHECK(argument.sd == sockets[i]);
    }
    CHECK(sockets[i] >= 0 && events(fd, POLLIN, 0) == 0);
    FAILS(sctp_peeloff(fd, info.rcv_assoc_id), EINVAL);
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    CHECK(getpeername(sockets[i], (struct sockaddr *)&peer, &length) == 0);
    CHECK(recv(sockets[i], buffer, 100, 0) == 6 && memcmp(buffer, "second", 6) == 0);
    CHECK(send(sockets[i], "answer", 6, 0) == 6 && recv(clients[i], buffer, 100, 0) == 6);
  }
  close(clients[0]);
  CHECK(recv(sockets[0], buffer, 100, 0) == 0);
  CHECK(send(clients[1], "alive", 5, 0) == 5 && recv(sockets[1], buffer, 100, 0) == 5);
  int kind;
  socklen_t length = sizeof kind;
  CHECK(getsockopt(sockets[1], SOL_SOCKET, SO_TYPE, &kind, &length) == 0 && kind == SOCK_STREAM);
  CHECK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &length) == 0 && kind == SOCK_SEQPACKET);
}

/* SCTP_SENDALL reaches everybody; idle associations are closed. */
static void all(void) {
  int fd = bound(SOCK_SEQPACKET, &at), clients[5], seconds = 1;
  struct sctp_rcvinfo info;
  char buffer[100];
  sctp_assoc_t last = 0;
  CHECK(SET(fd, SCTP_AUTOCLOSE, seconds) == 0 && listen(fd, 5) == 0);
  subscribe(fd, SCTP_ASSOC_CHANGE);
  union sctp_notification notice;
  for (int i = 0; i < 5; i++) {
    clients[i] = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(connect(clients[i], (struct sockaddr *)&at, sizeof at) == 0);
    await(fd, SCTP_ASSOC_CHANGE, &notice);
    last = notice.sn_assoc_change.sac_assoc_id;
  }
  /* One that is being shut down is left out. */
  struct sctp_sndinfo end = {.snd_flags = SCTP_EOF, .snd_assoc_id = last};
  CHECK(sctp_sendv(fd, NULL, 0, NULL, 0, &end, sizeof end, SCTP_SENDV_SNDINFO, 0) == 0);
  struct sctp_sndinfo everybody = {.snd_flags = SCTP_SENDALL};
  CHECK(sctp_sendv(fd, &(struct iovec){"all", 3}, 1, NULL, 0, &everybody, sizeof everybody, SCTP_SENDV_SNDINFO, 0) == 3);
  for (int i = 0; i < 4; i++) CHECK(data(clients[i], buffer, 100, &info) == 3);
  for (int i = 0; i < 5; i++) CHECK(recv(clients[i], buffer, 100, 0) == 0);
  for (int i = 0; i < 5; i++) {
    await(fd, SCTP_ASSOC_CHANGE, &notice);
    CHECK(notice.sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP);
  }
}

/* A one-to-one style socket at these addresses, the first of which has the port, connects to the server and sends. */
static int peer_at(const char *const *ips, int count, int port, const char *message) {
  struct sockaddr_in locals[2];
  int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  struct sctp_udpencaps server = {.sue_port = at.sin_port};
  struct timeval limit = {.tv_sec = 5};
  for (int i = 0; i < count; i++) locals[i] = loopback(ips[i], port);
  CHECK(SET(fd, SCTP_REMOTE_UDP_ENCAPS_PORT, server) == 0);
  CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  CHECK(sctp_bindx(fd, (struct sockaddr *)locals, count, SCTP_BINDX_ADD_ADDR) == 0);
  CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
  CHECK(send(fd, message, strlen(message), 0) == (ssize_t)strlen(message));
  return fd;
}

/* A peer lists the address of another one, with its SCTP port, at a UDP port of its own. */
static void listed(void) {
  int ports[2], status, udp = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in other = loopback("127.0.0.3", 0);
  socklen_t length = sizeof other;
  char buffer[100], text[10];
  CHECK(pipe(ports) == 0 && bind(udp, (struct sockaddr *)&other, sizeof other) == 0);
  CHECK(getsockname(udp, (struct sockaddr *)&other, &length) == 0 && close(udp) == 0);
  snprintf(text, sizeof text, "%d", ntohs(other.sin_port));
  pid_t child = fork();
  if (child == 0) {
    struct sockaddr_in known[2];
    CHECK(setenv("ANABRANCH_UDP_PORT", text, 1) == 0);
    CHECK(read(ports[0], known, sizeof known) == sizeof known);
    at = known[0];
    int fd = peer_at((const char *const[]){"127.0.0.3", "127.0.0.2"}, 2, ntohs(known[1].sin_port), "other");
    /* It receives nothing until the server has shut down. */
    ssize_t count = recv(fd, buffer, 100, 0);
    exit(count == 0 ? 0 : 1);
  }
  int fd = server();
  struct sockaddr_in from[2], known[2] = {at, loopback("127.0.0.2", 0)};
  struct sctp_rcvinfo info;
  int place = bound(SOCK_STREAM, &other);
  known[1].sin_port = other.sin_port;
  CHECK(close(place) == 0);
  int client = peer_at((const char *const[]){"127.0.0.2"}, 1, ntohs(known[1].sin_port), "first");
  length = sizeof from[0];
  CHECK(recvfrom(fd, buffer, 100, 0, (struct sockaddr *)&from[0], &length) == 5 && memcmp(buffer, "first", 5) == 0);
  CHECK(from[0].sin_addr.s_addr == known[1].sin_addr.s_addr && from[0].sin_port == known[1].sin_port);
  CHECK(write(ports[1], known, sizeof known) == sizeof known);
  CHECK(data(fd, buffer, 100, &info) == 5 && memcmp(buffer, "other", 5) == 0);
  CHECK(sendto(fd, "answer", 6, 0, (struct sockaddr *)&from[0], sizeof from[0]) == 6);
  CHECK(recv(client, buffer, 100, 0) == 6 && memcmp(buffer, "answer", 6) == 0);
  CHECK(close(fd) == 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* The address of an association is the same with a scope and without: what is received has none. */
static void scoped(void) {
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT}, from;
  socklen_t length = sizeof to;
  uint32_t number = 0;
  char buffer[100];
  int fd = socket(AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP), client = socket(AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP);
  CHECK(bind(fd, (struct sockaddr *)&to, length) == 0 && listen(fd, 5) == 0);
  CHECK(getsockname(fd, (struct sockaddr *)&to, &length) == 0);
  to.sin6_scope_id = 1;
  CHECK(sendto(client, "first", 5, 0, (struct sockaddr *)&to, sizeof to) == 5);
  CHECK(recvfrom(fd, buffer, 100, 0, (struct sockaddr *)&from, &length) == 5);
  from.sin6_scope_id = 1;
  CHECK(sendto(fd, "answer", 6, 0, (struct sockaddr *)&from, sizeof from) == 6);
  CHECK(recv(client, buffer, 100, 0) == 6);
  to.sin6_scope_id = 0;
  CHECK(sendto(client, "again", 5, 0, (struct sockaddr *)&to, sizeof to) == 5 && recv(fd, buffer, 100, 0) == 5);
  CHECK(GET(client, SCTP_GET_ASSOC_NUMBER, number) == 0 && number == 1);
}

static int shared, echoes;

/* Sends on the shared socket; associations and buffers fill up. */
static void *send_many(void *number) {
  char message[2000];
  memset(message, (long)number, sizeof message);
  for (int i = 0; i < EACH; i++) {
    struct sockaddr_in to = at;
    CHECK(sendto(shared, message, sizeof message, 0, (struct sockaddr *)&to, sizeof to) == sizeof message);
  }
  return NULL;
}

/* Receives on the shared socket until a message of one byte tells to stop. */
static void *receive_many(void *unused) {
  char buffer[2000];
  (void)unused;
  for (;;) {
    ssize_t count = recv(shared, buffer, sizeof buffer, 0);
    CHECK(count > 0);
    if (count == 1) return NULL;
    __atomic_add_fetch(&echoes, 1, __ATOMIC_RELAXED);
  }
}

/* 100 threads send on one socket, and 100 others receive on it what comes back. Each message counts. */
static void threads(void) {
  int fd = server(), small = 16 << 10;
  pthread_t senders[THREADS], receivers[THREADS];
  shared = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
  CHECK(setsockopt(shared, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
  for (long i = 0; i < THREADS; i++) {
    CHECK(pthread_create(&receivers[i], NULL, receive_many, NULL) == 0);
    CHECK(pthread_create(&senders[i], NULL, send_many, (void *)i) == 0);
  }
  char buffer[2000];
  struct sctp_rcvinfo info;
  for (int i = 0; i < THREADS * EACH; i++) {
    CHECK(data(fd, buffer, sizeof buffer, &info) == sizeof buffer);
    struct sctp_sndinfo back = {.snd_assoc_id = info.rcv_assoc_id};
    CHECK(sctp_sendv(fd, &(struct iovec){buffer, sizeof buffer}, 1, NULL, 0, &back, sizeof back, SCTP_SENDV_SNDINFO, 0) ==
          sizeof buffer);
  }
  struct sctp_sndinfo back = {.snd_assoc_id = info.rcv_assoc_id};
  for (int i = 0; i < THREADS; i++)
    CHECK(sctp_sendv(fd, &(struct iovec){"x", 1}, 1, NULL, 0, &back, sizeof back, SCTP_SENDV_SNDINFO, 0) == 1);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(senders[i], NULL) == 0 && pthread_join(receivers[i], NULL) == 0);
  printf("%d messages came back\n", echoes);
  CHECK(echoes == THREADS * EACH);
}

/* One descriptor is ready for each of its associations, and a full one holds up neither reading nor others. */
static void ready(void) {
  int fd = server(), quiet, small = 16 << 10;
  struct sockaddr_in other;
  quiet = bound(SOCK_STREAM, &other);
  CHECK(listen(quiet, 5) == 0);
  int client = socket(AF_INET, SOCK_SEQPACKET | SOCK_NONBLOCK, IPPROTO_SCTP);
  CHECK(setsockopt(client, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
  CHECK(setsockopt(quiet, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
  CHECK(events(client, POLLIN | POLLOUT, 0) == POLLOUT);
  char buffer[1000] = "";
  while (sendto(client, buffer, 1000, 0, (struct sockaddr *)&other, sizeof other) == 1000) continue;
  CHECK(errno == EAGAIN && events(client, POLLOUT, 0) == 0);
  CHECK(sendto(client, "x", 1, 0, (struct sockaddr *)&at, sizeof at) == 1);
  struct sctp_rcvinfo info;
  CHECK(data(fd, buffer, 1000, &info) == 1);
  int taken = accept(quiet, NULL, NULL);
  CHECK(taken >= 0);
  while (!(events(client, POLLOUT, 0) & POLLOUT)) CHECK(recv(taken, buffer, 1000, 0) == 1000);
  struct sctp_sndinfo back = {.snd_assoc_id = info.rcv_assoc_id};
  CHECK(sctp_sendv(fd, &(struct iovec){"y", 1}, 1, NULL, 0, &back, sizeof back, SCTP_SENDV_SNDINFO, 0) == 1);
  CHECK(events(client, POLLIN, -1) == POLLIN && recv(client, buffer, 1000, 0) == 1);
  CHECK(events(client, POLLIN, 0) == 0);
  FAILS(recv(client, buffer, 1000, 0), EAGAIN);
}

/* 100 sockets have an association with each of 100 others, and each carries a message. */
static void thousands(void) {
  enum { N = 100 };
  static int servers[N], clients[N];
  static struct sockaddr_in to[N];
  struct sctp_rcvinfo info;
  unsigned number = 0, all = 0;
  long sum = 0;
  for (int i = 0; i < N; i++) {
    servers[i] = bound(SOCK_SEQPACKET, &to[i]);
    CHECK(listen(servers[i], 10) == 0 && (clients[i] = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP)) >= 0);
  }
  for (int value = 0; value < N * N; value++) {
    struct sockaddr *peer = (struct sockaddr *)&to[value % N];
    CHECK(sctp_sendmsg(clients[value / N], &value, sizeof value, peer, sizeof to[0], 0, 0, 0, 0, 0) == sizeof value);
  }
  for (int i = 0, value; i < N * N; i++, sum += value) CHECK(data(servers[i / N], &value, sizeof value, &info) == sizeof value);
  CHECK(sum == (long)N * N * (N * N - 1) / 2);
  for (int i = 0; i < N; i++, all += number) CHECK(GET(servers[i], SCTP_GET_ASSOC_NUMBER, number) == 0);
  CHECK(all == N * N);
}

struct job {
  int fd, flags;
  sctp_assoc_t to;
  const char *text;
};

static ssize_t do_job(const struct job *job, int flags) {
  union { struct cmsghdr head; char bytes[CMSG_SPACE(sizeof(struct sctp_sndinfo))]; } control = {{0}};
  struct sctp_sndinfo info = {.snd_flags = job->flags, .snd_assoc_id = job->to};
  struct iovec part = {(void *)job->text, LONG};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof info), .cmsg_level = IPPROTO_SCTP, .cmsg_type = SCTP_SNDINFO};
  memcpy(CMSG_DATA(&control.head), &info, sizeof info);
  /* sctp_sendv of lksctp's library takes no flags. */
  return sendmsg(job->fd, &message, flags);
}

static void *wait_and_send(void *job) {
  CHECK(do_job(job, 0) == LONG);
  return NULL;
}

/* Receives until this message has arrived. */
static void receive_until(int fd, const char *text) {
  char buffer[LONG];
  do CHECK(recv(fd, buffer, LONG, 0) == LONG);
  while (memcmp(buffer, text, LONG) != 0);
}

/* Sends until there is no room, which probes of the peer's window may have made again; returns how many were sent. */
static long fill_up(struct job *job) {
  long sent = 0;
  while (do_job(job, MSG_DONTWAIT) > 0) sent++;
  CHECK(errno == EAGAIN);
  return sent;
}

/* Two peers of a socket that do not read; nothing more can be sent to those from the first one on. */
static void fill_from(int first, int fd, int clients[2], struct job fill[2]) {
  static const char filler[LONG];
  union sctp_notification notice;
  long sent, before;
  subscribe(fd, SCTP_ASSOC_CHANGE);
  for (int i = 0; i < 2; i++) {
    clients[i] = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(connect(clients[i], (struct sockaddr *)&at, sizeof at) == 0);
    await(fd, SCTP_ASSOC_CHANGE, &notice);
    fill[i] = (struct job){fd, 0, notice.sn_assoc_change.sac_assoc_id, filler};
  }
  /* Until there is no room for some time. */
  for (sent = 0, before = -1; sent > before; events(fd, POLLPRI, 100)) {
    before = sent;
    for (int i = first; i < 2; i++) sent += fill_up(&fill[i]);
  }
}

/* The next message that the client receives is one that is sent to it now. */
static void nothing_more(int client, struct job job) {
  char buffer[LONG], last[LONG] = "end";
  job.text = last;
  CHECK(do_job(&job, 0) == LONG && recv(client, buffer, LONG, 0) == LONG && memcmp(buffer, last, LONG) == 0);
}

/* A peer that does not read delays what is sent to it and to all, and nothing else; what is sent to all arrives once, although a signal
   interrupts the call. */
static void full(void) {
  int fd = server(), clients[2];
  char one[LONG] = "late", other[LONG] = "for everybody";
  struct job fill[2], late = {fd, 0, 0, one}, everybody = {fd, SCTP_SENDALL, 0, other};
  pthread_t thread;
  fill_from(0, fd, clients, fill);
  late.to = fill[0].to;
  CHECK(pthread_create(&thread, NULL, wait_and_send, &late) == 0);
  usleep(20000);
  receive_until(clients[0], one);
  CHECK(pthread_join(thread, NULL) == 0);
  fill_up(&fill[1]);
  CHECK(pthread_create(&thread, NULL, wait_and_send, &everybody) == 0);
  receive_until(clients[0], other);
  interrupt(thread);
  receive_until(clients[1], other);
  CHECK(pthread_join(thread, NULL) == 0);
  nothing_more(clients[0], fill[0]);
}

/* A child that waits to send to one peer does not wait for another one. */
static void awaited(void) {
  int fd = server(), clients[2], status;
  char text[LONG] = "late";
  struct job fill[2], late = {fd, 0, 0, text};
  fill_from(0, fd, clients, fill);
  late.to = fill[0].to;
  pid_t child = fork();
  if (child == 0) {
    wait_and_send(&late);
    _exit(0);
  }
  receive_until(clients[0], text);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  /* The other one has no room still, but for what probes of its window took. */
  CHECK(fill_up(&fill[1]) < 4);
}

/* What a child sends to all arrives once, too. */
static void inherited(void) {
  int fd = server(), clients[2], status;
  char other[LONG] = "for everybody";
  struct job fill[2], everybody = {fd, SCTP_SENDALL, 0, other};
  fill_from(1, fd, clients, fill);
  pid_t child = fork();
  if (child == 0) {
    wait_and_send(&everybody);
    _exit(0);
  }
  for (int i = 0; i < 2; i++) receive_until(clients[i], other);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  nothing_more(clients[0], fill[0]);
}

static struct sockaddr_in middle;
static volatile int over;

static void *connect_and_abort(void *unused) {
  struct linger off = {.l_onoff = 1};
  (void)unused;
  while (!over) {
    int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof off) == 0);
    /* It may be refused, if it has the port of one before. */
    connect(fd, (struct sockaddr *)&middle, sizeof middle);
    CHECK(close(fd) == 0);
  }
  return NULL;
}

/* An association is set up anew at once after its end, while other peers connect to the same socket. */
static void anew(void) {
  pthread_t others[2];
  int client = server();
  middle = at;
  int fd = server();
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&others[i], NULL, connect_and_abort, NULL) == 0);
  for (int i = 0; i < 1000; i++) {
    struct sctp_rcvinfo info;
    char buffer[10];
    CHECK(sendto(client, "hello", 5, MSG_NOSIGNAL, (struct sockaddr *)&at, sizeof at) == 5);
    CHECK(data(fd, buffer, 10, &info) == 5);
    CHECK(sctp_sendmsg(client, NULL, 0, (struct sockaddr *)&at, sizeof at, 0, SCTP_ABORT, 0, 0, 0) == 0);
  }
  over = 1;
  for (int i = 0; i < 2; i++) CHECK(pthread_join(others[i], NULL) == 0);
}

int main(int count, char **arguments) {
  const struct test_case cases[] = {{"implicit", implicit}, {"ends", ends}, {"peeled", peeled}, {"all", all},
                                    {"listed", listed}, {"scoped", scoped}, {"threads", threads}, {"ready", ready},
                                    {"thousands", thousands}, {"anew", anew}, {"full", full}, {"inherited", inherited}, {"awaited", awaited}, {0}};
  return run_case(count, arguments, cases);
}
