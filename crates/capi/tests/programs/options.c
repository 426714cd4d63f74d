/* Socket options, functions and notifications, one by one. Usage: options CASE. */
#include "common.h"
#include "../../install/anabranch_sctp.h"
#include <signal.h>
#include <stddef.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)

/* The layouts that the library writes. */
SIZE(struct sctp_initmsg, 8);
SIZE(struct sctp_sndrcvinfo, 32); AT(struct sctp_sndrcvinfo, sinfo_flags, 4); AT(struct sctp_sndrcvinfo, sinfo_assoc_id, 28);
SIZE(struct sctp_sndinfo, 16); AT(struct sctp_sndinfo, snd_assoc_id, 12);
SIZE(struct sctp_rcvinfo, 28); AT(struct sctp_rcvinfo, rcv_assoc_id, 24);
SIZE(struct sctp_nxtinfo, 16); AT(struct sctp_nxtinfo, nxt_length, 8);
SIZE(struct sctp_prinfo, 8); AT(struct sctp_prinfo, pr_value, 4);
SIZE(struct sctp_authinfo, 2);
SIZE(struct sctp_sendv_spa, 32); AT(struct sctp_sendv_spa, sendv_prinfo, 20); AT(struct sctp_sendv_spa, sendv_authinfo, 28);
SIZE(struct sctp_recvv_rn, 44);
SIZE(struct sctp_event_subscribe, 14);
SIZE(struct sctp_event, 8); AT(struct sctp_event, se_type, 4); AT(struct sctp_event, se_on, 6);
SIZE(struct sctp_rtoinfo, 16);
SIZE(struct sctp_assocparams, 20); AT(struct sctp_assocparams, sasoc_cookie_life, 16);
SIZE(struct sctp_prim, 132); SIZE(struct sctp_setpeerprim, 132);
SIZE(struct sctp_paddrparams, 156); AT(struct sctp_paddrparams, spp_pathmtu, 138); AT(struct sctp_paddrparams, spp_flags, 146);
SIZE(struct sctp_paddrinfo, 152); AT(struct sctp_paddrinfo, spinfo_state, 132);
SIZE(struct sctp_status, 176); AT(struct sctp_status, sstat_primary, 24);
SIZE(struct sctp_sack_info, 12); SIZE(struct sctp_assoc_value, 8); SIZE(struct sctp_stream_value, 8);
SIZE(struct sctp_authkeyid, 8); AT(struct sctp_authkey, sca_key, 8);
SIZE(struct sctp_paddrthlds, 144); AT(struct sctp_paddrthlds, spt_pathmaxrxt, 136);
SIZE(struct sctp_paddrthlds_v2, 144);
SIZE(struct sctp_udpencaps, 144); AT(struct sctp_udpencaps, sue_port, 136);
SIZE(struct sctp_prstatus, 24); SIZE(struct sctp_default_prinfo, 12);
SIZE(struct sctp_assoc_stats, 256); AT(struct sctp_assoc_stats, sas_maxrto, 136);
SIZE(struct sctp_add_streams, 8); AT(struct sctp_reset_streams, srs_stream_list, 8);
SIZE(struct sctp_assoc_change, 20); SIZE(struct sctp_paddr_change, 148); SIZE(struct sctp_remote_error, 16);
SIZE(struct sctp_send_failed, 48); SIZE(struct sctp_send_failed_event, 32); SIZE(struct sctp_shutdown_event, 12);
SIZE(struct sctp_adaptation_event, 16); SIZE(struct sctp_pdapi_event, 24); SIZE(struct sctp_authkey_event, 20);
SIZE(struct sctp_sender_dry_event, 12); SIZE(struct sctp_stream_reset_event, 12); SIZE(struct sctp_assoc_reset_event, 20);
SIZE(struct sctp_stream_change_event, 16);

