/*
 * How does usrsctp behave with these options? One association, client or server, messages in both directions, and a
 * report as one line of JSON. It says nothing else, so that its figures are those of the stack and not of a terminal.
 *
 * The options, the messages and the report are those of all third-party peers (README.md beside this file); --set reaches
 * every knob of the stack by its name. Built by the tests with: cc -O2 usrsctp_peer.c -lusrsctp -lpthread
 *
 * usrsctp 0.9.5 as Debian has it, and what is done about it:
 * - its header declares knobs that the library lacks (multiple_asconfs, sendall_limit): they are not offered;
 * - a read has no timeout, and a socket must not be closed under a thread that reads: an ABORT is sent as a message
 *   is, and the thread that reads learns of it;
 * - usrsctp_finish() fails while anything lives and may wait for ever on its threads: the process just exits;
 * - it can send over UDP to one port per association: all addresses of the peer have the same;
 * - over IP, it gives all packets the address that was bound last, whichever path they take, so that all SACKs come
 *   back over that one path; here, as in a kernel that has routes, a packet's source is the address on its own path.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <usrsctp.h>

/* Socket options that the stack has and its header does not export. */
#define OPTION_CMT_ON_OFF 0x00001200
#define OPTION_PLUGGABLE_CC 0x00001202

enum { MAX_ADDRESSES = 16, MAX_LENGTHS = 16, MAX_STREAMS = 2048, RECEIVE = 1 << 16 };

enum ending { SHUTDOWN, ABORT, WAIT };

struct options {
	bool connect;
	struct sockaddr_in own[MAX_ADDRESSES], peer[MAX_ADDRESSES];
	int owns, peers;
	uint16_t own_udp, peer_udp, own_port, peer_port;
	uint32_t send, receive, seconds, progress;
	uint32_t length[MAX_LENGTHS], lengths;
	uint16_t streams;
	bool odd_unordered, reset;
	int retransmissions;
	enum ending end;
	int cmt, cc, scheduler, send_buffer, receive_buffer, nodelay;
	/* Chunk types to require authenticated, separated by commas, and the shared key. */
	char *auth;
	const char *key;
	/* Number of further shared keys, which messages use in turn. */
	uint16_t keys;
	/* Length of the parts of messages; 0 for whole messages. */
	uint32_t part;
};

struct report {
	bool connected, finished, aborted;
	uint32_t sent, received;
	uint64_t bytes;
	double first, last;
	int paths;
	char error[160];
};

static struct options options = {
	.own_port = 9899, .peer_port = 9899, .length = { 1000 }, .lengths = 1, .streams = 1, .cmt = -1, .cc = -1,
	.scheduler = -1, .nodelay = 1, .retransmissions = -1, .own = { { .sin_family = AF_INET } }, .owns = 1,
};
static struct report report;
static struct socket *association;

static void
fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(2);
}

static void
note_error(const char *what, int error)
{
	if (report.error[0] == '\0')
		snprintf(report.error, sizeof report.error, "%s: %s", what, strerror(error));
}

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Source addresses */

/* The own address that shares the most leading bits with this one: that of the same path. */
static struct in_addr
own_address_towards(struct in_addr destination)
{
	struct in_addr best = options.own[0].sin_addr;

	for (int at = 1; at < options.owns; at++) {
		struct in_addr own = options.own[at].sin_addr;

		if ((ntohl(own.s_addr) ^ ntohl(destination.s_addr)) < (ntohl(best.s_addr) ^ ntohl(destination.s_addr)))
			best = own;
	}
	return best;
}

/* In place of the C library's, for this is how the stack sends: a raw packet with its IP header, whose checksum is the
 * kernel's work; SCTP's covers no address. Over UDP, the kernel sees to the source itself. */
