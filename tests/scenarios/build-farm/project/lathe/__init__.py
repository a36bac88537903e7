"""Coordinator of the build farm."""