/* A pair of one-to-one style sockets; option is called on both before the handshake. */
/* Options that a socket keeps for associations to come: what is set is read. */
static void kept(void) {
  int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), many = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP), number;
  struct sctp_rtoinfo rto = {.srto_initial = 800, .srto_max = 5000, .srto_min = 300}, rto_read = {0};
  CHECK(SET(fd, SCTP_RTOINFO, rto) == 0 && GET(fd, SCTP_RTOINFO, rto_read) == 0);
  CHECK(rto_read.srto_initial == 800 && rto_read.srto_max == 5000 && rto_read.srto_min == 300);
  rto.srto_min = 6000;
  FAILS(SET(fd, SCTP_RTOINFO, rto), EINVAL);
  struct sctp_assocparams params = {.sasoc_asocmaxrxt = 4, .sasoc_cookie_life = 9000}, params_read = {0};
  CHECK(SET(fd, SCTP_ASSOCINFO, params) == 0 && GET(fd, SCTP_ASSOCINFO, params_read) == 0);
  CHECK(params_read.sasoc_asocmaxrxt == 4 && params_read.sasoc_cookie_life == 9000);
  struct sctp_initmsg init = {.sinit_num_ostreams = 77}, init_read;
  CHECK(SET(fd, SCTP_INITMSG, init) == 0 && GET(fd, SCTP_INITMSG, init_read) == 0);
  CHECK(init_read.sinit_num_ostreams == 77 && init_read.sinit_max_instreams == 65535 && init_read.sinit_max_attempts == 8);
  int options[] = {SCTP_NODELAY, SCTP_DISABLE_FRAGMENTS, SCTP_I_WANT_MAPPED_V4_ADDR, SCTP_FRAGMENT_INTERLEAVE,
                   SCTP_RECVRCVINFO, SCTP_RECVNXTINFO, SCTP_ADAPTATION_LAYER};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    for (int value = 0; value < 2; value++)
      CHECK(SET(fd, options[i], value) == 0 && GET(fd, options[i], number) == 0 && number == value);
  number = 3;
  FAILS(SET(fd, SCTP_FRAGMENT_INTERLEAVE, number), EINVAL);
  number = 5000;
  CHECK(SET(fd, SCTP_PARTIAL_DELIVERY_POINT, number) == 0 && GET(fd, SCTP_PARTIAL_DELIVERY_POINT, number) == 0 && number == 5000);
  FAILS(SET(fd, SCTP_AUTOCLOSE, number), EOPNOTSUPP);
  struct sockaddr_in here;
  int on = 1, everywhere = 0, at_one = bound(SOCK_STREAM, &here);
  CHECK(SET(fd, SCTP_AUTO_ASCONF, on) == 0 && GET(fd, SCTP_AUTO_ASCONF, everywhere) == 0 && everywhere == 1);
  FAILS(SET(at_one, SCTP_AUTO_ASCONF, on), EINVAL);
  CHECK(SET(many, SCTP_AUTOCLOSE, number) == 0 && GET(many, SCTP_AUTOCLOSE, number) == 0 && number == 5000);
  struct sctp_paddrparams path = {.spp_hbinterval = 1234, .spp_pathmaxrxt = 3, .spp_flags = SPP_HB_ENABLE}, path_read = {0};
  CHECK(SET(fd, SCTP_PEER_ADDR_PARAMS, path) == 0 && GET(fd, SCTP_PEER_ADDR_PARAMS, path_read) == 0);
  CHECK(path_read.spp_hbinterval == 1234 && path_read.spp_pathmaxrxt == 3 && (path_read.spp_flags & SPP_HB_ENABLE));
  path.spp_flags = SPP_HB_ENABLE | SPP_HB_DISABLE;
  FAILS(SET(fd, SCTP_PEER_ADDR_PARAMS, path), EINVAL);
  struct sctp_paddrthlds limits = {.spt_pathmaxrxt = 6, .spt_pathpfthld = 2}, limits_read = {0};
  CHECK(SET(fd, SCTP_PEER_ADDR_THLDS, limits) == 0 && GET(fd, SCTP_PEER_ADDR_THLDS, limits_read) == 0);
  CHECK(limits_read.spt_pathmaxrxt == 6 && limits_read.spt_pathpfthld == 2);
  struct sctp_sack_info sack = {.sack_delay = 100, .sack_freq = 3}, sack_read = {0};
  CHECK(SET(fd, SCTP_DELAYED_SACK, sack) == 0 && GET(fd, SCTP_DELAYED_SACK, sack_read) == 0);
  CHECK(sack_read.sack_delay == 100 && sack_read.sack_freq == 3);
  struct sctp_udpencaps udp = {.sue_port = htons(9899)}, udp_read = {0};
  CHECK(SET(fd, SCTP_REMOTE_UDP_ENCAPS_PORT, udp) == 0 && GET(fd, SCTP_REMOTE_UDP_ENCAPS_PORT, udp_read) == 0);
  CHECK(udp_read.sue_port == htons(9899));
  int values[] = {SCTP_CONTEXT, SCTP_PR_SUPPORTED, SCTP_RECONFIG_SUPPORTED, SCTP_ENABLE_STREAM_RESET,
                  SCTP_STREAM_SCHEDULER, SCTP_INTERLEAVING_SUPPORTED, SCTP_ASCONF_SUPPORTED, SCTP_ECN_SUPPORTED,
                  SCTP_EXPOSE_POTENTIALLY_FAILED_STATE, SCTP_MAX_BURST};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    struct sctp_assoc_value value = {.assoc_value = 1}, read = {0};
    CHECK(SET(fd, values[i], value) == 0 && GET(fd, values[i], read) == 0 && read.assoc_value == 1);
    CHECK(SET(many, values[i], value) == 0);
  }
  struct sctp_assoc_value longest = {.assoc_value = 1000}, longest_read = {0};
  CHECK(SET(fd, SCTP_MAXSEG, longest) == 0 && GET(fd, SCTP_MAXSEG, longest_read) == 0 && longest_read.assoc_value == 1000);
  longest.assoc_value = 10;
  FAILS(SET(fd, SCTP_MAXSEG, longest), EINVAL);
  struct sctp_assoc_value burst = {.assoc_value = 10001};
  FAILS(SET(fd, SCTP_MAX_BURST, burst), EINVAL);
  burst.assoc_value = 0;
  CHECK(SET(fd, SCTP_MAX_BURST, burst) == 0 && GET(fd, SCTP_MAX_BURST, burst) == 0 && burst.assoc_value == 0);
  struct sctp_assoc_value interleaved = {.assoc_value = 1};
  number = 0;
  CHECK(SET(many, SCTP_FRAGMENT_INTERLEAVE, number) == 0);
  CHECK(GET(many, SCTP_INTERLEAVING_SUPPORTED, interleaved) == 0 && interleaved.assoc_value == 0);
  interleaved.assoc_value = 1;
  FAILS(SET(many, SCTP_INTERLEAVING_SUPPORTED, interleaved), EPERM);
  struct sctp_default_prinfo reliability = {.pr_policy = SCTP_PR_SCTP_RTX, .pr_value = 2}, reliability_read = {0};
  CHECK(SET(fd, SCTP_DEFAULT_PRINFO, reliability) == 0 && GET(fd, SCTP_DEFAULT_PRINFO, reliability_read) == 0);
  CHECK(reliability_read.pr_policy == SCTP_PR_SCTP_RTX && reliability_read.pr_value == 2);
  struct sctp_sndinfo defaults = {.snd_sid = 3, .snd_ppid = 9}, defaults_read = {0};
  CHECK(SET(fd, SCTP_DEFAULT_SNDINFO, defaults) == 0 && GET(fd, SCTP_DEFAULT_SNDINFO, defaults_read) == 0);
  CHECK(defaults_read.snd_sid == 3 && defaults_read.snd_ppid == 9);
  struct sctp_sndrcvinfo old = {0};
  CHECK(GET(fd, SCTP_DEFAULT_SEND_PARAM, old) == 0 && old.sinfo_stream == 3 && SET(fd, SCTP_DEFAULT_SEND_PARAM, old) == 0);
  /* Programs with older headers: SCTP_EVENTS with any known length. */
  unsigned char events[20] = {1, 1};
  for (socklen_t length = 8; length <= 14; length++) {
    socklen_t got = length;
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, events, length) == 0);
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, events, &got) == 0 && got == length && events[1] == 1);
  }
  FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_EVENTS, events, 15), EINVAL);
  struct sctp_event event = {.se_type = SCTP_SENDER_DRY_EVENT, .se_on = 1}, event_read = {.se_type = SCTP_SENDER_DRY_EVENT};
  CHECK(SET(fd, SCTP_EVENT, event) == 0 && GET(fd, SCTP_EVENT, event_read) == 0 && event_read.se_on == 1);
  struct { struct sctp_hmacalgo head; uint16_t list[4]; } hmacs;
  CHECK(GET(fd, SCTP_HMAC_IDENT, hmacs) == 0 && hmacs.head.shmac_num_idents == 2);
  struct { struct sctp_authkey head; char secret[4]; } key = {{.sca_keynumber = 5, .sca_keylength = 4}, "abcd"};
  struct sctp_authkeyid active = {.scact_keynumber = 5};
  CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_KEY, &key, 12) == 0 && SET(fd, SCTP_AUTH_ACTIVE_KEY, active) == 0);
  FAILS(SET(fd, SCTP_AUTH_DELETE_KEY, active), EINVAL);
  struct sctp_authchunk chunk = {.sauth_chunk = 0};
  struct { struct sctp_authchunks head; uint8_t kinds[10]; } chunks = {0};
  CHECK(SET(fd, SCTP_AUTH_CHUNK, chunk) == 0 && GET(fd, SCTP_LOCAL_AUTH_CHUNKS, chunks) == 0);
  CHECK(chunks.head.gauth_number_of_chunks >= 1 && chunks.kinds[0] == 0);
  FAILS(SET(fd, SCTP_PLPMTUD_PROBE_INTERVAL, number), ENOPROTOOPT);
  FAILS(GET(fd, SCTP_PEER_AUTH_CHUNKS, chunks), EINVAL);
  number = 1;
  FAILS(SET(fd, SCTP_REUSE_PORT, number), ENOPROTOOPT);
}