ssize_t
sendmsg(int socket, const struct msghdr *message, int flags)
{
	if (options.peer_udp == 0 && message->msg_iovlen > 0 && message->msg_iov[0].iov_len >= sizeof(struct ip)) {
		struct ip *header = message->msg_iov[0].iov_base;

		if (header->ip_v == 4 && header->ip_p == IPPROTO_SCTP)
			header->ip_src = own_address_towards(header->ip_dst);
	}
	return syscall(SYS_sendmsg, socket, message, flags);
}

/* Messages */

static uint32_t
length_of(uint32_t number)
{
	return options.length[number % options.lengths];
}

static uint16_t
stream_of(uint32_t number)
{
	return (uint16_t)(number % options.streams);
}

/* Whether chunks on this stream have a limit of retransmissions. */
static bool
is_unreliable(uint16_t stream)
{
	return options.retransmissions >= 0 && stream % 4 >= 2;
}

/* The number, then bytes that count up from it. */
static void
write_message(uint8_t *bytes, uint32_t number)
{
	uint32_t length = length_of(number);

	for (uint32_t at = 0; at < length; at++)
		bytes[at] = (uint8_t)(number + at);
	for (uint32_t at = 0; at < 4 && at < length; at++)
		bytes[at] = (uint8_t)(number >> (24 - 8 * at));
}

static void
check_message(const uint8_t *bytes, size_t length, uint16_t stream)
{
	static uint32_t next[MAX_STREAMS];
	static bool begun[MAX_STREAMS];
	uint32_t number = 0;

	for (size_t at = 0; at < 4 && at < length; at++)
		number = number << 8 | bytes[at];
	if (length < 4 || length != length_of(number) || stream != stream_of(number)) {
		note_error("a message is not what it should be", EBADMSG);
		return;
	}
	for (size_t at = 4; at < length; at++) {
		if (bytes[at] != (uint8_t)(number + at)) {
			note_error("a message has changed", EBADMSG);
			return;
		}
	}
	bool ordered = !(options.odd_unordered && stream % 2 == 1);
	uint32_t expected = begun[stream] ? next[stream] : stream;
	if (ordered && (is_unreliable(stream) ? number < expected : number != expected))
		note_error("a message came out of its order", EBADMSG);
	begun[stream] = true;
	next[stream] = number + options.streams;
}

/* Ends the association, once: when all is sent and all is received. Called by the thread that sends and the one that
 * receives; the latter learns of the end as of any other. */
static void
end_if_done(bool has_sent_all)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool sent_all, ended;
	struct sctp_sndinfo abort = { .snd_flags = SCTP_ABORT };

	pthread_mutex_lock(&lock);
	sent_all |= has_sent_all;
	if (sent_all && report.received >= options.receive && !ended) {
		ended = true;
		if (options.end == SHUTDOWN && usrsctp_shutdown(association, SHUT_WR) < 0)
			note_error("shutdown", errno);
		if (options.end == ABORT) {
			report.aborted = true;
			usrsctp_sendv(association, "enough", 6, NULL, 0, &abort, sizeof abort, SCTP_SENDV_SNDINFO, 0);
		}
	}
	pthread_mutex_unlock(&lock);
}

/* Asks for a reset of all outgoing streams (RFC 6525). */
static void
reset_streams(void)
{
	struct sctp_reset_streams reset = { .srs_flags = SCTP_STREAM_RESET_OUTGOING };

	if (usrsctp_setsockopt(association, IPPROTO_SCTP, SCTP_RESET_STREAMS, &reset, sizeof reset) < 0)
		note_error("reset", errno);
}

/* Selects the shared key of the next messages. The stack does not accept a key with a message. */
static void
use_key(uint16_t id)
{
	struct sctp_authkeyid key = { .scact_keynumber = id };

	if (usrsctp_setsockopt(association, IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &key, sizeof key) < 0)
		note_error("active key", errno);
}

