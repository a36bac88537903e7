"""Vendored frame layout of the upstream."""

HEADER_BYTES = 212
OBSERVATION_BYTES = 83


def frame_bytes(observations):
    return HEADER_BYTES + observations * OBSERVATION_BYTES