/* Policies by name: what other options have changed stays. */
static void policies(void) {
  int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), client, server;
  char text[4096], short_text[10];
  socklen_t length = sizeof text;
  struct sctp_rtoinfo rto = {.srto_initial = 400, .srto_min = 300, .srto_max = 900}, rto_read = {0};
  struct sctp_assoc_value ecn = {0};
  const char *wanted = "profile=cmt cc=lia ecn=on";
  CHECK(SET(fd, SCTP_RTOINFO, rto) == 0);
  CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_ANABRANCH_POLICIES, wanted, strlen(wanted)) == 0);
  CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_ANABRANCH_POLICIES, text, &length) == 0 && length == strlen(text) + 1);
  CHECK(strstr(text, "cc=lia") && strstr(text, "ecn=on") && strstr(text, "burst=max-burst"));
  CHECK(GET(fd, SCTP_RTOINFO, rto_read) == 0 && rto_read.srto_max == 900);
  CHECK(GET(fd, SCTP_ECN_SUPPORTED, ecn) == 0 && ecn.assoc_value == 1);
  FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_ANABRANCH_POLICIES, "cc=quic", 7), EINVAL);
  FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_ANABRANCH_POLICIES, "cc", 2), EINVAL);
  FAILS(GET(fd, SCTP_ANABRANCH_POLICIES, short_text), EINVAL);
  pair(&client, &server);
  FAILS(setsockopt(client, IPPROTO_SCTP, SCTP_ANABRANCH_POLICIES, wanted, strlen(wanted)), ENOPROTOOPT);
}

/* Scheduling policies change while an association exists, and the sender queue is told by stream. */
static void mapped(void) {
  static char buffer[100000];
  const char *wanted = "stream-scheduler=fixed-map stream-scheduler.map=0,0";
  union {
    struct sctp_sndqueueinfo queue;
    uint32_t words[4 + 10];
  } all = {{0}}, some = {{0}};
  int client, server;
  pair(&client, &server);
  CHECK(GET(client, SCTP_SQINFO, all) == 0 && all.queue.sq_total_queued == 0 && all.queue.sq_number_of_streams == 10);
  CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_ANABRANCH_POLICIES, wanted, strlen(wanted)) == 0);
  char now[4096];
  CHECK(GET(client, SCTP_ANABRANCH_POLICIES, now) == 0 && strstr(now, "stream-scheduler=fixed-map") && strstr(now, "stream-scheduler.map=0,0"));
  /* Congestion control cannot change any more. */
  FAILS(setsockopt(client, IPPROTO_SCTP, SCTP_ANABRANCH_POLICIES, "cc=lia", 6), ENOPROTOOPT);
  /* The peer does not read, so that much is not sent. */
  CHECK(fcntl(client, F_SETFL, O_NONBLOCK) == 0);
  for (int i = 0; i < 200 && sctp_sendmsg(client, buffer, sizeof buffer, NULL, 0, 0, 0, i % 2 * 3, 0, 0) > 0; i++) continue;
  CHECK(GET(client, SCTP_SQINFO, all) == 0 && all.queue.sq_total_queued > 0 && all.queue.sq_total_queued <= all.queue.sq_queue_limit);
  CHECK(all.words[4 + 0] + all.words[4 + 3] > 0 && all.words[4 + 1] == 0);
  CHECK(all.words[4 + 0] + all.words[4 + 3] <= all.queue.sq_total_queued);
  /* As many streams as there is room for. */
  socklen_t length = 16 + 2 * 4;
  CHECK(getsockopt(client, IPPROTO_SCTP, SCTP_SQINFO, &some, &length) == 0 && length == 24 && some.queue.sq_number_of_streams == 2);
  length = 12;
  FAILS(getsockopt(client, IPPROTO_SCTP, SCTP_SQINFO, &some, &length), EINVAL);
}

