/* The calls of programs of mobile networks that are not packaged, in their order. Usage: packet_core CASE. */
#include "common.h"

/* Open5GS 2.7: options are read and set before there is an association; an error ends the program. */
static int open5gs_socket(void) {
  unsigned char kernels[256];
  socklen_t length = sizeof kernels;
  int asked = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), on = 1;
  /* It learns the length of the structure from the kernel, and sets as much. */
  CHECK(getsockopt(asked, IPPROTO_SCTP, SCTP_EVENTS, kernels, &length) == 0 && close(asked) == 0);
  CHECK(length >= 10 && length <= sizeof(struct sctp_event_subscribe));
  struct sctp_event_subscribe wanted = {.sctp_data_io_event = 1, .sctp_association_event = 1, .sctp_send_failure_event = 1, .sctp_shutdown_event = 1};
  CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, &wanted, length) == 0);
  struct sctp_paddrparams path = {0};
  CHECK(GET(fd, SCTP_PEER_ADDR_PARAMS, path) == 0);
  path.spp_hbinterval = 5000;
  CHECK(SET(fd, SCTP_PEER_ADDR_PARAMS, path) == 0);
  struct sctp_rtoinfo rto = {0};
  CHECK(GET(fd, SCTP_RTOINFO, rto) == 0);
  rto.srto_initial = 3000, rto.srto_min = 1000, rto.srto_max = 5000;
  CHECK(SET(fd, SCTP_RTOINFO, rto) == 0);
  struct sctp_initmsg init = {0};
  CHECK(GET(fd, SCTP_INITMSG, init) == 0);
  init.sinit_num_ostreams = 30, init.sinit_max_instreams = 65535, init.sinit_max_attempts = 4, init.sinit_max_init_timeo = 8000;
  CHECK(SET(fd, SCTP_INITMSG, init) == 0 && SET(fd, SCTP_NODELAY, on) == 0);
  return fd;
}

static void open5gs(void) {
  int listening = open5gs_socket(), client = open5gs_socket(), on = 1, flags = 0;
  struct sockaddr_storage from;
  socklen_t length = sizeof at;
  char buffer[8192];
  at = loopback("127.0.0.1", 0);
  CHECK(setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
  CHECK(bind(listening, (struct sockaddr *)&at, sizeof at) == 0 && listen(listening, 5) == 0);
  CHECK(getsockname(listening, (struct sockaddr *)&at, &length) == 0);
  CHECK(connect(client, (struct sockaddr *)&at, sizeof at) == 0);
  length = sizeof from;
  int server = accept(listening, (struct sockaddr *)&from, &length);
  CHECK(server >= 0);
  struct sctp_sndrcvinfo info = {0};
  length = sizeof from;
  union sctp_notification notice;
  CHECK(sctp_recvmsg(server, buffer, sizeof buffer, (struct sockaddr *)&from, &length, &info, &flags) > 0 && (flags & MSG_NOTIFICATION));
  memcpy(&notice, buffer, sizeof notice.sn_assoc_change);
  CHECK(notice.sn_header.sn_type == SCTP_ASSOC_CHANGE && notice.sn_assoc_change.sac_state == SCTP_COMM_UP);
  CHECK(notice.sn_assoc_change.sac_outbound_streams == 30);
  /* NGAP has payload protocol identifier 60. */
  CHECK(sctp_sendmsg(client, "NGSetupRequest", 14, NULL, 0, htonl(60), 0, 1, 0, 0) == 14);
  flags = 0, length = sizeof from;
  CHECK(sctp_recvmsg(server, buffer, sizeof buffer, (struct sockaddr *)&from, &length, &info, &flags) == 14);
  CHECK(info.sinfo_ppid == htonl(60) && info.sinfo_stream == 1 && (flags & MSG_EOR) && !(flags & MSG_NOTIFICATION));
  close(client);
  do flags = 0, length = sizeof from, memset(buffer, 0, sizeof notice);
  while (sctp_recvmsg(server, buffer, sizeof buffer, (struct sockaddr *)&from, &length, &info, &flags) > 0 &&
         (memcpy(&notice, buffer, sizeof notice), notice.sn_header.sn_type != SCTP_SHUTDOWN_EVENT));
  CHECK(notice.sn_header.sn_type == SCTP_SHUTDOWN_EVENT);
}

/* UERANSIM 3.2: IPv6 sockets that are bound to IPv4 addresses, and events of 8 bytes. */
static int ueransim_socket(void) {
  int fd = socket(AF_INET6, SOCK_STREAM, IPPROTO_SCTP);
  struct sctp_initmsg init = {.sinit_num_ostreams = 10, .sinit_max_instreams = 10, .sinit_max_attempts = 10, .sinit_max_init_timeo = 10000};
  unsigned char wanted[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  struct sockaddr_in here = loopback("127.0.0.1", 0);
  CHECK(fd >= 0 && SET(fd, SCTP_INITMSG, init) == 0);
  CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, wanted, sizeof wanted) == 0);
  CHECK(sctp_bindx(fd, (struct sockaddr *)&here, 1, SCTP_BINDX_ADD_ADDR) == 0);
  return fd;
}

static void ueransim(void) {
  int listening = bound(SOCK_STREAM, &at), client = ueransim_socket(), flags = 0;
  CHECK(listen(listening, 5) == 0 && connect(client, (struct sockaddr *)&at, sizeof at) == 0);
  int server = accept(listening, NULL, NULL);
  char buffer[8192];
  struct sctp_rcvinfo unused;
  union sctp_notification notice;
  await(client, SCTP_ASSOC_CHANGE, &notice);
  CHECK(notice.sn_assoc_change.sac_state == SCTP_COMM_UP);
  struct sctp_status status = {.sstat_assoc_id = notice.sn_assoc_change.sac_assoc_id};
  CHECK(GET(client, SCTP_STATUS, status) == 0 && status.sstat_state == SCTP_ESTABLISHED);
  CHECK(status.sstat_instrms == 10 && status.sstat_outstrms == 10);
  CHECK(sctp_sendmsg(server, "NGSetupResponse", 15, NULL, 0, htonl(60), 0, 0, 0, 0) == 15);
  /* Every message has to end with MSG_EOR. */
  do CHECK(receive(client, buffer, sizeof buffer, &unused, &flags) > 0 && (flags & MSG_EOR));
  while (flags & MSG_NOTIFICATION);
  CHECK(memcmp(buffer, "NGSetupResponse", 15) == 0);
}

int main(int count, char **arguments) {
  const struct test_case cases[] = {{"open5gs", open5gs}, {"ueransim", ueransim}, {0}};
  return run_case(count, arguments, cases);
}
