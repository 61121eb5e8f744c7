"""Measures Holdfast against the bare system calls of the same work."""