/* Options of an association that exists. */
static void present(void) {
  int client, server;
  pair(&client, &server);
  struct sctp_status status = {0};
  CHECK(GET(client, SCTP_STATUS, status) == 0 && status.sstat_state == SCTP_ESTABLISHED && status.sstat_outstrms == 10);
  struct sctp_paddrinfo info = status.sstat_primary;
  CHECK(GET(client, SCTP_GET_PEER_ADDR_INFO, info) == 0 && info.spinfo_state == SCTP_ACTIVE && info.spinfo_mtu > 1000);
  struct sctp_prim primary = {0};
  CHECK(GET(client, SCTP_PRIMARY_ADDR, primary) == 0 && SET(client, SCTP_PRIMARY_ADDR, primary) == 0);
  ((struct sockaddr_in *)&primary.ssp_addr)->sin_addr.s_addr = htonl(0x01020304);
  FAILS(SET(client, SCTP_PRIMARY_ADDR, primary), EINVAL);
  struct sctp_paddrparams path = {.spp_flags = SPP_HB_DEMAND};
  CHECK(SET(client, SCTP_PEER_ADDR_PARAMS, path) == 0);
  /* Protocol parameters change while the association exists. */
  struct sctp_rtoinfo rto = {.srto_initial = 700, .srto_min = 500, .srto_max = 900}, rto_read = {0};
  CHECK(SET(client, SCTP_RTOINFO, rto) == 0 && GET(client, SCTP_RTOINFO, rto_read) == 0 && rto_read.srto_max == 900);
  CHECK(GET(client, SCTP_GET_PEER_ADDR_INFO, info) == 0 && info.spinfo_rto >= 500 && info.spinfo_rto <= 900);
  struct sctp_assocparams params = {.sasoc_asocmaxrxt = 4}, params_read = {0};
  CHECK(SET(client, SCTP_ASSOCINFO, params) == 0 && GET(client, SCTP_ASSOCINFO, params_read) == 0 && params_read.sasoc_asocmaxrxt == 4);
  struct sctp_sack_info sack = {.sack_delay = 100, .sack_freq = 3}, sack_read = {0};
  CHECK(SET(client, SCTP_DELAYED_SACK, sack) == 0 && GET(client, SCTP_DELAYED_SACK, sack_read) == 0 && sack_read.sack_delay == 100);
  struct sctp_paddrthlds limits = {.spt_pathmaxrxt = 3, .spt_pathpfthld = 1}, limits_read = {0};
  CHECK(SET(client, SCTP_PEER_ADDR_THLDS, limits) == 0 && GET(client, SCTP_PEER_ADDR_THLDS, limits_read) == 0 && limits_read.spt_pathmaxrxt == 3);
  struct sctp_assoc_value burst = {.assoc_value = 9};
  CHECK(SET(client, SCTP_MAX_BURST, burst) == 0);
  path = (struct sctp_paddrparams){.spp_address = info.spinfo_address};
  CHECK(GET(client, SCTP_PEER_ADDR_PARAMS, path) == 0);
  path.spp_hbinterval = 4321;
  CHECK(SET(client, SCTP_PEER_ADDR_PARAMS, path) == 0 && GET(client, SCTP_PEER_ADDR_PARAMS, path) == 0 && path.spp_hbinterval == 4321);
  path.spp_pathmtu = 1000, path.spp_flags = SPP_PMTUD_DISABLE;
  FAILS(SET(client, SCTP_PEER_ADDR_PARAMS, path), ENOPROTOOPT);
  struct sctp_assoc_value fragments = {.assoc_value = 1000};
  CHECK(SET(client, SCTP_MAXSEG, fragments) == 0 && GET(client, SCTP_MAXSEG, fragments) == 0 && fragments.assoc_value == 1000);
  fragments.assoc_value = 0;
  CHECK(SET(client, SCTP_MAXSEG, fragments) == 0);
  int whole = 5000;
  CHECK(SET(server, SCTP_PARTIAL_DELIVERY_POINT, whole) == 0 && GET(server, SCTP_PARTIAL_DELIVERY_POINT, whole) == 0 && whole == 5000);
  struct sctp_assoc_value scheduler = {.assoc_value = SCTP_SS_PRIO};
  CHECK(SET(client, SCTP_STREAM_SCHEDULER, scheduler) == 0 && GET(client, SCTP_STREAM_SCHEDULER, scheduler) == 0);
  CHECK(scheduler.assoc_value == SCTP_SS_PRIO);
  struct sctp_assoc_stats counts = {0};
  CHECK(send(client, "x", 1, 0) == 1 && GET(client, SCTP_GET_ASSOC_STATS, counts) == 0 && counts.sas_opackets >= 2);
  struct sctp_prstatus abandoned = {.sprstat_policy = 0x80};
  CHECK(GET(client, SCTP_PR_ASSOC_STATUS, abandoned) == 0 && abandoned.sprstat_abandoned_sent == 0);
  CHECK(GET(client, SCTP_PR_STREAM_STATUS, abandoned) == 0);
  struct sctp_stream_value value = {.stream_id = 1, .stream_value = 2};
  CHECK(SET(client, SCTP_STREAM_SCHEDULER_VALUE, value) == 0);
  value.stream_value = 0;
  CHECK(GET(client, SCTP_STREAM_SCHEDULER_VALUE, value) == 0 && value.stream_id == 1 && value.stream_value == 2);
  scheduler.assoc_value = 4; /* Weighted fair queueing, SCTP_SS_WFQ of later headers. */
  CHECK(SET(client, SCTP_STREAM_SCHEDULER, scheduler) == 0 && GET(client, SCTP_STREAM_SCHEDULER_VALUE, value) == 0 && value.stream_value == 1);
  value.stream_id = 60000;
  FAILS(GET(client, SCTP_STREAM_SCHEDULER_VALUE, value), EINVAL);
  struct sctp_assoc_value supported = {0};
  CHECK(GET(client, SCTP_PR_SUPPORTED, supported) == 0 && supported.assoc_value == 1);
  uint32_t number;
  FAILS(GET(client, SCTP_GET_ASSOC_NUMBER, number), EOPNOTSUPP);
  char big[3000] = "";
  number = 1;
  CHECK(SET(client, SCTP_DISABLE_FRAGMENTS, number) == 0);
  struct sctp_paddrinfo now = status.sstat_primary;
  CHECK(GET(client, SCTP_GET_PEER_ADDR_INFO, now) == 0);
  if (now.spinfo_mtu < sizeof big) FAILS(send(client, big, sizeof big, 0), EMSGSIZE);
  struct sockaddr *list;
  CHECK(sctp_getladdrs(client, 0, &list) >= 1 && sctp_freeladdrs(list) == 0);
  CHECK(sctp_getpaddrs(client, 0, &list) >= 1 && ((struct sockaddr_in *)list)->sin_port == at.sin_port);
  sctp_freepaddrs(list);
  CHECK(sctp_getaddrlen(AF_INET) == 16 && sctp_getaddrlen(AF_INET6) == 28);
  FAILS(sctp_getaddrlen(AF_UNIX), EINVAL);
}

static void everything(int fd) {
  for (int type = SCTP_ASSOC_CHANGE; type <= SCTP_SEND_FAILED_EVENT; type++) subscribe(fd, type);
  uint32_t code = 4711;
  CHECK(SET(fd, SCTP_ADAPTATION_LAYER, code) == 0);
}

