/*
 * Options of usrsctp_peer.c: which command-line arguments does it take, and what do they set? Included there once, after the
 * options themselves.
 */
#ifndef USRSCTP_OPTIONS_H
#define USRSCTP_OPTIONS_H

/* Every knob of the stack, by the name it has in FreeBSD's net.inet.sctp. */
#define KNOB(name) { #name, usrsctp_sysctl_set_sctp_##name }
static const struct knob {
	const char *name;
	int (*set)(uint32_t);
} knobs[] = {
	KNOB(cmt_on_off), KNOB(cmt_use_dac), KNOB(buffer_splitting), KNOB(nrsack_enable), KNOB(do_drain),
	KNOB(path_pf_threshold), KNOB(path_rtx_max_default), KNOB(assoc_rtx_max_default), KNOB(init_rtx_max_default),
	KNOB(rto_min_default), KNOB(rto_initial_default), KNOB(rto_max_default), KNOB(init_rto_max_default),
	KNOB(sack_freq_default), KNOB(delayed_sack_time_default), KNOB(enable_sack_immediately),
	KNOB(max_burst_default), KNOB(fr_max_burst_default), KNOB(hb_maxburst), KNOB(use_cwnd_based_maxburst),
	KNOB(initial_cwnd), KNOB(L2_abc_variable), KNOB(default_cc_module), KNOB(default_ss_module),
	KNOB(rttvar_bw), KNOB(rttvar_rtt), KNOB(rttvar_eqret), KNOB(steady_step), KNOB(use_dccc_ecn),
	KNOB(peer_chunk_oh), KNOB(max_chunks_on_queue), KNOB(max_retran_chunk), KNOB(min_split_point),
	KNOB(min_residual), KNOB(sendspace), KNOB(recvspace), KNOB(heartbeat_interval_default),
	KNOB(pmtu_raise_time_default), KNOB(shutdown_guard_time_default), KNOB(secret_lifetime_default),
	KNOB(valid_cookie_life_default), KNOB(ecn_enable), KNOB(pr_enable), KNOB(auth_enable), KNOB(asconf_enable),
	KNOB(auto_asconf), KNOB(reconfig_enable), KNOB(pktdrop_enable), KNOB(mobility_base),
	KNOB(mobility_fasthandoff), KNOB(nat_friendly), KNOB(inits_include_nat_friendly), KNOB(blackhole),
	KNOB(default_frag_interleave), KNOB(no_csum_on_loopback), KNOB(add_more_threshold), KNOB(vtag_time_wait),
	KNOB(nr_incoming_streams_default), KNOB(nr_outgoing_streams_default), KNOB(mbuf_threshold_count),
	KNOB(abort_if_one_2_one_hits_limit), KNOB(system_free_resc_limit), KNOB(asoc_free_resc_limit),
	KNOB(diag_info_code), KNOB(logging_level),
};

static int
read_addresses(char *text, struct sockaddr_in *addresses)
{
	int count = 0;

	for (char *one = strtok(text, ","); one != NULL; one = strtok(NULL, ",")) {
		if (count == MAX_ADDRESSES)
			fail("more than %d addresses", MAX_ADDRESSES);
		addresses[count].sin_family = AF_INET;
		if (inet_pton(AF_INET, one, &addresses[count++].sin_addr) != 1)
			fail("not an IPv4 address: %s", one);
	}
	return count;
}

static void
read_lengths(char *text)
{
	options.lengths = 0;
	for (char *one = strtok(text, ","); one != NULL; one = strtok(NULL, ",")) {
		if (options.lengths == MAX_LENGTHS || atoi(one) < 4)
			fail("at most %d lengths of 4 bytes or more", MAX_LENGTHS);
		options.length[options.lengths++] = (uint32_t)atoi(one);
	}
}