/* Whether the message is refused because its stream waits for its reset. */
static bool
waits_for_reset(int error)
{
	struct timespec pause = { 0, 1000000L };

	if (!options.reset || error != EAGAIN)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

/* Sends a message, in parts if asked for (SCTP_EXPLICIT_EOR); false if it fails. */
static bool
send_message(const uint8_t *bytes, uint32_t length, struct sctp_sendv_spa *how)
{
	uint32_t part = options.part > 0 ? options.part : length;
	uint16_t flags = how->sendv_sndinfo.snd_flags;

	for (uint32_t at = 0; at < length; at += part) {
		uint32_t rest = length - at;
		bool is_last = rest <= part;

		how->sendv_sndinfo.snd_flags = options.part > 0 && is_last ? flags | SCTP_EOR : flags;
		while (usrsctp_sendv(association, bytes + at, is_last ? rest : part, NULL, 0, how, sizeof *how,
		    SCTP_SENDV_SPA, 0) < 0) {
			if (!waits_for_reset(errno)) {
				note_error("send", errno);
				return false;
			}
		}
	}
	return true;
}

/* Says everything, in a thread of its own: the socket blocks. */
static void *
send_all(void *unused)
{
	uint32_t longest = 0;
	double end = now() + options.seconds;

	(void)unused;
	for (uint32_t at = 0; at < options.lengths; at++)
		longest = options.length[at] > longest ? options.length[at] : longest;
	uint8_t *bytes = malloc(longest);
	for (uint32_t number = 0; options.seconds > 0 ? now() < end : number < options.send; number++) {
		struct sctp_sendv_spa how = { .sendv_flags = SCTP_SEND_SNDINFO_VALID };

		how.sendv_sndinfo.snd_sid = stream_of(number);
		if (options.odd_unordered && stream_of(number) % 2 == 1)
			how.sendv_sndinfo.snd_flags = SCTP_UNORDERED;
		if (is_unreliable(stream_of(number))) {
			how.sendv_flags |= SCTP_SEND_PRINFO_VALID;
			how.sendv_prinfo.pr_policy = SCTP_PR_SCTP_RTX;
			how.sendv_prinfo.pr_value = (uint32_t)options.retransmissions;
		}
		if (options.keys > 0)
			use_key((uint16_t)(1 + number % options.keys));
		write_message(bytes, number);
		if (options.reset && number == options.send / 2)
			reset_streams();
		if (!send_message(bytes, length_of(number), &how)) {
			free(bytes);
			end_if_done(true);
			return NULL;
		}
		report.sent++;
	}
	free(bytes);
	end_if_done(true);
	return NULL;
}

static void
count_paths(void)
{
	struct sockaddr *addresses = NULL;

	report.paths = usrsctp_getpaddrs(association, 0, &addresses);
	if (report.paths > 0)
		usrsctp_freepaddrs(addresses);
}

static void
handle_notification(const union sctp_notification *notification)
{
	if (notification->sn_header.sn_type != SCTP_ASSOC_CHANGE)
		return;
	switch (notification->sn_assoc_change.sac_state) {
	case SCTP_COMM_UP:
		report.connected = true;
		count_paths();
		break;
	case SCTP_COMM_LOST:
		report.aborted = true;
		break;
	case SCTP_SHUTDOWN_COMP:
		report.finished = true;
		break;
	default:
		break;
	}
}

/* The next piece of whatever there is; false when there will be nothing any more. A message may come in pieces. */
static bool
receive_one(void)
{
	static uint8_t *message;
	static size_t length, room;
	struct sctp_rcvinfo info = { 0 };
	socklen_t info_length = sizeof info;
	unsigned int info_type = 0;
	int flags = 0;

	if (room - length < RECEIVE) {
		room += RECEIVE + room / 2;
		message = realloc(message, room);
	}
	ssize_t read = usrsctp_recvv(association, message + length, room - length, NULL, NULL, &info, &info_length,
	    &info_type, &flags);
	if (read < 0) {
		report.aborted |= errno == ECONNRESET || errno == ECONNABORTED;
		if (!report.aborted)
			note_error("receive", errno);
		return false;
	}
	if (read == 0)
		return false;
	if (flags & MSG_NOTIFICATION) {
		handle_notification((union sctp_notification *)(message + length));
		return !report.aborted && !report.finished;
	}
	length += (size_t)read;
	report.bytes += (uint64_t)read;
	if (flags & MSG_EOR) {
		check_message(message, length, info.rcv_sid);
		length = 0;
		report.last = now();
		if (report.received++ == 0)
			report.first = report.last;
		end_if_done(false);
	}
	return true;
}

/* The association */

static void
set_option(struct socket *socket, int name, const void *value, socklen_t length, const char *what)
{
	if (usrsctp_setsockopt(socket, IPPROTO_SCTP, name, value, length) < 0)
		fail("%s: %s", what, strerror(errno));
}

static void
set_number(struct socket *socket, int name, int value, const char *what)
{
	struct sctp_assoc_value number = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = (uint32_t)value };

	if (value >= 0)
		set_option(socket, name, &number, sizeof number, what);
}

