"""The index only leaves out what matching in full would not find: proved on all labelled cases."""

import runpy
from itertools import chain
from pathlib import Path

import pytest

from evals.extraction.message_text import held_text
from evals.facts import find_facts
from evals.loading import load_bundled
from evals.matcher.fact_index import FactIndex
from evals.matcher.matching import compile_claim, index_text, judge_message
from evals.prepare import prepare

HERE = Path(__file__).parent
SUITE = runpy.run_path(str(HERE / "matching_cases.py"))
BLIND = runpy.run_path(str(HERE / "matching_blind_cases.py"))


def claims_of_suite():
    return {
        name: compile_claim(*fact, superseding=SUITE["SUPERSEDING"].get(name, ()))
        for name, fact in SUITE["FACTS"].items()
    }


def texts_of_suite():
    texts = (text for cases in SUITE["CASES"].values() for _, _, text in cases)
    return list(chain.from_iterable((text,) if isinstance(text, str) else text for text in texts))


def blind_sets():
    names = sorted(name.removesuffix("_FACTS") for name in BLIND if name.endswith("_FACTS"))
    for name in names:
        claims = {
            fact: compile_claim(*BLIND[f"{name}_FACTS"][fact]) for fact in BLIND[f"{name}_FACTS"]
        }
        yield name, claims, [text for _, _, text in BLIND[f"{name}_CASES"]]
    for name in ("fourth", "fifth", "sixth"):
        later = runpy.run_path(str(HERE / f"matching_blind_{name}.py"))
        claims = {fact: compile_claim(*later["FACTS"][fact]) for fact in later["FACTS"]}
        yield name, claims, [text for _, _, text in later["CASES"]]


def in_full(claims, text):
    index = index_text(text)
    judged = {name: judge_message(claim, index) for name, claim in claims.items()}
    return {name: sighting for name, sighting in judged.items() if sighting != "lost"}


@pytest.mark.parametrize("change", [str, str.upper, "x {} y".format, '{{"note": "{}"}}'.format])
def test_on_every_labelled_case_the_index_says_what_matching_in_full_says(change):
    claims, texts = claims_of_suite(), [change(text) for text in texts_of_suite()]
    index = FactIndex(claims.items())

    differing = [text for text in texts if index.sightings(text) != in_full(claims, text)]

    assert len(texts) > 200
    assert differing == []
    assert sum(bool(index.sightings(text)) for text in texts) > 100


@pytest.mark.parametrize(("name", "claims", "texts"), list(blind_sets()))
def test_on_the_blind_cases_too(name, claims, texts):
    index = FactIndex(claims.items())

    differing = [text for text in texts if index.sightings(text) != in_full(claims, text)]

    assert texts
    assert differing == []


@pytest.mark.slow
def test_on_the_bundled_conversation_too():
    (transcript,) = load_bundled("settlement-incident")
    claims = {fact.id: fact.claim for fact in find_facts(prepare(transcript)).facts}
    index = FactIndex(claims.items())
    texts = [held_text(message) for message in transcript.messages[::3]]

    differing = [text for text in texts if index.sightings(text) != in_full(claims, text)]

    assert len(claims) > 30
    assert differing == []
    assert sum(bool(index.sightings(text)) for text in texts) > 10


@pytest.mark.parametrize(
    ("evidence", "values", "text"),
    [
        ("At most 12,345 rows are read.", [["12345"]], "It reads at most 12 345 rows."),
        ("At most 12345 rows are read.", [["12345"]], "It reads at most 12,345 rows."),
        ("The limit is 1.5 GB of memory.", [["1.5 GB"]], "memory limit: 1.5gb"),
        ("The release date is 2026-03-05.", [["2026-03-05"]], "Release on 5 March 2026."),
        ("Never push to main.", [["main"]], "Do not push to MAIN."),
        ("服务监听的端口是8080。", [["8080"]], "The service listens on port 8080."),
        ("The file is docs/a_plan.md.", [["docs/a_plan.md"]], '"file is docs\\/a_plan.md"'),
        ("The owner is Zoë Ångström.", [["Zoë Ångström"]], "owner: zoe\u0308 a\u030angstro\u0308m"),
        ("Keep the tag \u212b-unit.", [["\u212b-unit"]], "Keep the tag Å-unit."),
        ("The port is 8080.", [["8080"]], "the port is \\u0038080"),
        ("The port is 8080.", [["8080"]], "the port is ８０８０"),
    ],
)
def test_no_spelling_that_matching_accepts_is_left_out(evidence, values, text):
    claims = {"fact": compile_claim(values, evidence)}

    assert FactIndex(claims.items()).sightings(text) == in_full(claims, text)


def test_of_a_text_without_any_fact_nothing_is_said():
    assert FactIndex(claims_of_suite().items()).sightings("Good morning.") == {}
    assert FactIndex([]).sightings("The port is 8080.") == {}