/* Notifications of what both ends do. */
static void told(void) {
  int client, server;
  union sctp_notification notice;
  pair_with(&client, &server, everything);
  await(server, SCTP_ASSOC_CHANGE, &notice);
  CHECK(notice.sn_assoc_change.sac_state == SCTP_COMM_UP);
  await(server, SCTP_ADAPTATION_INDICATION, &notice);
  CHECK(notice.sn_adaptation_event.sai_adaptation_ind == 4711);
  await(client, SCTP_PEER_ADDR_CHANGE, &notice);
  CHECK(notice.sn_paddr_change.spc_state == SCTP_ADDR_CONFIRMED);
  CHECK(((struct sockaddr_in *)&notice.sn_paddr_change.spc_aaddr)->sin_port == at.sin_port);
  /* The sender is dry at once, and again after each message. */
  await(client, SCTP_SENDER_DRY_EVENT, &notice);
  CHECK(send(client, "x", 1, 0) == 1);
  await(client, SCTP_SENDER_DRY_EVENT, &notice);
  struct { struct sctp_reset_streams head; uint16_t list[2]; } reset = {{.srs_flags = SCTP_STREAM_RESET_OUTGOING, .srs_number_streams = 2}, {1, 2}};
  CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_RESET_STREAMS, &reset, 12) == 0);
  await(client, SCTP_STREAM_RESET_EVENT, &notice);
  CHECK(notice.sn_strreset_event.strreset_flags == SCTP_STREAM_RESET_OUTGOING_SSN && notice.sn_header.sn_length == 16);
  await(server, SCTP_STREAM_RESET_EVENT, &notice);
  CHECK(notice.sn_strreset_event.strreset_flags == SCTP_STREAM_RESET_INCOMING_SSN);
  struct sctp_add_streams add = {.sas_outstrms = 3};
  CHECK(SET(client, SCTP_ADD_STREAMS, add) == 0);
  await(client, SCTP_STREAM_CHANGE_EVENT, &notice);
  CHECK(notice.sn_strchange_event.strchange_outstrms == 13);
  await(server, SCTP_STREAM_CHANGE_EVENT, &notice);
  CHECK(notice.sn_strchange_event.strchange_instrms == 13);
  sctp_assoc_t id = 0;
  CHECK(SET(client, SCTP_RESET_ASSOC, id) == 0);
  await(client, SCTP_ASSOC_RESET_EVENT, &notice);
  await(server, SCTP_ASSOC_RESET_EVENT, &notice);
  close(client);
  await(server, SCTP_SHUTDOWN_EVENT, &notice);
  await(server, SCTP_ASSOC_CHANGE, &notice);
  CHECK(notice.sn_assoc_change.sac_state == SCTP_SHUTDOWN_COMP);
}

static void receives_nothing(int fd) {
  int small = 5000;
  CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
  subscribe(fd, SCTP_SEND_FAILED_EVENT);
}

/* A message whose lifetime ends before it can be sent comes back, with its data. */
static void failed(void) {
  int client, server;
  char buffer[1000] = "", back[2000];
  struct sctp_rcvinfo info;
  pair_with(&client, &server, receives_nothing);
  struct sctp_sendv_spa spa = {.sendv_flags = SCTP_SEND_SNDINFO_VALID | SCTP_SEND_PRINFO_VALID,
    .sendv_sndinfo = {.snd_sid = 2, .snd_context = 99}, .sendv_prinfo = {.pr_policy = SCTP_PR_SCTP_TTL, .pr_value = 30}};
  for (int i = 0; i < 100; i++)
    CHECK(sctp_sendv(client, &(struct iovec){buffer, 1000}, 1, NULL, 0, &spa, sizeof spa, SCTP_SENDV_SPA, 0) == 1000);
  int flags = 0;
  CHECK(receive(client, back, sizeof back, &info, &flags) == sizeof(struct sctp_send_failed_event) + 1000);
  struct sctp_send_failed_event *event = (void *)back;
  CHECK((flags & MSG_NOTIFICATION) && event->ssf_type == SCTP_SEND_FAILED_EVENT && event->ssfe_info.snd_context == 99);
  CHECK(event->ssfe_info.snd_sid == 2);
}

static void receives_little(int fd) {
  int small = 20000, point = 5000;
  CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
  CHECK(SET(fd, SCTP_PARTIAL_DELIVERY_POINT, point) == 0);
  subscribe(fd, SCTP_SEND_FAILED_EVENT), subscribe(fd, SCTP_PARTIAL_DELIVERY_EVENT);
}

/* A message of which parts have been read is abandoned by its sender. */
static void cutoff(void) {
  static char buffer[300000];
  int client, server, flags = 0;
  struct sctp_rcvinfo info;
  union sctp_notification notice;
  pair_with(&client, &server, receives_little);
  /* Long enough for its first part to arrive on a busy machine. */
  CHECK(sctp_sendmsg(client, buffer, sizeof buffer, NULL, 0, 0, 0, 6, 2000, 0) == sizeof buffer);
  CHECK(receive(server, buffer, 1000, &info, &flags) == 1000 && !(flags & (MSG_EOR | MSG_NOTIFICATION)));
  await(client, SCTP_SEND_FAILED_EVENT, &notice);
  await(server, SCTP_PARTIAL_DELIVERY_EVENT, &notice);
  CHECK(notice.sn_pdapi_event.pdapi_indication == SCTP_PARTIAL_DELIVERY_ABORTED && notice.sn_pdapi_event.pdapi_stream == 6);
  CHECK(send(client, "next", 4, 0) == 4 && data(server, buffer, sizeof buffer, &info) == 4);
}