static void
set_buffer(struct socket *socket, int name, int bytes)
{
	if (bytes > 0 && usrsctp_setsockopt(socket, SOL_SOCKET, name, &bytes, sizeof bytes) < 0)
		fail("buffer of %d bytes: %s", bytes, strerror(errno));
}

static void
set_key(struct socket *socket, uint16_t id, const char *secret)
{
	size_t length = strlen(secret);
	struct sctp_authkey *key = calloc(1, sizeof *key + length);

	if (key == NULL)
		fail("no memory");
	key->sca_keynumber = id;
	key->sca_keylength = (uint16_t)length;
	memcpy(key->sca_key, secret, length);
	set_option(socket, SCTP_AUTH_KEY, key, (socklen_t)(sizeof *key + length), "shared key");
	free(key);
}

/* RFC 4895: the chunks that the other end has to authenticate, shared key 0, and further keys. */
static void
set_authentication(struct socket *socket)
{
	if (options.auth != NULL) {
		for (char *one = strtok(options.auth, ","); one != NULL; one = strtok(NULL, ",")) {
			struct sctp_authchunk chunk = { .sauth_chunk = (uint8_t)atoi(one) };

			set_option(socket, SCTP_AUTH_CHUNK, &chunk, sizeof chunk, "chunk to authenticate");
		}
	}
	if (options.key != NULL)
		set_key(socket, 0, options.key);
	for (uint16_t id = 1; id <= options.keys; id++) {
		char secret[16];

		snprintf(secret, sizeof secret, "key %d", id);
		set_key(socket, id, secret);
	}
}

static struct socket *
make_socket(void)
{
	struct socket *socket = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sctp_initmsg init = { .sinit_num_ostreams = options.streams, .sinit_max_instreams = MAX_STREAMS };
	struct sctp_event event = { .se_type = SCTP_ASSOC_CHANGE, .se_on = 1 };
	struct sctp_udpencaps encapsulation = { .sue_port = htons(options.peer_udp) };
	int on = 1;

	if (socket == NULL)
		fail("socket: %s", strerror(errno));
	set_option(socket, SCTP_INITMSG, &init, sizeof init, "streams");
	set_option(socket, SCTP_EVENT, &event, sizeof event, "notifications");
	set_option(socket, SCTP_RECVRCVINFO, &on, sizeof on, "information on messages");
	set_option(socket, SCTP_NODELAY, &options.nodelay, sizeof options.nodelay, "no delay");
	if (options.peer_udp != 0) {
		encapsulation.sue_address.ss_family = AF_INET;
		set_option(socket, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation, sizeof encapsulation, "encapsulation");
	}
	set_authentication(socket);
	if (options.part > 0)
		set_option(socket, SCTP_EXPLICIT_EOR, &on, sizeof on, "messages in parts");
	if (options.reset)
		set_number(socket, SCTP_ENABLE_STREAM_RESET, SCTP_ENABLE_RESET_STREAM_REQ, "stream reset");
	set_number(socket, OPTION_CMT_ON_OFF, options.cmt, "CMT (needs --set cmt_on_off as well)");
	set_number(socket, OPTION_PLUGGABLE_CC, options.cc, "congestion control");
	set_number(socket, SCTP_PLUGGABLE_SS, options.scheduler, "stream scheduler");
	set_buffer(socket, SO_SNDBUF, options.send_buffer);
	set_buffer(socket, SO_RCVBUF, options.receive_buffer);
	for (int at = 0; at < options.owns; at++) {
		options.own[at].sin_port = htons(options.own_port);
		if (usrsctp_bindx(socket, (struct sockaddr *)&options.own[at], 1, SCTP_BINDX_ADD_ADDR) < 0)
			fail("bind: %s", strerror(errno));
	}
	return socket;
}

