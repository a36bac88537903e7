"""The `three_layer` system. Its strategy, and the functions that its seed names."""

from compaction.systems.three_layer_strategy import ThreeLayer

__all__ = ["ThreeLayer"]
