/* libsctp.so.1 for programs that are linked against it, where lksctp's library is not installed: it has the versions of its
 * symbols (VERS_1 to VERS_3) and no functions. Those are in libanabranch_sctp.so, which it needs. */
void sctp_anabranch_alias(void) {}