static void
associate(void)
{
	struct socket *socket = make_socket();

	report.paths = -1;
	if (options.connect) {
		for (int at = 0; at < options.peers; at++)
			options.peer[at].sin_port = htons(options.peer_port);
		if (usrsctp_connectx(socket, (struct sockaddr *)options.peer, options.peers, NULL) < 0) {
			note_error("connect", errno);
			return;
		}
		association = socket;
	} else {
		if (usrsctp_listen(socket, 1) < 0)
			fail("listen: %s", strerror(errno));
		printf("{\"event\":\"listening\"}\n");
		fflush(stdout);
		association = usrsctp_accept(socket, NULL, NULL);
		if (association == NULL) {
			note_error("accept", errno);
			return;
		}
		usrsctp_close(socket);
		/* Its notification of that may be gone. */
		report.connected = true;
		count_paths();
	}
}

static void
converse(void)
{
	pthread_t sender;

	pthread_create(&sender, NULL, send_all, NULL);
	while (receive_one())
		continue;
	pthread_join(sender, NULL);
	usrsctp_close(association);
}

static void
print_report(const char *event)
{
	struct sctpstat statistics;
	double seconds = report.last - report.first;

	usrsctp_get_stat(&statistics);
	printf("{\"event\":\"%s\",\"stack\":\"usrsctp\",\"connected\":%s,\"ended\":\"%s\",\"sent\":%u,\"received\":%u,"
	    "\"bytes\":%llu,\"seconds\":%.6f,\"goodput_bit_per_second\":%.0f,\"paths\":%d,\"data_chunks\":%u,"
	    "\"retransmitted\":%u,\"fast_retransmitted\":%u,\"timeouts\":%u,\"error\":\"%s\"}\n",
	    event, report.connected ? "true" : "false", report.finished ? "finished" : report.aborted ? "aborted" : "failed",
	    report.sent, report.received, (unsigned long long)report.bytes, seconds,
	    seconds > 0 ? (double)report.bytes * 8 / seconds : 0, report.paths, statistics.sctps_senddata,
	    statistics.sctps_sendretransdata, statistics.sctps_sendfastretrans, statistics.sctps_timodata,
	    report.error);
	fflush(stdout);
}

/* Says how far it is, every so many milliseconds. */
static void *
tell(void *unused)
{
	struct timespec pause = { options.progress / 1000, options.progress % 1000 * 1000000L };

	(void)unused;
	for (;;) {
		nanosleep(&pause, NULL);
		print_report("progress");
	}
	return NULL;
}

/* Options */

#include "usrsctp_options.h"

int
main(int count, char **arguments)
{
	pthread_t teller;

	read_options(count, arguments, false);
	usrsctp_init(options.own_udp, NULL, NULL);
	read_options(count, arguments, true);
	if (options.progress > 0)
		pthread_create(&teller, NULL, tell, NULL);
	associate();
	if (association != NULL)
		converse();
	print_report("report");
	_exit(0);
}
