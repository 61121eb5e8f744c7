# SPDX-License-Identifier: Apache-2.0
"""Snapshots, restores and copies against the bare system calls of the same work."""
