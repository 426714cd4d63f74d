/* Opens lksctp's library by name, as runtimes of languages do, and finds ours. Usage: dlopen CASE. */
#include "common.h"
#include <dlfcn.h>

static void opened(void) {
  void *library = dlopen("libsctp.so.1", RTLD_NOW);
  CHECK(library);
  int (*bindx)(int, struct sockaddr *, int, int) = dlsym(library, "sctp_bindx");
  int (*length)(sa_family_t) = dlsym(library, "sctp_getaddrlen");
  CHECK(bindx && length && length(AF_INET6) == 28);
  int fd = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
  struct sockaddr_in at = loopback("127.0.0.1", 0);
  CHECK(fd >= 0 && bindx(fd, (struct sockaddr *)&at, 1, SCTP_BINDX_ADD_ADDR) == 0 && listen(fd, 5) == 0);
}

int main(int count, char **arguments) {
  const struct test_case cases[] = {{"opened", opened}, {0}};
  return run_case(count, arguments, cases);
}
