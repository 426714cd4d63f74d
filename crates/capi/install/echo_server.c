/* Sends back what it receives, to any number of peers at once: one-to-many style (RFC 6458 section 3).
 *
 *   cc -o echo_server echo_server.c -lsctp
 *   LD_PRELOAD=libanabranch_sctp.so ./echo_server 5001
 */
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main(int count, char **arguments) {
  if (count != 2) return fprintf(stderr, "usage: %s PORT\n", arguments[0]), 2;
  int fd = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP), on = 1;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
  if (fd < 0 || setsockopt(fd, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) != 0 ||
      bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 10) != 0)
    return perror("echo_server"), 1;
  for (;;) {
    static char buffer[65536];
    struct sctp_rcvinfo from;
    socklen_t length = sizeof from;
    unsigned type = SCTP_RECVV_NOINFO;
    int flags = 0;
    struct iovec part = {buffer, sizeof buffer};
    int received = sctp_recvv(fd, &part, 1, NULL, NULL, &from, &length, &type, &flags);
    if (received < 0) return perror("sctp_recvv"), 1;
    if (type != SCTP_RECVV_RCVINFO) continue;
    struct sctp_sndinfo to = {.snd_sid = from.rcv_sid, .snd_ppid = from.rcv_ppid, .snd_assoc_id = from.rcv_assoc_id};
    part.iov_len = received;
    if (sctp_sendv(fd, &part, 1, NULL, 0, &to, sizeof to, SCTP_SENDV_SNDINFO, 0) < 0) perror("sctp_sendv");
  }
}
