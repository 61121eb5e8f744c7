"""Measures pools in Ceph RBD against librbd alone."""
