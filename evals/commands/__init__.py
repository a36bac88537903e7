"""The commands, a module each; `evals.cli` names them. Only `report` imports reports."""
