/* Linked against the library, and perhaps set-group-ID: does the environment decide what the program does? */
#include "common.h"

int main(void) {
  int client, server;
  char end;
  pair(&client, &server);
  CHECK(close(client) == 0 && recv(server, &end, 1, 0) == 0 && close(server) == 0);
  printf("was run\n");
}
