/* Socket options of anabranch beyond those of Linux. Include it after <netinet/sctp.h>. */
#ifndef ANABRANCH_SCTP_H
#define ANABRANCH_SCTP_H

/* Policies of associations to come, as text: assignments such as "cc=lia ecn=on", separated by spaces; "profile=NAME" replaces all policies.
   Reading it needs room for the names and values of all policies and a zero: 4096 bytes. Other implementations fail with ENOPROTOOPT. */
#define SCTP_ANABRANCH_POLICIES 0x414e

#endif
