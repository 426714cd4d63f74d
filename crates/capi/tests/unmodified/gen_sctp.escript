#!/usr/bin/env escript
%% Two sockets of Erlang's gen_sctp talk. Argument: the port of the first.

main([Text]) ->
    Port = list_to_integer(Text),
    Loopback = {127, 0, 0, 1},
    {ok, Server} = gen_sctp:open(Port, [{ip, Loopback}, {active, false}, binary]),
    ok = gen_sctp:listen(Server, true),
    Streams = {sctp_initmsg, {sctp_initmsg, 7, 7, 0, 0}},
    {ok, Client} = gen_sctp:open(0, [{ip, Loopback}, {active, false}, binary, Streams]),
    {ok, Association} = gen_sctp:connect(Client, Loopback, Port, []),
    {sctp_assoc_change, comm_up, 0, 7, 7, _} = Association,
    ok = gen_sctp:send(Client, Association, 3, <<"hello">>),
    {Id, 3, <<"hello">>} = message(Server),
    {ok, Peeled} = gen_sctp:peeloff(Server, Id),
    ok = gen_sctp:send(Peeled, Id, 2, <<"back">>),
    {_, 2, <<"back">>} = message(Client),
    ok = gen_sctp:eof(Client, Association),
    gen_sctp:close(Peeled),
    gen_sctp:close(Client),
    gen_sctp:close(Server),
    io:format("ok~n").

%% The next message; notifications are skipped.
message(Socket) ->
    case gen_sctp:recv(Socket, 20000) of
        {ok, {_, _, [Info], Data}} when is_binary(Data) ->
            {element(10, Info), element(2, Info), Data};
        {ok, _} ->
            message(Socket)
    end.
