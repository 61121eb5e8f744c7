# SPDX-License-Identifier: Apache-2.0
"""Watches an object many times, as that many clients of an image would, until its input ends.

Arguments: configuration, pool, object, count. Says "watching" when all watches are there.
"""

import ctypes
import sys

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64,
                            ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t)
ERROR_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int)


def main():
    configuration, pool, name, count = sys.argv[1:]
    rados = ctypes.CDLL("librados.so.2")
    cluster, place = ctypes.c_void_p(), ctypes.c_void_p()

    def check(result):
        assert result >= 0, f"errno {-result}"

    check(rados.rados_create2(ctypes.byref(cluster), b"ceph", b"client.admin", ctypes.c_uint64(0)))
    check(rados.rados_conf_read_file(cluster, configuration.encode()))
    check(rados.rados_connect(cluster))
    check(rados.rados_ioctx_create(cluster, pool.encode(), ctypes.byref(place)))
    acknowledge = CALLBACK(lambda _, notify, cookie, *__: rados.rados_notify_ack(
        place, name.encode(), ctypes.c_uint64(notify), ctypes.c_uint64(cookie), None, 0) and None)
    ignore = ERROR_CALLBACK(lambda *_: None)
    for _ in range(int(count)):
        check(rados.rados_watch3(place, name.encode(), ctypes.byref(ctypes.c_uint64()), acknowledge,
                                 ignore, 30, None))
    print("watching", flush=True)
    sys.stdin.read()
    rados.rados_ioctx_destroy(place)
    rados.rados_shutdown(cluster)


if __name__ == "__main__":
    main()
