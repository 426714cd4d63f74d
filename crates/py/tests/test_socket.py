"""Sockets for asyncio."""

import asyncio

import anabranch as ab
import pytest

HERE = ["127.0.0.1:0", "127.0.0.2:0"]
THERE = ["127.0.0.3:0", "127.0.0.4:0"]


def run(work):
    return asyncio.run(asyncio.wait_for(work, 30))


async def echo(listener):
    async for association in listener:
        async for message in association:
            await association.send(message.payload, stream=message.stream, ppid=message.ppid)
        await association.close()


def test_messages_return_over_two_paths():
    async def work():
        key = ab.generate_key()
        async with ab.listen(HERE, key=key, trust=ab.EVERYONE) as listener:
            server = asyncio.create_task(echo(listener))
            async with ab.connect(listener.addresses, local=THERE, trust=ab.public_key(key)) as association:
                assert association.peer_key == ab.public_key(key)
                await association.send(b"hello", stream=3, ppid=7)
                answer = await association.recv()
                assert (answer.payload, answer.stream, answer.ppid, answer.unordered) == (b"hello", 3, 7, False)
                many = [bytes([number % 256]) * 10_000 for number in range(200)]

                async def send_all():
                    for payload in many:
                        await association.send(payload)

                sending = asyncio.create_task(send_all())
                received = [(await association.recv()).payload for _ in many]
                await sending
                assert received == many
                assert {path.reachability for path in association.paths} == {"active"}
                # Each local address with its counterpart, or with every address of the peer.
                assert len(association.paths) >= 2 and all(path.srtt > 0 for path in association.paths if path.sent_chunks)
            server.cancel()

    run(work())


def test_path_with_a_cost_rests():
    async def work():
        async with ab.listen(HERE, insecure=True) as listener:
            server = asyncio.create_task(echo(listener))
            async with ab.connect(listener.addresses, local=THERE, insecure=True) as association:
                association.set_path_preference("127.0.0.4", cost=3)
                association.set_path_preference("127.0.0.3", limit=50_000_000)
                for _ in range(50):
                    await association.send(bytes(10_000))
                    await association.recv()
                metered = [path for path in association.paths if path.local.startswith("127.0.0.4:")]
                others = [path for path in association.paths if path.local.startswith("127.0.0.3:")]
                assert {(path.cost, path.limit) for path in metered} == {(3, None)}
                assert {(path.cost, path.limit, path.resting) for path in others} == {(0, 50_000_000, False)}
                # One that is not confirmed yet neither carries data nor rests.
                assert all(path.resting == (path.reachability == "active") for path in metered)
                assert sum(path.sent_chunks for path in metered) == 0 < sum(path.sent_chunks for path in others)
                with pytest.raises(ValueError, match="elsewhere"):
                    association.set_path_preference("elsewhere")
                with pytest.raises(ValueError, match="limit"):
                    association.set_path_preference("127.0.0.4", limit=0)
                with pytest.raises(OverflowError):
                    association.set_path_preference("127.0.0.4", cost=256)
            server.cancel()

    run(work())


def test_peer_that_closes_ends_the_messages():
    async def work():
        async with ab.listen(HERE, insecure=True) as listener:

            async def say_and_close():
                async with await listener.accept() as association:
                    await association.send(b"one")
                    await association.send(b"two")

            server = asyncio.create_task(say_and_close())
            association = await ab.connect(listener.addresses, local=THERE, insecure=True)
            assert [message.payload async for message in association] == [b"one", b"two"]
            assert association.peer_key is None
            await association.close()
            await server
            with pytest.raises(ConnectionError):
                await association.send(b"late")

    run(work())


def test_untrusted_server_is_refused():
    async def work():
        async with ab.listen(HERE, key=ab.generate_key(), trust=ab.EVERYONE) as listener:
            with pytest.raises(ConnectionError, match="not trusted"):
                await ab.connect(listener.addresses, local=THERE, trust=ab.public_key(ab.generate_key()))

    run(work())


def test_cancelled_task_loses_no_message():
    async def work():
        async with ab.listen(HERE, insecure=True) as listener:
            async with ab.connect(listener.addresses, local=THERE, insecure=True) as client:
                server = await listener.accept()
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(server.recv(), 0.01)
                await client.send(b"after the cancelled call")
                assert (await server.recv()).payload == b"after the cancelled call"

    run(work())


def test_message_that_arrives_as_a_task_is_cancelled_is_not_lost():
    async def work():
        async with ab.listen(HERE, insecure=True) as listener:
            async with ab.connect(listener.addresses, local=THERE, insecure=True) as client:
                server = await listener.accept()
                for number in range(300):
                    task = asyncio.create_task(server.recv())
                    await asyncio.sleep(0)
                    await client.send(b"%d" % number)
                    for _ in range(number % 8):
                        await asyncio.sleep(0)
                    task.cancel()
                    try:
                        message = await task
                    except asyncio.CancelledError:
                        message = await server.recv()
                    assert message.payload == b"%d" % number

    run(work())


def test_tasks_that_receive_together_share_the_messages():
    async def work():
        async with ab.listen(HERE, insecure=True) as listener:
            async with ab.connect(listener.addresses, local=THERE, insecure=True) as client:
                server = await listener.accept()
                tasks = [asyncio.create_task(server.recv()) for _ in range(20)]
                for number in range(20):
                    await client.send(b"%d" % number)
                messages = await asyncio.gather(*tasks)
                assert sorted(int(message.payload) for message in messages) == list(range(20))

    run(work())


def test_error_in_the_block_aborts():
    async def work():
        async with ab.listen(HERE, insecure=True) as listener:
            with pytest.raises(LookupError):
                async with ab.connect(listener.addresses, local=THERE, insecure=True):
                    server = await listener.accept()
                    raise LookupError("enough")
            with pytest.raises(ConnectionError, match="LookupError"):
                await server.recv()

    run(work())


def test_mistakes_are_refused():
    async def work():
        with pytest.raises(ValueError, match="trust="):
            ab.connect(["127.0.0.1:9"])
        with pytest.raises(ValueError):
            await ab.listen(HERE, key="no key", trust=ab.EVERYONE)
        with pytest.raises(OSError):
            await ab.listen(["192.0.2.1:0"], insecure=True)
        async with ab.listen(HERE, insecure=True) as listener:
            async with ab.connect(listener.addresses, local=THERE, insecure=True) as association:
                # An association that nobody holds is closed.
                server = await listener.accept()
                with pytest.raises(ValueError, match="empty"):
                    await association.send(b"")
                with pytest.raises(ValueError, match="outbound streams"):
                    await association.send(b"x", stream=65535)
                assert server.peer_key is None

    run(work())
