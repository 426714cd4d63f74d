/* Calls that RFC 6458 leaves open, and that Linux and FreeBSD answer differently. Usage: dialect linux|freebsd, as ANABRANCH_DIALECT. */
#include "common.h"

static int error_of(int result) { return result == -1 ? errno : 0; }

static int end_with(int fd, const char *last) {
  struct sctp_sndinfo end = {.snd_flags = SCTP_EOF};
  return sctp_sendv(fd, &(struct iovec){(void *)last, strlen(last)}, 1, NULL, 0, &end, sizeof end, SCTP_SENDV_SNDINFO, 0);
}

static void answers(int is_linux) {
  int many = bound(SOCK_SEQPACKET, &at), client, server, peer = listener(), seconds = 7;
  uint32_t count;
  char buffer[100];
  CHECK(error_of(shutdown(many, SHUT_WR)) == (is_linux ? 0 : EOPNOTSUPP));
  CHECK(connect(many, (struct sockaddr *)&at, sizeof at) == 0);
  CHECK(error_of(connect(many, (struct sockaddr *)&at, sizeof at)) == (is_linux ? EISCONN : EALREADY));
  CHECK(error_of(send(many, "x", 1, MSG_NOSIGNAL)) == (is_linux ? EPIPE : ENOENT));
  CHECK(error_of(send(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), "x", 1, MSG_NOSIGNAL)) == (is_linux ? EPIPE : ENOENT));
  pair(&client, &server);
  CHECK(error_of(SET(client, SCTP_AUTOCLOSE, seconds)) == (is_linux ? EOPNOTSUPP : EINVAL));
  CHECK(error_of(GET(client, SCTP_AUTOCLOSE, seconds)) == (is_linux ? EOPNOTSUPP : 0));
  CHECK(is_linux || seconds == 0);
  CHECK(error_of(GET(client, SCTP_GET_ASSOC_NUMBER, count)) == (is_linux ? EOPNOTSUPP : EINVAL));
  CHECK(error_of(GET(client, SCTP_GET_ASSOC_ID_LIST, count)) == (is_linux ? EOPNOTSUPP : EINVAL));
  CHECK(error_of(end_with(client, "last")) == (is_linux ? EINVAL : 0));
  if (is_linux) CHECK(send(client, "last", 4, 0) == 4 && end_with(client, "") == 0);
  CHECK(recv(server, buffer, sizeof buffer, 0) == 4 && recv(server, buffer, sizeof buffer, 0) == 0);
  close(peer);
}

static void linux_answers(void) { answers(1); }
static void freebsd_answers(void) { answers(0); }

int main(int count, char **arguments) {
  const struct test_case cases[] = {{"linux", linux_answers}, {"freebsd", freebsd_answers}, {0}};
  return run_case(count, arguments, cases);
}
