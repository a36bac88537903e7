"""Needs of conversations whose needs are known: how many are found, and how many are right."""

import sys
from collections import Counter

from evals.needs import find_needs
from evals.prepare import prepare
from tests.planted_cases import CLASSES, planted_conversation

SEEDS = range(4)


def found_in(transcript):
    """Return (class, request, value, gap) of the needs that count, and of the quotes."""
    return [
        ("quote" if need.kind == "quote" else need.class_name, need.request, need.value, need.gap)
        for needs in find_needs(prepare(transcript)).by_request.values()
        for need in needs
        if need.kind in ("need", "quote")
    ]


def test_planted_needs_of_every_class_are_found_among_material_that_looks_alike():
    planted_of, right, extra, gaps = Counter(), Counter(), [], []
    for seed in SEEDS:
        transcript, planted = planted_conversation(seed)
        by_use = {item.use: item for item in planted}
        planted_of.update(item.kind for item in planted)
        for name, request, value, gap in found_in(transcript):
            item = by_use.get(request)
            if item is not None and item.kind == name:
                right[name] += 1
                gaps.append((gap, item.use - item.round))
            elif item is None or value.split("=")[0] not in item.used:
                # A name inside a planted line is needed with it; anything else is wrong.
                extra.append((seed, name, request, value))

    for name in CLASSES:
        sys.stdout.write(
            f"{name:10} planted {planted_of[name]:3}  found {right[name]:3}  "
            f"wrong {sum(each[1] == name for each in extra)}\n"
        )
        assert planted_of[name] >= 15
        assert right[name] / planted_of[name] >= 0.95
    assert right.total() / (right.total() + len(extra)) >= 0.95
    assert sum(found == true for found, true in gaps) / len(gaps) >= 0.95


def test_the_material_names_what_is_common_and_what_stands_everywhere():
    """Otherwise that none of it is found would say nothing."""
    transcript, planted = planted_conversation(0)
    text = "\n".join(message.text for message in transcript.messages)

    assert len(planted) >= 30
    for decoy in ("os.path", "package.json", "docs/rules.md", "harbor_feed_daily", "json.dumps"):
        assert text.count(decoy) > 5
    uses = [item for item in planted if item.use - item.round > 5]
    assert len(uses) > 10