/* What comes next, beside what is received. */
static void next(void) {
  int client, server, on = 1;
  pair(&client, &server);
  CHECK(SET(server, SCTP_RECVRCVINFO, on) == 0 && SET(server, SCTP_RECVNXTINFO, on) == 0);
  CHECK(sctp_sendmsg(client, "one", 3, NULL, 0, htonl(1), 0, 4, 0, 0) == 3);
  CHECK(sctp_sendmsg(client, "three", 5, NULL, 0, htonl(2), 0, 5, 0, 0) == 5);
  struct sctp_recvv_rn both;
  char buffer[100];
  int waiting = 0, flags = MSG_PEEK;
  /* Until the second has arrived. */
  while (waiting != 5) {
    struct sctp_status status;
    CHECK(GET(client, SCTP_STATUS, status) == 0);
    socklen_t length = sizeof both;
    unsigned type = 0;
    flags = 0;
    CHECK(sctp_sendmsg(client, "three", 5, NULL, 0, htonl(2), 0, 5, 0, 0) == 5);
    CHECK(sctp_recvv(server, &(struct iovec){buffer, 100}, 1, NULL, NULL, &both, &length, &type, &flags) >= 3);
    if (type == SCTP_RECVV_RN) waiting = both.recvv_nxtinfo.nxt_length;
  }
  CHECK(both.recvv_nxtinfo.nxt_sid == 5 && both.recvv_nxtinfo.nxt_ppid == htonl(2) && (flags & MSG_EOR));
}

/* Two addresses at each end. */
static void multihomed(void) {
  int server = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP), client = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  struct sockaddr_in all[2] = {loopback("127.0.0.1", 0), loopback("127.0.0.2", 0)}, third = loopback("127.0.0.3", 0);
  CHECK(sctp_bindx(server, (struct sockaddr *)all, 1, SCTP_BINDX_ADD_ADDR) == 0);
  socklen_t length = sizeof all[0];
  CHECK(getsockname(server, (struct sockaddr *)&all[0], &length) == 0);
  CHECK(sctp_bindx(server, (struct sockaddr *)&all[1], 1, SCTP_BINDX_ADD_ADDR) == 0);
  CHECK(sctp_bindx(server, (struct sockaddr *)&third, 1, SCTP_BINDX_ADD_ADDR) == 0);
  CHECK(sctp_bindx(server, (struct sockaddr *)&third, 1, SCTP_BINDX_REM_ADDR) == 0);
  FAILS(sctp_bindx(server, (struct sockaddr *)&third, 1, SCTP_BINDX_REM_ADDR), EADDRNOTAVAIL);
  all[1].sin_port = all[0].sin_port;
  CHECK(listen(server, 5) == 0);
  struct sockaddr *list;
  CHECK(sctp_getladdrs(server, 0, &list) == 2 && ((struct sockaddr_in *)list)[1].sin_addr.s_addr == all[1].sin_addr.s_addr);
  sctp_freeladdrs(list);
  struct sockaddr_in ours[2] = {loopback("127.0.0.4", 0), loopback("127.0.0.5", 0)};
  CHECK(sctp_bindx(client, (struct sockaddr *)ours, 2, SCTP_BINDX_ADD_ADDR) == 0);
  sctp_assoc_t id = 0;
  CHECK(sctp_connectx(client, (struct sockaddr *)all, 2, &id) == 0 && id > SCTP_ALL_ASSOC);
  CHECK(sctp_getpaddrs(client, id, &list) == 2);
  sctp_freepaddrs(list);
  CHECK(sctp_getladdrs(client, id, &list) == 2);
  sctp_freeladdrs(list);
  CHECK(send(client, "two paths", 9, 0) == 9);
  /* The identifier is told also while the handshake goes on. */
  struct { sctp_assoc_t id; int length; struct sockaddr *list; } to = {0, sizeof all, (struct sockaddr *)all};
  int late = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_SCTP);
  length = sizeof to;
  FAILS(getsockopt(late, IPPROTO_SCTP, SCTP_SOCKOPT_CONNECTX3, &to, &length), EINPROGRESS);
  CHECK(to.id > SCTP_ALL_ASSOC && length == sizeof to.id);
}

static void often(int fd) {
  struct sctp_rtoinfo rto = {.srto_initial = 20, .srto_max = 20, .srto_min = 10};
  struct sctp_paddrparams path = {.spp_hbinterval = 1, .spp_flags = SPP_HB_ENABLE};
  CHECK(SET(fd, SCTP_RTOINFO, rto) == 0 && SET(fd, SCTP_PEER_ADDR_PARAMS, path) == 0);
}

static void quiet(int fd) {
  struct sctp_paddrparams path = {.spp_flags = SPP_HB_DISABLE};
  often(fd);
  CHECK(SET(fd, SCTP_PEER_ADDR_PARAMS, path) == 0);
}

/* Packets that a socket has sent: everything that an idle association sends is a heartbeat or its answer. */
static unsigned long long sent(int fd) {
  struct sctp_assoc_stats stats = {0};
  CHECK(GET(fd, SCTP_GET_ASSOC_STATS, stats) == 0);
  return stats.sas_opackets;
}

/* SPP_HB_DISABLE before the handshake holds after it. */
static void heartbeats(void) {
  int ends[2][2];
  struct sctp_paddrparams path = {.spp_hbinterval = 86400001};
  pair_with(&ends[0][0], &ends[0][1], often), pair_with(&ends[1][0], &ends[1][1], quiet);
  /* What follows the handshake, such as the search for the path MTU, ends soon. */
  unsigned long long before = 0;
  for (int rounds = 0; sent(ends[1][0]) != before; rounds++) {
    CHECK(rounds < 20);
    before = sent(ends[1][0]);
    for (unsigned long long begin = sent(ends[0][0]); sent(ends[0][0]) < begin + 50;) usleep(1000);
  }
  int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  FAILS(SET(fd, SCTP_PEER_ADDR_PARAMS, path), EINVAL);
  path.spp_hbinterval--;
  CHECK(SET(fd, SCTP_PEER_ADDR_PARAMS, path) == 0);
}

/* Data has to be authenticated, by key 5 at first. */
static void with_keys(int fd) {
  struct sctp_authchunk chunk = {.sauth_chunk = 0};
  struct { struct sctp_authkey head; char secret[4]; } key = {{.sca_keynumber = 5, .sca_keylength = 4}, "five"};
  struct sctp_authkeyid active = {.scact_keynumber = 5};
  CHECK(SET(fd, SCTP_AUTH_CHUNK, chunk) == 0 && setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_KEY, &key, 12) == 0);
  key.head.sca_keynumber = 6;
  CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_KEY, &key, 12) == 0 && SET(fd, SCTP_AUTH_ACTIVE_KEY, active) == 0);
  subscribe(fd, SCTP_AUTHENTICATION_EVENT);
}

