/* Encryption by socket option. The environment has two private keys in files, FILE_A and FILE_B, and their public keys, KEY_A and KEY_B. */
#include "common.h"
#include "../../install/anabranch_sctp.h"

static int encrypt(int fd, const char *format, const char *one, const char *two) {
  char text[1000];
  snprintf(text, sizeof text, format, getenv(one), two ? getenv(two) : "");
  return setsockopt(fd, IPPROTO_SCTP, SCTP_ANABRANCH_ENCRYPTION, text, strlen(text));
}

static int stream(void) {
  int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  CHECK(fd >= 0);
  return fd;
}

/* A server with key A that trusts the holder of B. */
static int server(int type) {
  int fd = bound(type, &at);
  CHECK(encrypt(fd, "key=%s\ntrust=%s", "FILE_A", "KEY_B") == 0 && listen(fd, 5) == 0);
  return fd;
}

static int join(int fd) { return connect(fd, (struct sockaddr *)&at, sizeof at); }

static void peer_has(int fd, sctp_assoc_t id, const char *name) {
  struct sctp_anabranch_peer_key peer = {.spk_assoc_id = id};
  CHECK(GET(fd, SCTP_ANABRANCH_PEER_KEY, peer) == 0 && strcmp(peer.spk_key, name ? getenv(name) : "") == 0);
}

/* Both ends know who the other is. */
static void pair_of_keys(void) {
  int listening = server(SOCK_STREAM), client = stream();
  char text[100];
  CHECK(encrypt(client, "key=%s\ntrust=%s\n", "FILE_B", "KEY_A") == 0);
  CHECK(GET(client, SCTP_ANABRANCH_ENCRYPTION, text) == 0 && strcmp(text, getenv("KEY_B")) == 0);
  CHECK(join(client) == 0);
  int accepted = accept(listening, NULL, NULL);
  CHECK(accepted >= 0);
  peer_has(client, 0, "KEY_A"), peer_has(accepted, 0, "KEY_B");
  CHECK(send(client, "question", 8, 0) == 8 && recv(accepted, text, sizeof text, 0) == 8);
  CHECK(send(accepted, "answer", 6, 0) == 6 && recv(client, text, sizeof text, 0) == 6);
  /* It is too late to change that. */
  FAILS(encrypt(client, "", "KEY_A", NULL), ENOPROTOOPT);
  FAILS(encrypt(listening, "", "KEY_A", NULL), ENOPROTOOPT);
  CHECK(close(client) == 0 && close(accepted) == 0 && close(listening) == 0);
}

/* The message that sets an association up waits until the peer has proven its key. */
static void implicit(void) {
  int listening = server(SOCK_SEQPACKET), client = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
  CHECK(encrypt(client, "key=%s\ntrust=%s", "FILE_B", "KEY_A") == 0);
  CHECK(sctp_sendmsg(client, "early", 5, (struct sockaddr *)&at, sizeof at, 0, 0, 3, 0, 0) == 5);
  char text[100];
  struct sctp_rcvinfo info = {0};
  CHECK(setsockopt(listening, IPPROTO_SCTP, SCTP_RECVRCVINFO, &(int){1}, sizeof(int)) == 0);
  CHECK(data(listening, text, sizeof text, &info) == 5 && info.rcv_sid == 3);
  peer_has(listening, info.rcv_assoc_id, "KEY_B");
  CHECK(close(client) == 0 && close(listening) == 0);
}

/* Other keys than the trusted ones, at either end, and none. */
static void refused(void) {
  int listening = server(SOCK_STREAM), client = stream();
  CHECK(encrypt(client, "key=%s\ntrust=%s", "FILE_B", "KEY_B") == 0);
  FAILS(join(client), EKEYREJECTED);
  CHECK(close(client) == 0);
  client = stream();
  CHECK(encrypt(client, "key=%s\ntrust=%s", "FILE_A", "KEY_A") == 0);
  FAILS(join(client), EACCES);
  CHECK(close(client) == 0);
  client = stream();
  CHECK(encrypt(client, "key=%s\n", "FILE_A", NULL) == 0);
  FAILS(join(client), ENOKEY);
  CHECK(close(client) == 0);
  /* Without waiting, the error is that of the socket. */
  client = stream();
  CHECK(encrypt(client, "key=%s\ntrust=%s", "FILE_B", "KEY_B") == 0 && fcntl(client, F_SETFL, O_NONBLOCK) == 0);
  FAILS(join(client), EINPROGRESS);
  CHECK(events(client, POLLOUT, 10000) & POLLOUT);
  int error = 0;
  CHECK(getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error}) == 0 && error == EKEYREJECTED);
  CHECK(close(client) == 0 && close(listening) == 0);
}

/* A peer is in the clear only if it is listed, and a socket is one or the other. */
static void listed(void) {
  int plain = bound(SOCK_STREAM, &at), client = stream();
  CHECK(listen(plain, 5) == 0);
  CHECK(encrypt(client, "key=%s\nclear=127.0.0.1\n", "FILE_A", NULL) == 0 && join(client) == 0);
  int accepted = accept(plain, NULL, NULL);
  peer_has(client, 0, NULL), peer_has(accepted, 0, NULL);
  CHECK(close(client) == 0 && close(accepted) == 0 && close(plain) == 0);

  /* A clear peer gets no answer of a sealed socket. */
  int listening = server(SOCK_STREAM);
  client = stream();
  struct sctp_rtoinfo times = {.srto_initial = 50, .srto_max = 50, .srto_min = 50};
  struct sctp_initmsg init = {.sinit_max_attempts = 2};
  CHECK(SET(client, SCTP_RTOINFO, times) == 0 && SET(client, SCTP_INITMSG, init) == 0);
  FAILS(join(client), ETIMEDOUT);
  CHECK(close(client) == 0);

  int many = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
  struct sockaddr_in clear = loopback("127.0.0.2", ntohs(at.sin_port));
  CHECK(encrypt(many, "key=%s\ntrust=%s\nclear=127.0.0.2", "FILE_B", "KEY_A") == 0);
  /* Nobody is there: refused at once, or later. */
  int sent = sctp_sendmsg(many, "x", 1, (struct sockaddr *)&clear, sizeof clear, 0, 0, 0, 0, 0);
  CHECK(sent == 1 || errno == ECONNREFUSED);
  FAILS(sctp_sendmsg(many, "x", 1, (struct sockaddr *)&at, sizeof at, 0, 0, 0, 0, 0), EACCES);
  FAILS(listen(many, 5), EACCES);
  CHECK(close(many) == 0 && close(listening) == 0);

  client = stream();
  FAILS(encrypt(client, "key=/missing%.0s", "FILE_A", NULL), EINVAL);
  FAILS(encrypt(client, "trust=%s", "KEY_A", NULL), EINVAL);
  CHECK(encrypt(client, "", "KEY_A", NULL) == 0 && close(client) == 0);
}

int main(int count, char **arguments) {
  static const struct test_case cases[] = {
      {"pair", pair_of_keys}, {"implicit", implicit}, {"refused", refused}, {"listed", listed}, {NULL, NULL}};
  return run_case(count, arguments, cases);
}
