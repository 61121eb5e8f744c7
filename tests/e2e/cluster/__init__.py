# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes cluster of Kubernetes' own binaries, in namespaces of one machine."""