static void
set_knob(char *text)
{
	char *value = strchr(text, '=');

	if (value == NULL)
		fail("--set wants name=value");
	*value++ = '\0';
	for (size_t at = 0; at < sizeof knobs / sizeof *knobs; at++) {
		if (strcmp(text, knobs[at].name) == 0) {
			if (knobs[at].set((uint32_t)strtoul(value, NULL, 0)) != 0)
				fail("%s: %s is out of range", text, value);
			return;
		}
	}
	fail("no knob is called %s", text);
}

static enum ending
read_ending(const char *text)
{
	if (strcmp(text, "shutdown") == 0)
		return SHUTDOWN;
	if (strcmp(text, "abort") == 0)
		return ABORT;
	if (strcmp(text, "wait") == 0)
		return WAIT;
	fail("--end wants shutdown, abort or wait");
	return WAIT;
}

/* Options that have effect before the stack begins come first; --set needs it to run. */
static void
read_options(int count, char **arguments, bool knobs_only)
{
	for (int at = 1; at < count; at++) {
		const char *name = arguments[at];

		if (strcmp(name, "--connect") == 0) {
			options.connect = true;
			continue;
		}
		if (strcmp(name, "--odd-unordered") == 0) {
			options.odd_unordered = true;
			continue;
		}
		if (strcmp(name, "--reset") == 0) {
			options.reset = true;
			continue;
		}
		if (++at >= count)
			fail("%s wants a value", name);
		char *value = arguments[at];
		bool is_knob = strcmp(name, "--set") == 0;
		if (is_knob != knobs_only)
			continue;
		if (is_knob)
			set_knob(value);
		else if (strcmp(name, "--own") == 0)
			options.owns = read_addresses(value, options.own);
		else if (strcmp(name, "--peer") == 0)
			options.peers = read_addresses(value, options.peer);
		else if (strcmp(name, "--own-udp") == 0)
			options.own_udp = (uint16_t)atoi(value);
		else if (strcmp(name, "--peer-udp") == 0)
			options.peer_udp = (uint16_t)atoi(value);
		else if (strcmp(name, "--own-port") == 0)
			options.own_port = (uint16_t)atoi(value);
		else if (strcmp(name, "--peer-port") == 0)
			options.peer_port = (uint16_t)atoi(value);
		else if (strcmp(name, "--send") == 0)
			options.send = (uint32_t)atoi(value);
		else if (strcmp(name, "--retransmissions") == 0)
			options.retransmissions = atoi(value);
		else if (strcmp(name, "--receive") == 0)
			options.receive = (uint32_t)atoi(value);
		else if (strcmp(name, "--seconds") == 0)
			options.seconds = (uint32_t)atoi(value);
		else if (strcmp(name, "--progress") == 0)
			options.progress = (uint32_t)atoi(value);
		else if (strcmp(name, "--lengths") == 0)
			read_lengths(value);
		else if (strcmp(name, "--streams") == 0)
			options.streams = (uint16_t)atoi(value);
		else if (strcmp(name, "--end") == 0)
			options.end = read_ending(value);
		else if (strcmp(name, "--cmt") == 0)
			options.cmt = atoi(value);
		else if (strcmp(name, "--cc") == 0)
			options.cc = atoi(value);
		else if (strcmp(name, "--scheduler") == 0)
			options.scheduler = atoi(value);
		else if (strcmp(name, "--send-buffer") == 0)
			options.send_buffer = atoi(value);
		else if (strcmp(name, "--receive-buffer") == 0)
			options.receive_buffer = atoi(value);
		else if (strcmp(name, "--nodelay") == 0)
			options.nodelay = atoi(value);
		else if (strcmp(name, "--auth") == 0)
			options.auth = value;
		else if (strcmp(name, "--key") == 0)
			options.key = value;
		else if (strcmp(name, "--part") == 0)
			options.part = (uint32_t)atoi(value);
		else if (strcmp(name, "--keys") == 0)
			options.keys = (uint16_t)atoi(value);
		else
			fail("unknown option %s", name);
	}
	if (options.streams == 0 || options.streams > MAX_STREAMS)
		fail("1 to %d streams", MAX_STREAMS);
}

#endif
