"""Carries connections between a network namespace and the guest's own, so that a client in there
can be cut off by stopping this: `relay.py inside|outside DIRECTORY PORT...`.

The inside listens on loopback under the servers' own ports, since Ceph compares addresses; the
outside connects to them. Sockets in the directory are between the two.
"""

import asyncio
import sys


async def pump(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


def handler(connect):
    async def handle(reader, writer):
        try:
            far_reader, far_writer = await connect()
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
    return handle


async def main(side, directory, ports):
    servers = []
    for port in ports:
        path = f"{directory}/{port}"
        if side == "inside":
            servers.append(await asyncio.start_server(
                handler(lambda path=path: asyncio.open_unix_connection(path)), "127.0.0.1", port))
        else:
            servers.append(await asyncio.start_unix_server(
                handler(lambda port=port: asyncio.open_connection("127.0.0.1", port)), path))
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], [int(port) for port in sys.argv[3:]]))