static void without(int fd) {
  struct sctp_assoc_value off = {0};
  CHECK(SET(fd, SCTP_ASCONF_SUPPORTED, off) == 0);
}

/* Sends a message that is authenticated by this key. */
static int named(int fd, int key) {
  struct sctp_authinfo info = {.auth_keynumber = key};
  return sctp_sendv(fd, &(struct iovec){"key", 3}, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_AUTHINFO, 0);
}

/* A key that is deactivated is free as soon as no message needs it, and still authenticates what the peer sends. */
static void keys(void) {
  int client, server;
  char buffer[100];
  struct sctp_rcvinfo info;
  union sctp_notification notice;
  struct sctp_authkeyid five = {.scact_keynumber = 5}, six = {.scact_keynumber = 6};
  pair_with(&client, &server, with_keys);
  CHECK(send(client, "five", 4, 0) == 4 && data(server, buffer, 100, &info) == 4);
  /* The peer demands what it was told to, and address changes. */
  struct { struct sctp_authchunks head; uint8_t kinds[10]; } chunks = {0};
  CHECK(GET(client, SCTP_PEER_AUTH_CHUNKS, chunks) == 0 && chunks.head.gauth_number_of_chunks >= 1 && chunks.kinds[0] == 0);
  socklen_t room = 8;
  FAILS(getsockopt(client, IPPROTO_SCTP, SCTP_PEER_AUTH_CHUNKS, &chunks, &room), EINVAL);
  /* A message names another key than the active one. */
  CHECK(named(client, 6) == 3);
  do await(server, SCTP_AUTHENTICATION_EVENT, &notice);
  while (notice.sn_authkey_event.auth_keynumber != 6);
  FAILS(named(client, 7), EINVAL);
  FAILS(SET(client, SCTP_AUTH_DEACTIVATE_KEY, five), EINVAL);
  CHECK(SET(client, SCTP_AUTH_ACTIVE_KEY, six) == 0 && SET(client, SCTP_AUTH_DEACTIVATE_KEY, five) == 0);
  do await(client, SCTP_AUTHENTICATION_EVENT, &notice);
  while (notice.sn_authkey_event.auth_indication != SCTP_AUTH_FREE_KEY);
  CHECK(notice.sn_authkey_event.auth_keynumber == 5);
  FAILS(SET(client, SCTP_AUTH_ACTIVE_KEY, five), EINVAL);
  FAILS(named(client, 5), EINVAL);
  CHECK(send(server, "still five", 10, 0) == 10 && data(client, buffer, 100, &info) == 10);
  /* The peer of this one does not support authentication. */
  int listening = bound(SOCK_STREAM, &at), fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  without(listening), subscribe(fd, SCTP_AUTHENTICATION_EVENT);
  CHECK(listen(listening, 5) == 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
  await(fd, SCTP_AUTHENTICATION_EVENT, &notice);
  CHECK(notice.sn_authkey_event.auth_indication == SCTP_AUTH_NO_AUTH);
}

/* Functions that lksctp's header does not declare, and that its library lacks. */
__attribute__((weak)) int sctp_sendx(int fd, const void *from, size_t length, struct sockaddr *to, int count, struct sctp_sndrcvinfo *info, int flags);
__attribute__((weak)) sctp_assoc_t sctp_getassocid(int fd, struct sockaddr *peer);

/* Messages with struct sctp_sndrcvinfo: to an association, and to a peer at two addresses. */
static void functions(void) {
  struct sockaddr_in all[2] = {{0}, loopback("127.0.0.2", 0)};
  int server = bound(SOCK_SEQPACKET, &all[0]), client = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP), on = 1;
  struct sctp_rcvinfo info;
  char buffer[100];
  all[1].sin_port = all[0].sin_port;
  CHECK(SET(server, SCTP_RECVRCVINFO, on) == 0 && sctp_bindx(server, (struct sockaddr *)&all[1], 1, SCTP_BINDX_ADD_ADDR) == 0);
  CHECK(listen(server, 5) == 0);
  struct sctp_sndrcvinfo how = {.sinfo_stream = 4, .sinfo_ppid = htonl(9)};
  CHECK(sctp_getassocid(client, (struct sockaddr *)&all[0]) == 0 && errno == ENOENT);
  CHECK(sctp_sendx(client, "first", 5, (struct sockaddr *)all, 2, &how, 0) == 5);
  CHECK(data(server, buffer, 100, &info) == 5 && info.rcv_sid == 4 && info.rcv_ppid == htonl(9));
  sctp_assoc_t id = sctp_getassocid(client, (struct sockaddr *)&all[0]);
  CHECK(id > SCTP_ALL_ASSOC && sctp_getassocid(client, (struct sockaddr *)&all[1]) == id);
  struct sctp_sndrcvinfo later = {.sinfo_stream = 5, .sinfo_assoc_id = id};
  CHECK(sctp_send(client, "second", 6, &later, 0) == 6);
  CHECK(data(server, buffer, 100, &info) == 6 && info.rcv_sid == 5);
  /* The client takes this address for its primary path. */
  struct sctp_setpeerprim primary = {.sspp_assoc_id = info.rcv_assoc_id};
  memcpy(&primary.sspp_addr, &all[1], sizeof all[1]);
  CHECK(SET(server, SCTP_SET_PEER_PRIMARY_ADDR, primary) == 0);
  for (;;) {
    struct sctp_prim now = {.ssp_assoc_id = id};
    CHECK(GET(client, SCTP_PRIMARY_ADDR, now) == 0);
    if (((struct sockaddr_in *)&now.ssp_addr)->sin_addr.s_addr == all[1].sin_addr.s_addr) break;
    usleep(1000);
  }
  primary.sspp_addr.ss_family = AF_UNIX;
  FAILS(SET(server, SCTP_SET_PEER_PRIMARY_ADDR, primary), EAFNOSUPPORT);
}

static int count_locals(int fd, sctp_assoc_t id) {
  struct sockaddr *list;
  int count = sctp_getladdrs(fd, id, &list);
  if (count > 0) sctp_freeladdrs(list);
  return count;
}

static int count_peers(int fd, sctp_assoc_t id) {
  struct sockaddr *list;
  int count = sctp_getpaddrs(fd, id, &list);
  if (count > 0) sctp_freepaddrs(list);
  return count;
}

