# SPDX-License-Identifier: Apache-2.0
"""A large cluster, simulated."""
