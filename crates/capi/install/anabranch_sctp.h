/* Socket options of anabranch beyond those of Linux. Include it after <netinet/sctp.h>. */
#ifndef ANABRANCH_SCTP_H
#define ANABRANCH_SCTP_H

/* Policies of associations to come, as text: assignments such as "cc=lia ecn=on", separated by spaces; "profile=NAME" replaces all policies.
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

#endif