/* If one peer cannot be told, all associations keep the address. */
static void unbound(void) {
  int server = bound(SOCK_SEQPACKET, &at), clients[2], on = 1;
  struct sockaddr_in second = loopback("127.0.0.2", 0);
  struct sctp_assoc_value off = {0};
  struct sctp_rcvinfo info[2];
  char buffer[100];
  CHECK(SET(server, SCTP_RECVRCVINFO, on) == 0 && sctp_bindx(server, (struct sockaddr *)&second, 1, SCTP_BINDX_ADD_ADDR) == 0);
  CHECK(listen(server, 5) == 0);
  for (int i = 0; i < 2; i++) {
    clients[i] = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(i == 0 || SET(clients[i], SCTP_ASCONF_SUPPORTED, off) == 0);
    CHECK(connect(clients[i], (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(send(clients[i], "hello", 5, 0) == 5 && data(server, buffer, 100, &info[i]) == 5);
    while (count_peers(clients[i], 0) != 2) usleep(1000);
  }
  second.sin_port = at.sin_port;
  FAILS(sctp_bindx(server, (struct sockaddr *)&second, 1, SCTP_BINDX_REM_ADDR), EOPNOTSUPP);
  for (int i = 0; i < 3; i++) {
    struct sctp_sndinfo to = {.snd_assoc_id = info[0].rcv_assoc_id};
    CHECK(send(clients[0], "trip", 4, 0) == 4 && data(server, buffer, 100, &info[0]) == 4);
    CHECK(sctp_sendv(server, &(struct iovec){"trip", 4}, 1, NULL, 0, &to, sizeof to, SCTP_SENDV_SNDINFO, 0) == 4);
    CHECK(recv(clients[0], buffer, 100, 0) == 4);
  }
  CHECK(count_locals(server, 0) == 2 && count_locals(server, info[1].rcv_assoc_id) == 2);
  int tries = 0;
  while (count_locals(server, info[0].rcv_assoc_id) != 2 || count_peers(clients[0], 0) != 2) {
    CHECK(tries++ < 5000);
    usleep(1000);
  }
}

/* The UDP socket of a removed address stays until the new address is confirmed. */
static void departing(void) {
  int ports[2], status;
  char buffer[100];
  CHECK(pipe(ports) == 0);
  pid_t child = fork();
  if (child == 0) {
    CHECK(read(ports[0], &at, sizeof at) == sizeof at);
    int client = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(connect(client, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(send(client, "ready", 5, 0) == 5 && recv(client, buffer, 100, 0) == 4 && send(client, "reply", 5, 0) == 5);
    exit(recv(client, buffer, 100, 0) == 0 ? 0 : 1);
  }
  int listening = bound(SOCK_STREAM, &at), udp = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in second = loopback("127.0.0.2", ntohs(at.sin_port));
  CHECK(listen(listening, 5) == 0 && write(ports[1], &at, sizeof at) == sizeof at);
  int server = accept(listening, NULL, NULL);
  CHECK(recv(server, buffer, 100, 0) == 5 && close(listening) == 0);
  CHECK(kill(child, SIGSTOP) == 0 && waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
  CHECK(sctp_bindx(server, (struct sockaddr *)&second, 1, SCTP_BINDX_ADD_ADDR) == 0);
  CHECK(sctp_bindx(server, (struct sockaddr *)&at, 1, SCTP_BINDX_REM_ADDR) == 0);
  /* By the end of a handshake, the driver has done what it was told. */
  struct sockaddr_in first = at;
  int others[2];
  pair(&others[0], &others[1]);
  FAILS(bind(udp, (struct sockaddr *)&first, sizeof first), EADDRINUSE);
  CHECK(kill(child, SIGCONT) == 0 && send(server, "data", 4, 0) == 4 && recv(server, buffer, 100, 0) == 5);
  for (int tries = 0; bind(udp, (struct sockaddr *)&first, sizeof first) != 0; tries++) {
    CHECK(errno == EADDRINUSE && tries < 20000);
    usleep(1000);
  }
  CHECK(close(server) == 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* IPv6 sockets talk IPv4 too, with mapped addresses or not. */
static void version6(void) {
  int server = socket(AF_INET6, SOCK_STREAM, IPPROTO_SCTP), off = 0;
  struct sockaddr_in6 any = {.sin6_family = AF_INET6}, peer;
  socklen_t length = sizeof any;
  CHECK(setsockopt(server, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0);
  CHECK(bind(server, (struct sockaddr *)&any, sizeof any) == 0 && listen(server, 5) == 0);
  CHECK(getsockname(server, (struct sockaddr *)&any, &length) == 0 && any.sin6_port != 0);
  for (int mapped = 0; mapped < 2; mapped++) {
    CHECK(SET(server, SCTP_I_WANT_MAPPED_V4_ADDR, mapped) == 0);
    struct sockaddr_in to = loopback("127.0.0.1", ntohs(any.sin6_port));
    int client = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(connect(client, (struct sockaddr *)&to, sizeof to) == 0);
    length = sizeof peer;
    int taken = accept(server, (struct sockaddr *)&peer, &length);
    CHECK(taken >= 0 && peer.sin6_family == (mapped ? AF_INET6 : AF_INET) && length == (mapped ? 28 : 16));
    int family = mapped ? AF_INET6 : AF_INET;
    length = sizeof peer;
    CHECK(getpeername(taken, (struct sockaddr *)&peer, &length) == 0 && peer.sin6_family == family);
    length = sizeof peer;
    CHECK(getsockname(taken, (struct sockaddr *)&peer, &length) == 0 && peer.sin6_family == family);
    close(taken), close(client);
  }
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = any.sin6_port};
  int client = socket(AF_INET6, SOCK_STREAM, IPPROTO_SCTP);
  CHECK(connect(client, (struct sockaddr *)&six, sizeof six) == 0 && send(client, "six", 3, 0) == 3);
}

int main(int count, char **arguments) {
  const struct test_case cases[] = {{"kept", kept}, {"present", present}, {"told", told}, {"failed", failed}, {"next", next},
                                    {"multihomed", multihomed}, {"heartbeats", heartbeats}, {"keys", keys}, {"unbound", unbound}, {"departing", departing},
                                    {"version6", version6}, {"functions", functions},
                                    {"policies", policies}, {"mapped", mapped}, {"cutoff", cutoff}, {0}};
  return run_case(count, arguments, cases);
}
