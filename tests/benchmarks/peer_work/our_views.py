"""A preset of ours over a bundled log: its views alone, or `replay` with its token counts.

usage: our_views.py DATASET STRATEGY PARAMETERS(JSON) views|replay
"""

import json
import sys

from views import report

from compaction.extractive import ExtractiveModel
from compaction.history import History
from compaction.llm import drive
from compaction.registry import make_strategy
from compaction.strategy import Context, Request
from compaction.tokens import CharCounter
from evals.loading import load_bundled
from evals.prepare import prepare
from evals.replay import replay


def views_alone(transcript, strategy):
    for segment in transcript.segments:
        history, model = History(segment.messages), ExtractiveModel()
        compactor = strategy.start(Context(CharCounter()))
        for index, request in enumerate(segment.requests):
            yield drive(compactor.steps(history.prefix(request.position), Request(index)), model)


def replayed(transcript, strategy):
    for step in replay(prepare(transcript), strategy, ExtractiveModel()):
        yield step.view


def texts(views, edited):
    for view in views:
        edited.append([e.origin.first for e in view.entries if e.origin.kind != "whole"])
        yield [entry.message.text for entry in view.entries]


def main():
    dataset, name, parameters, how = sys.argv[1:]
    [transcript] = load_bundled(dataset)
    made = {"views": views_alone, "replay": replayed}[how]
    edited = []
    report(
        texts(made(transcript, make_strategy(name, json.loads(parameters))), edited), edited=edited
    )


if __name__ == "__main__":
    main()
