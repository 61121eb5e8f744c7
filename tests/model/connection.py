# SPDX-License-Identifier: Apache-2.0
"""One worker's connection to the driver, kept from call to call until it breaks."""

import grpc

import csi_client

OPTIONS = [*csi_client.CHANNEL_OPTIONS, ("grpc.initial_reconnect_backoff_ms", 20),
           ("grpc.min_reconnect_backoff_ms", 20), ("grpc.max_reconnect_backoff_ms", 100)]


class Connection(csi_client.Client):
    def __init__(self, socket):
        super().__init__(socket)
        self.channel = None
        self.invokers = {}

    def call_method(self, method, timeout, fields):
        if self.channel is None:
            self.channel = grpc.insecure_channel(self.target, options=OPTIONS)
        invoke = self.invokers.get(method.full_name)
        if invoke is None:
            invoke = self.invokers[method.full_name] = csi_client.invoker(self.channel, method)
        return invoke(csi_client.request(method, fields), timeout=timeout)

    def close(self):
        if self.channel is not None:
            self.channel.close()
        self.channel, self.invokers = None, {}
