# SPDX-License-Identifier: Apache-2.0
"""The CSI messages that the link's commands and results carry as bytes."""

import csi_pb2
import link_pb2

METHODS = csi_pb2.DESCRIPTOR.services_by_name["Controller"].methods_by_name


def request_type(method):
    return getattr(csi_pb2, METHODS[method].input_type.name)


def response_type(method):
    return getattr(csi_pb2, METHODS[method].output_type.name)


def command_of(method, **fields):
    return link_pb2.Command(method=method,
                            request=request_type(method)(**fields).SerializeToString())


def request_in(command):
    return request_type(command.method).FromString(command.request)


def result_with(response):
    return link_pb2.Result(response=response.SerializeToString())


def response_in(result, method):
    return response_type(method).FromString(result.response)
