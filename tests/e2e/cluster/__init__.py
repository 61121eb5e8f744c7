# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes cluster of its own binaries in namespaces of one machine."""
