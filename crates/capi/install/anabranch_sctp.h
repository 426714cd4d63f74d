/* Socket options of anabranch beyond those of Linux. Include it after <netinet/sctp.h>. */
#ifndef ANABRANCH_SCTP_H
#define ANABRANCH_SCTP_H

/* Policies, as text: those of associations to come, and of those that exist if they are protocol parameters ("rto", "failover", "ack-policy", "burst",
   "stream-scheduler"). Assignments such as "cc=lia ecn=on", separated by spaces; "profile=NAME" replaces all policies.
   Reading it needs room for the names and values of all policies and a zero: 4096 bytes. Other implementations fail with ENOPROTOOPT. */
#define SCTP_ANABRANCH_POLICIES 0x414e

/* Encryption of associations to come, as lines of text: "key=FILE" (the private key of this host), "trust=KEY" (the public key of a peer; several),
   "clear=ADDRESS/BITS" (peers in the clear; several). An empty text: all peers are in the clear. To be set before listen and connect. Reading it
   gives the public key of this host, or an empty text in the clear. */
#define SCTP_ANABRANCH_ENCRYPTION 0x414f

/* The public key that the peer of an association has proven; empty if the association is in the clear. To be read only. */
#define SCTP_ANABRANCH_PEER_KEY 0x4150

struct sctp_anabranch_peer_key {
  sctp_assoc_t spk_assoc_id;
  char spk_key[60];
};

/* The sender queue (draft-dreibholz-tsvwg-sctpsocket-sqinfo): its limit, the bytes that are not acknowledged, and those not yet sent of each stream, for as
   many streams as there is room. To be read only. A stream is mapped to a path by SCTP_ANABRANCH_POLICIES: "stream-scheduler=fixed-map
   stream-scheduler.map=0,1" sends stream 0 on the first path, stream 1 on the second. */
#define SCTP_SQINFO 0x4151

struct sctp_sndqueueinfo {
  sctp_assoc_t sq_assoc_id;
  uint32_t sq_queue_limit;
  uint32_t sq_total_queued;
  uint32_t sq_number_of_streams;
  uint32_t sq_queued_on_stream[];
};

#endif
