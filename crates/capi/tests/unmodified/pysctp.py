"""Sockets of pysctp talk. Arguments: two ports."""

import socket
import sys
import threading

import sctp

one, many = (("127.0.0.1", int(port)) for port in sys.argv[1:])

listening = sctp.sctpsocket_tcp(socket.AF_INET)
listening.events.data_io = True
listening.bind(one)
listening.listen(3)


def echo():
    server, _ = listening.accept()
    while True:
        _, _, message, info = server.sctp_recv(1000)
        if not message:
            break
        server.sctp_send(message, ppid=info.ppid, stream=info.stream)
    server.close()


thread = threading.Thread(target=echo)
thread.start()
client = sctp.sctpsocket_tcp(socket.AF_INET)
client.initparams.num_ostreams = 7
client.events.data_io = True
client.connect(one)
client.sctp_send(b"hello", ppid=socket.htonl(46), stream=3)
_, _, message, info = client.sctp_recv(1000)
assert (message, info.stream, socket.ntohl(info.ppid)) == (b"hello", 3, 46), (message, info.stream, info.ppid)
assert client.getpaddrs() == (one,) and client.get_status().outstrms == 7
client.close()
thread.join()

server = sctp.sctpsocket_udp(socket.AF_INET)
server.events.data_io = server.events.association = True
server.bind(many)
server.listen(3)
client = sctp.sctpsocket_udp(socket.AF_INET)
client.sctp_send(b"many", to=many, stream=2)
_, flags, _, event = server.sctp_recv(1000)
assert flags & sctp.FLAG_NOTIFICATION and isinstance(event, sctp.assoc_change)
_, _, message, info = server.sctp_recv(1000)
assert (message, info.stream) == (b"many", 2)
peeled = server.peeloff(info.assoc_id)
peeled.sctp_send(b"back")
assert client.sctp_recv(1000)[2] == b"back"
print("ok")
